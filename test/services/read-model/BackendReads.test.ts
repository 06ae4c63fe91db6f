/** What the projector reads from the backend, under a test clock. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { Projecting } from "../../../src/domain/Projection.ts"
import type { Event } from "../../../src/domain/Event.ts"
import { MarketState } from "../../../src/services/markets/MarketState.ts"
import { SequencerFault } from "../../../src/services/Sequencer.ts"
import * as BackendReads from "../../../src/services/read-model/BackendReads.ts"
import { alert, body, event, instrument, pool, prices, START, symbol } from "../../../verification/harness/Records.ts"
import { ScriptedBackend } from "../../doubles/ScriptedBackend.ts"

const answer = { bids: [], asks: [], book_seq: 0, mts: START, as_of_seq: 1 }

/** The reads of a market state that follows a stream of events. */
const reading = (
  test: (setting: {
    readonly backend: ScriptedBackend
    readonly markets: MarketState
    readonly reads: BackendReads.BackendReads
    readonly apply: (...bodies: ReadonlyArray<Event["body"]>) => void
  }) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    const backend = new ScriptedBackend()
    const markets = new MarketState(yield* Clock.Clock)
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    let seq = 0
    const apply = (...bodies: ReadonlyArray<Event["body"]>): void => {
      const events = bodies.map((each) => event(++seq, each))
      markets.apply(events, projecting.next("e1", events))
    }
    const reads = yield* Effect.provide(BackendReads.make(markets), backend.layer)
    yield* test({ apply, backend, markets, reads })
  }).pipe(Effect.scoped)

