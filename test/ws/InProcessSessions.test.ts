/** Sessions without a socket: the place of their address, and what their stream releases at its end. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, Stream } from "effect"
import { layer } from "../../src/services/operations/MetricsRegistry.ts"
import { Presence } from "../../src/services/operations/Presence.ts"
import type { Admission } from "../../src/ws/Admission.ts"
import { ConnectionRegistry } from "../../src/ws/ConnectionRegistry.ts"
import { openInProcess } from "../../src/ws/InProcessSessions.ts"
import { defaults, Limits } from "../../src/ws/Limits.ts"
import { Flusher } from "../../src/ws/Outbox.ts"
import type { SessionDeps } from "../../src/ws/Session.ts"

const limits: Limits = { ...defaults, connections_per_ip: 1, trusted_proxies: 1 }
const clocks = { now: () => 0, monotonic: () => 0 }

it.effect("an address has the place of a session until its stream ends, however it ends", () =>
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry.make
    const admission: Pick<Admission, "refusalOf"> = {
      refusalOf: (_, ip) => (registry.isFull(ip) ? "RateLimitExceeded" : undefined)
    }
    const ends: Array<string> = []
    const deps = {
      hub: { ...clocks, flusher: new Flusher(clocks, assert.isUndefined), report: assert.isUndefined },
      limits,
      ending: (reason: string) => void ends.push(reason),
      gone: registry.remove
    } as unknown as SessionDeps
    const open = openInProcess(admission as Admission, registry, deps)
    const messages = [JSON.stringify({ op: "ping", req_id: 1 })]
    const stream = (client: string) =>
      open({ endpoint: "public", peer: { address: "192.0.2.1", forwarded: `192.0.2.9, ${client}` }, messages })
    const read = yield* Queue.unbounded<string>()
    const follow = Effect.forkChild(
      Stream.runForEach(stream("203.0.113.1"), (text) => Queue.offer(read, text)),
      { startImmediately: true }
    )

    const follower = yield* follow
    assert.strictEqual(JSON.parse(yield* Queue.take(read)).op, "pong")
    assert.isTrue(registry.isFull("203.0.113.1"))
    const refused = yield* Effect.flip(Stream.runDrain(stream("203.0.113.1")))
    assert.deepInclude(refused, { reason: "RateLimitExceeded" })
    assert.lengthOf(yield* Stream.runCollect(Stream.take(stream("203.0.113.2"), 1)), 1)
    assert.isFalse(registry.isFull("203.0.113.2"))
    yield* Fiber.interrupt(follower)
    assert.isFalse(registry.isFull("203.0.113.1"))

    const ended = yield* follow
    yield* Queue.take(read)
    for (const session of registry.connections) session.end("GoingAway")
    assert.deepInclude(yield* Effect.flip(Fiber.join(ended)), { code: 1001 })
    assert.deepStrictEqual([registry.connections.size, ends], [0, ["Peer", "Peer", "GoingAway"]])
  }).pipe(Effect.provide(Layer.mergeAll(layer, Presence.layer, Layer.succeed(Limits, limits))))
)
