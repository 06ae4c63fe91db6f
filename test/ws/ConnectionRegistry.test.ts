import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CurrentMetricsRegistry, layer } from "../../src/services/operations/MetricsRegistry.ts"
import { Presence } from "../../src/services/operations/Presence.ts"
import type { Connection, Endpoint } from "../../src/ws/Connection.ts"
import { ConnectionRegistry } from "../../src/ws/ConnectionRegistry.ts"
import { defaults, Limits } from "../../src/ws/Limits.ts"
import { Session } from "../../src/ws/Session.ts"
import { tokenCaller, userId } from "../http/Fixture.ts"

const connection = (endpoint: Endpoint, ip: string, weight: number): Connection =>
  ({ endpoint, ip, outbox: { weight } }) as unknown as Connection
const dependenciesOf = (limits: Partial<Limits>) =>
  Layer.mergeAll(layer, Presence.layer, Layer.succeed(Limits, { ...defaults, ...limits }))
const dependencies = dependenciesOf({ connections_per_ip: 2 })
/** A session of an address, before it authenticates. */
const session = (ip: string): Session =>
  Object.assign(Object.create(Session.prototype), { endpoint: "private", ip, outbox: { weight: 0 }, caller: undefined })

it.effect("counts connections by endpoint and address, and the bytes that are queued for them", () =>
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry.make
    const { text } = yield* CurrentMetricsRegistry
    const figures = Effect.map(text, (all) =>
      ["queued_bytes", ...["general", "public", "private", "rpc"].map((name) => `sessions{endpoint="${name}"}`)].map(
        (name) => Number(all.split(`\ngateway_ws_${name} `)[1]?.split("\n")[0])
      )
    )
    assert.deepStrictEqual(yield* figures, [0, 0, 0, 0, 0])
    const first = registry.add(connection("public", "192.0.2.1", 30))
    assert.isFalse(registry.isFull("192.0.2.1"))
    registry.add(connection("rpc", "192.0.2.1", 12))
    registry.add(connection("private", "192.0.2.2", 0))
    assert.deepStrictEqual(yield* figures, [42, 0, 1, 1, 1])
    assert.deepStrictEqual([registry.isFull("192.0.2.1"), registry.isFull("192.0.2.2")], [true, false])
    registry.remove(first)
    assert.deepStrictEqual(yield* figures, [12, 0, 0, 1, 1])
    assert.isFalse(registry.isFull("192.0.2.1"))
  }).pipe(Effect.provide(dependencies))
)

it.effect("counts the addresses of one IPv6 network together, and those of others apart", () =>
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry.make
    registry.add(connection("public", "2001:db8:0:1::1", 0))
    const second = registry.add(connection("public", "2001:db8:0:1::2", 0))
    assert.deepStrictEqual(
      ["2001:db8:0:1::3", "2001:db8:0:2::3"].map((ip) => registry.isFull(ip)),
      [true, false]
    )
    registry.remove(second)
    assert.isFalse(registry.isFull("2001:db8:0:1::3"))
  }).pipe(Effect.provide(dependencies))
)

it.effect("counts a session for its user once, while it is connected, and reports the user as present", () =>
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry.make
    const presence = yield* Presence
    const other = { ...tokenCaller, user_id: "other" }
    const sessions = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((ip) => registry.add(session(ip)))
    const admit = (n: number, caller = tokenCaller): boolean => {
      const isAdmitted = registry.admit(sessions[n]!, caller)
      if (isAdmitted) sessions[n]!.caller = caller
      return isAdmitted
    }
    assert.deepStrictEqual([admit(0), admit(0), admit(1), admit(2)], [true, true, true, false])
    assert.isTrue(admit(2, other))
    assert.isTrue(presence.isPresent(userId))
    registry.remove(sessions[0]!)
    assert.isTrue(presence.isPresent(userId))
    const late = registry.add(session("192.0.2.4"))
    assert.isTrue(registry.admit(late, tokenCaller))
    late.caller = tokenCaller
    registry.remove(registry.add(session("192.0.2.5")))
    for (const gone of [sessions[1]!, late]) registry.remove(gone)
    assert.deepStrictEqual([presence.isPresent(userId), presence.isPresent("other")], [false, true])
  }).pipe(Effect.provide(dependenciesOf({ connections_per_user: 2 })))
)

it.effect("has no limit where the limit is 0", () =>
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry.make
    for (let n = 0; n < 1_000; n++) {
      assert.isFalse(registry.isFull("192.0.2.1"))
      assert.isTrue(registry.admit(registry.add(session("192.0.2.1")), tokenCaller))
    }
  }).pipe(Effect.provide(dependenciesOf({ connections_per_ip: 0, connections_per_user: 0 })))
)
