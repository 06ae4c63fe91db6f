import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { HistoryQueries } from "../../../src/services/read-model/HistoryQueries.ts"
import type { ModelPosition } from "../../../src/domain/Projection.ts"
import { ReadYourWrites } from "../../../src/services/read-model/ReadYourWrites.ts"
import { Projector } from "../../../src/services/read-model/Projector.ts"
import { type CommandBody, Sequencer } from "../../../src/services/Sequencer.ts"
import * as ReadYourWritesSequencer from "../../../src/services/read-model/ReadYourWritesSequencer.ts"
import { policies, tokenCaller, userId } from "../../http/Fixture.ts"

/** A read model at seq 5 unless the test says otherwise, and a note of what was waited for. */
const world = () => {
  const waited: Array<number> = []
  const at: { position: ModelPosition } = { position: { epoch: "e", seq: 5, began: 0, ts_ms: 0 } }
  const projector = Layer.mock(Projector)({
    position: () => at.position,
    caughtUp: Effect.void,
    reached: (seq) => Effect.sync(() => void waited.push(seq)),
    onMoved: () => () => {}
  })
  const sequencer = Layer.mock(Sequencer)({
    commands_down_ms: () => 0,
    submit: ({ command_id }) =>
      Effect.succeed({
        seq: Number(command_id),
        accepted_at_ms: 1,
        orders: [],
        duplicate: false,
        version: undefined,
        result: undefined
      })
  })
  const layer = Layer.fresh(ReadYourWritesSequencer.layer).pipe(
    Layer.provideMerge(Layer.fresh(ReadYourWrites.layer)),
    Layer.provide([projector, sequencer])
  )
  return { at, layer, waited }
}
const cancel: CommandBody = {
  type: "cancel",
  cancel: { symbol: "BTC-USDC", order: { order_id: undefined, order_link_id: "a-1" } }
}
const submit = (user_id: string, seq: number, body: CommandBody) =>
  Effect.flatMap(Sequencer, (sequencer) =>
    sequencer.submit({ command_id: String(seq), user_id, sub_account_address: "0xa", body })
  )

describe("own writes", () => {
  it.effect(
    "delay the lists of a user with an acknowledged order; neither the response to the order nor other users",
    () => {
      const { layer, waited } = world()
      return Effect.gen(function* () {
        const own = yield* ReadYourWrites
        yield* submit("a", 9, cancel)
        yield* submit("a", 7, cancel)
        yield* submit("b", 4, cancel)
        assert.deepStrictEqual(waited, [])
        for (const user of ["b", "c"]) yield* own.awaitUser(user)
        assert.deepStrictEqual(waited, [])
        yield* own.awaitUser("a")
        assert.deepStrictEqual(waited, [9])
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("with a seq that the stream does not reach delay lists for 5 s, not for ever", () => {
    const { at, layer, waited } = world()
    return Effect.gen(function* () {
      const own = yield* ReadYourWrites
      yield* submit("a", 10_000_000, cancel)
      yield* own.awaitUser("a")
      yield* own.awaitAll
      assert.deepStrictEqual(waited, [10_000_000, 10_000_000])
      yield* TestClock.adjust("5001 millis")
      yield* own.awaitUser("a")
      yield* own.awaitAll
      assert.deepStrictEqual(waited, [10_000_000, 10_000_000])
      yield* submit("a", 9, cancel)
      yield* own.awaitUser("a")
      yield* own.awaitAll
      assert.deepStrictEqual(waited.slice(2), [9, 9])
      at.position = { ...at.position, seq: 9 }
      yield* own.awaitAll
      assert.strictEqual(waited.length, 4)
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([
    ["another epoch", { epoch: "e2", began: 0 }],
    ["another fork", { epoch: "e", began: 0, stream: "f2-0" }]
  ] as const)("of a numbering that %s has ended are not waited for", ([, stream]) => {
    const { at, layer, waited } = world()
    return Effect.gen(function* () {
      const own = yield* ReadYourWrites
      yield* submit("a", 9, cancel)
      at.position = { ...stream, seq: 3, ts_ms: 0 }
      yield* own.awaitUser("a")
      yield* own.awaitAll
      assert.deepStrictEqual(waited, [])
      yield* submit("a", 4, cancel)
      yield* own.awaitUser("a")
      yield* own.awaitAll
      assert.deepStrictEqual(waited, [4, 4])
    }).pipe(Effect.provide(layer))
  })

  it.effect("of money delay its lists too, where the events came later than the response waited", () => {
    const { at, layer, waited } = world()
    return Effect.gen(function* () {
      const own = yield* ReadYourWrites
      const body = { transfer_id: "t-1", to_sub_account_address: "0xb", asset: "USDC", amount: "1" }
      yield* submit("a", 8, { type: "transfer", ...body })
      assert.deepStrictEqual(waited.splice(0), [8])
      yield* own.awaitUser("a")
      yield* own.awaitAll
      assert.deepStrictEqual(waited.splice(0), [8, 8])
      at.position = { ...at.position, seq: 8 }
      yield* own.awaitUser("a")
      assert.deepStrictEqual(waited, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("leave every other command waiting for its own events", () => {
    const { layer, waited } = world()
    return Effect.gen(function* () {
      yield* submit("a", 8, { type: "set_sub_account", frozen: true })
      assert.deepStrictEqual(waited, [8])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are waited for by the lists of orders", () => {
    const held: Array<string> = []
    const layer = policies({ readYourWrites: { awaitUser: (user) => Effect.sync(() => void held.push(user)) } })
    return Effect.gen(function* () {
      const lists = yield* HistoryQueries
      yield* lists.openOrders(tokenCaller, { order_link_id: "a-1" })
      yield* lists.orders(tokenCaller, {})
      assert.deepStrictEqual(held, [userId, userId])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are all waited for by what the orders of others change, in any order of their acknowledgements", () => {
    const { layer, waited } = world()
    return Effect.gen(function* () {
      yield* submit("a", 9, cancel)
      yield* submit("b", 8, cancel)
      yield* (yield* ReadYourWrites).awaitAll
      assert.deepStrictEqual(waited, [9])
    }).pipe(Effect.provide(layer))
  })
})
