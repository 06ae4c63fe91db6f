/** What the relay publishes, without a server. */
import type { JetStreamClient } from "@nats-io/jetstream"
import type { MsgHdrs } from "@nats-io/transport-node"
import { Effect, Layer } from "effect"
import { assert, it, onTestFinished } from "vitest"
import * as NatsRelay from "../../../src/layers/nats/NatsRelay.ts"
import { type Connected, NatsStream } from "../../../src/layers/nats/NatsStream.ts"
import { until } from "../../../verification/harness/Wait.ts"
import { start, submitAll, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../doubles/FakeMachine.ts"

interface Published {
  readonly id: string
  readonly [name: string]: string
}
/** The frames with events. */
const eventsOf = (published: ReadonlyArray<Published>) =>
  published.filter(({ first, last }) => Number(first) <= Number(last))

it("gives each frame an id with its checksum, so that frames of two forks are no duplicates, and a heartbeat its time", async () => {
  const { directory, remove } = temporary()
  onTestFinished(remove)
  const backend = await start(directory, { machine: { ...fakeMachine, tickMatters: () => false } })
  onTestFinished(backend.stop)
  const published: Array<Published> = []
  const publish: JetStreamClient["publish"] = async (_, __, options) => {
    const of = (name: string) => options!.headers!.get(name)
    published.push({
      id: options!.msgID!,
      epoch: of("epoch"),
      first: of("first"),
      last: of("last"),
      before: of("before"),
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
        const { length } = eventsOf(published)
        yield* Effect.promise(() => submitAll(backend.client, [[deposit(1)]]))
        yield* Effect.promise(() => until("another frame", () => eventsOf(published).length > length))
      })
    )
  )
  for (const { checksum, epoch, first, id, last } of published) {
    const [, ...rest] = id.slice(epoch!.length).split(":")
    assert.deepStrictEqual(rest.slice(0, 3), [first, last, checksum])
    if (Number(first) > Number(last)) assert.match(rest[3]!, /^\d+$/u)
    else assert.match(checksum!, /^\d+$/u)
  }
  // each frame names the checksum of the history before it
  for (const [i, { before }] of eventsOf(published).entries())
    if (i > 0) assert.strictEqual(before, eventsOf(published)[i - 1]!.checksum)
})

it("continues after the last frame of the copy, with what came while no relay ran", async () => {
  const { directory, remove } = temporary()
  onTestFinished(remove)
  const backend = await start(directory, { machine: { ...fakeMachine, tickMatters: () => false } })
  onTestFinished(backend.stop)
  const found: Array<MsgHdrs> = []
  const publish: JetStreamClient["publish"] = async (_, __, options) => {
    found.push(options!.headers!)
    return {} as never
  }
  const of = (name: string) => found.at(-1)!.get(name)
  const placeOf = () =>
    Effect.sync(() => ({
      message: 1,
      epoch: of("epoch"),
      first: Number(of("first")),
      last: Number(of("last")),
      fork: of("fork"),
      checksum: Number(of("checksum"))
    }))
  const ends = Effect.sync(() => (found.length === 0 ? undefined : { first: 1, last: 1 }))
  const connected = { js: { publish }, ends, placeOf } as unknown as Connected
  const relay = NatsRelay.layer({ address: `127.0.0.1:${backend.port}`, secret: undefined, tls: undefined }).pipe(
    Layer.provide(Layer.mock(NatsStream)({ connected: Effect.succeed(connected) }))
  )
  const frames = () => found.map((one) => [Number(one.get("first")), Number(one.get("last"))] as const)
  const events = () => frames().filter(([first, last]) => first <= last)
  /** Runs a relay until it has published more events. */
  const relayed = (submitted: Effect.Effect<unknown>) =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { length } = events()
          yield* Layer.build(relay)
          yield* submitted
          yield* Effect.promise(() => until("events", () => events().length > length))
        })
      )
    )
  const submit = (n: number) => Effect.promise(() => submitAll(backend.client, [[deposit(n)]]))
  // without a position a relay begins at the head
  const begun = Effect.promise(() => until("a heartbeat", () => found.length > 0))
  await relayed(Effect.andThen(begun, submit(1)))
  const [, last] = frames().at(-1)!
  await Effect.runPromise(submit(2))
  await relayed(Effect.void)
  assert.strictEqual(events().find(([, to]) => to > last)![0], last + 1)
})
