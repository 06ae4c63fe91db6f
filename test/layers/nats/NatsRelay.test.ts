/** What the relay publishes, without a server. */
import type { JetStreamClient } from "@nats-io/jetstream"
import { Effect, Layer } from "effect"
import { assert, it, onTestFinished } from "vitest"
import * as NatsRelay from "../../../src/layers/nats/NatsRelay.ts"
import { type Connected, NatsStream } from "../../../src/layers/nats/NatsStream.ts"
import { until } from "../../../verification/harness/Wait.ts"
import { start, submitAll, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../doubles/FakeMachine.ts"

it("gives each frame an id with its checksum, so that frames of two forks are no duplicates, and a heartbeat its time", async () => {
  const { directory, remove } = temporary()
  onTestFinished(remove)
  const backend = await start(directory, { machine: { ...fakeMachine, tickMatters: () => false } })
  onTestFinished(backend.stop)
  const published: Array<{ readonly id: string; readonly [name: string]: string }> = []
  const publish: JetStreamClient["publish"] = async (_, __, options) => {
    const of = (name: string) => options!.headers!.get(name)
    published.push({
      id: options!.msgID!,
      epoch: of("epoch"),
      first: of("first"),
      last: of("last"),
      checksum: of("checksum")
    })
    return {} as never
  }
  const connected = { js: { publish }, ends: Effect.undefined } as unknown as Connected
  const relay = NatsRelay.layer({ address: `127.0.0.1:${backend.port}`, secret: undefined, tls: undefined }).pipe(
    Layer.provide(Layer.mock(NatsStream)({ connected: Effect.succeed(connected) }))
  )
  await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        yield* Layer.build(relay)
        yield* Effect.promise(() => until("a heartbeat", () => published.length > 0))
        yield* Effect.promise(() => submitAll(backend.client, [[deposit(1), deposit(2)]]))
        yield* Effect.promise(() => until("events", () => published.some(({ last }) => Number(last) > 0)))
      })
    )
  )
  for (const { checksum, epoch, first, id, last } of published) {
    const [, ...rest] = id.slice(epoch!.length).split(":")
    assert.deepStrictEqual(rest.slice(0, 3), [first, last, checksum])
    if (Number(first) > Number(last)) assert.match(rest[3]!, /^\d+$/u)
    else assert.match(checksum!, /^\d+$/u)
  }
})