describe("BackendReads", () => {
  it.effect("reads a book again after 50 ms where the read was older than the stream", () =>
    reading(({ apply, backend, markets, reads }) =>
      Effect.gen(function* () {
        apply(body.instrument(), body.prices({}))
        backend.book = () => answer
        yield* reads.books
        yield* TestClock.adjust(49)
        assert.strictEqual(backend.bookReads, 1)
        assert.isUndefined(markets.view.book(symbol))
        backend.book = () => ({ ...answer, as_of_seq: 2 })
        yield* TestClock.adjust(1)
        assert.strictEqual(backend.bookReads, 2)
        assert.isDefined(markets.view.book(symbol))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(backend.bookReads, 2, "a book that is joined is not read again")
      })
    )
  )

  it.effect("repeats a failed read of a book after pauses that grow to 2 s", () =>
    reading(({ apply, backend, markets, reads }) =>
      Effect.gen(function* () {
        apply(body.instrument())
        yield* reads.books
        // 50, 100, 200, 400, 800, 1600 ms, then 2 s each
        for (const [ms, count] of [
          [0, 1],
          [49, 1],
          [1, 2],
          [100, 3],
          [200, 4],
          [400, 5],
          [800, 6],
          [1_600, 7],
          [1_999, 7],
          [1, 8],
          [2_000, 9]
        ] as const) {
          yield* TestClock.adjust(ms)
          assert.strictEqual(backend.bookReads, count)
        }
        backend.book = () => answer
        yield* TestClock.adjust(2_000)
        assert.isDefined(markets.view.book(symbol))
      })
    )
  )

  it.effect("logs a fault of the backend once, and reads on", () => {
    const lines: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ fiber, message }) => {
      lines.push([message, fiber.getRef(References.CurrentLogAnnotations)])
    })
    return reading(({ backend, markets, reads }) =>
      Effect.gen(function* () {
        backend.instruments = [instrument()]
        backend.instrumentsArrive = new SequencerFault({ cause: new Error("status: 9 is not a known value") })
        backend.book = () => ({ ...answer, as_of_seq: 0 })
        yield* reads.statics
        yield* TestClock.adjust("1 minute")
        const details = "Error: status: 9 is not a known value"
        assert.deepStrictEqual(lines, [[["a read of the backend fails"], { read: "instruments", details }]])
        assert.deepStrictEqual(markets.view.instruments(), [])
        backend.instrumentsArrive = Effect.void
        yield* TestClock.adjust("2 seconds")
        assert.lengthOf(markets.view.instruments(), 1)
      })
    ).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("ends all reads at a restart of the projection", () =>
    reading(({ apply, backend, reads }) =>
      Effect.gen(function* () {
        apply(body.instrument())
        yield* reads.books
        yield* TestClock.adjust(0)
        yield* reads.clear
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(backend.bookReads, 1)
      })
    )
  )

  it.effect("returns each instrument once, for one commit", () =>
    reading(({ backend, markets, reads }) =>
      Effect.gen(function* () {
        const found = [instrument(), instrument({ symbol: "ETH-USDC" })]
        backend.instruments = found
        yield* reads.statics
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(markets.view.instruments(), found)
        assert.deepStrictEqual(reads.takeInstruments(), found)
        assert.deepStrictEqual(reads.takeInstruments(), [])
      })
    )
  )

  it.effect("keeps an instrument that the stream reports during the read", () =>
    reading(({ apply, backend, markets, reads }) =>
      Effect.gen(function* () {
        const other = instrument({ symbol: "ETH-USDC" })
        backend.instruments = [instrument(), other]
        const arrival = yield* Deferred.make<void>()
        backend.instrumentsArrive = Deferred.await(arrival)
        yield* reads.statics
        yield* TestClock.adjust(0)
        apply(body.instrument({ status: "ReduceOnly" }))
        yield* Deferred.succeed(arrival, undefined)
        yield* TestClock.adjust(0)
        assert.strictEqual(markets.view.instrument(symbol)!.status, "ReduceOnly")
        assert.deepStrictEqual(reads.takeInstruments(), [other])
      })
    )
  )

  it.effect("reads prices until the referee answers, and books of the instruments that it found", () =>
    reading(({ backend, markets, reads }) =>
      Effect.gen(function* () {
        backend.instruments = [instrument()]
        backend.book = () => ({ ...answer, as_of_seq: 0 })
        yield* reads.statics
        yield* TestClock.adjust("1 minute")
        assert.isUndefined(markets.view.ticker(symbol))
        assert.isDefined(markets.view.book(symbol))
        backend.prices = [prices({ mark_price: "77" })]
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(markets.view.ticker(symbol)!.mark_price, "77")
      })
    )
  )

  it.effect("repeats one read of the prices, however often the stream was lost and found meanwhile", () =>
    reading(({ backend, reads }) =>
      Effect.gen(function* () {
        for (let losses = 0; losses < 20; losses++) {
          yield* reads.statics
          yield* TestClock.adjust("2 seconds")
        }
        // to where the pauses are 2 s
        yield* TestClock.adjust("1 minute")
        const before = backend.priceReads
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(backend.priceReads - before, 10)
        yield* reads.clear
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(backend.priceReads - before, 10)
      })
    )
  )

  it.effect("reads a pool five times, then leaves it to the stream", () =>
    reading(({ backend, markets, reads }) =>
      Effect.gen(function* () {
        backend.instruments = [instrument()]
        yield* reads.statics
        // four pauses: 50, 100, 200 and 400 ms
        yield* TestClock.adjust(750)
        backend.pool = { pool: pool(), alert: alert() }
        yield* TestClock.adjust("1 minute")
        assert.isUndefined(markets.view.pool(symbol))
        yield* reads.statics
        yield* TestClock.adjust(0)
        assert.isDefined(markets.view.pool(symbol))
        assert.isDefined(markets.view.alert(symbol))
      })
    )
  )

  it.effect("reads the alert of a pool that the stream has reported", () =>
    reading(({ apply, backend, markets, reads }) =>
      Effect.gen(function* () {
        const reported = pool({ equity: "77" })
        apply(body.pool(reported))
        backend.instruments = [instrument()]
        backend.pool = { pool: pool(), alert: alert() }
        yield* reads.statics
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(markets.view.pool(symbol), reported)
        assert.deepStrictEqual(markets.view.alert(symbol), alert())
      })
    )
  )

  it.effect("reads a pool of which the stream has reported the alert alone", () =>
    reading(({ apply, backend, markets, reads }) =>
      Effect.gen(function* () {
        apply(body.adl(alert()))
        backend.instruments = [instrument()]
        backend.pool = { pool: pool(), alert: alert() }
        yield* reads.statics
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(markets.view.pool(symbol), pool())
      })
    )
  )

  it.effect("takes the answer to the fifth read of a pool", () =>
    reading(({ backend, markets, reads }) =>
      Effect.gen(function* () {
        backend.instruments = [instrument()]
        yield* reads.statics
        yield* TestClock.adjust(749)
        backend.pool = { pool: pool(), alert: alert() }
        yield* TestClock.adjust(1)
        assert.isDefined(markets.view.pool(symbol))
      })
    )
  )
})
