/**
 * State that the event stream reports only when it changes, read from the backend instead: order books, instruments,
 * insurance pools, and prices before their first sample.
 */
import { Effect, FiberHandle, FiberSet, type Scope } from "effect"
import type { Instrument } from "../../domain/Market.ts"
import type { MarketState } from "../markets/MarketState.ts"
import { Referee, type RefereeError } from "../Referee.ts"
import { type ReadError, Sequencer } from "../Sequencer.ts"
import { backOff } from "../operations/Insist.ts"

/** Attempts to read a pool after a start; later changes arrive on the stream. */
const POOL_TRIES = 5
/** Pause before a book that did not fit the stream is read again. */
const BOOK_PAUSE = "50 millis"

/**
 * Repeats a read until it succeeds. A fault of the backend is logged once: nothing else shows why its market is missing. A lost
 * connection is logged with its stream.
 */
const insist = <A, E extends ReadError | RefereeError>(what: string, read: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    let isLogged = false
    return read.pipe(
      Effect.tapError((error: ReadError | RefereeError) => {
        if (isLogged || (error._tag !== "SequencerFault" && error._tag !== "RefereeFault")) return Effect.void
        isLogged = true
        return Effect.annotateLogs(Effect.logError("a read of the backend fails"), {
          read: what,
          details: String(error.cause)
        })
      }),
      Effect.retry(backOff)
    )
  })

export interface BackendReads {
  /** Starts the reads of books that {@link MarketState} needs, and repeats each until it fits the stream. */
  readonly books: Effect.Effect<void>
  /** Starts the reads of instruments, pools and prices. The reads of instruments and prices of an earlier call end. */
  readonly statics: Effect.Effect<void>
  /** Returns the instruments read since the previous call, for the next commit. */
  readonly takeInstruments: () => ReadonlyArray<Instrument>
  /** Interrupts all reads. */
  readonly clear: Effect.Effect<void>
}

export const make: (markets: MarketState) => Effect.Effect<BackendReads, never, Sequencer | Referee | Scope.Scope> =
  Effect.fnUntraced(function* (markets) {
    const sequencer = yield* Sequencer
    const referee = yield* Referee
    const reads = yield* FiberSet.make<void>()
    const latest = yield* FiberHandle.make<void>()
    let unsaved: ReadonlyArray<Instrument> = []

    const start = (read: Effect.Effect<void, unknown>) => FiberSet.run(reads, Effect.ignore(read))

    const books: Effect.Effect<void> = Effect.suspend(() => {
      const wanted = markets.booksToRead()
      if (wanted.length === 0) return Effect.void
      return Effect.forEach(
        wanted,
        ({ symbol, done }) =>
          start(
            insist(`the order book of ${symbol}`, sequencer.orderBook(symbol)).pipe(
              Effect.flatMap((book) => Effect.sync(() => done(book))),
              Effect.andThen(Effect.delay(books, BOOK_PAUSE))
            )
          ),
        { discard: true }
      )
    })

    // a referee without pools fails the read
    const pools = (instruments: ReadonlyArray<Instrument>) =>
      Effect.forEach(
        instruments.filter(({ symbol }) => markets.view.pool(symbol) === undefined || !markets.view.alert(symbol)),
        ({ symbol }) =>
          start(
            Effect.all([referee.pool(symbol), referee.adlAlert(symbol)]).pipe(
              Effect.retry({ schedule: backOff, times: POOL_TRIES - 1 }),
              Effect.flatMap(([pool, alert]) => Effect.sync(() => markets.seedPool(symbol, pool, alert)))
            )
          ),
        { discard: true }
      )

    const instruments = insist(
      "instruments",
      Effect.suspend(() => {
        const before = new Map(markets.view.instruments().map((each) => [each.symbol, each]))
        return Effect.map(sequencer.instruments, (found) => ({ before, found }))
      })
    ).pipe(
      Effect.flatMap(({ before, found }) => {
        // what the stream reported during the read may be newer
        unsaved = found.filter(({ symbol }) => markets.view.instrument(symbol) === before.get(symbol))
        markets.know(unsaved)
        // by itself: a later call does not end reads of books that have begun
        return start(Effect.andThen(books, pools(found)))
      })
    )
    const prices = insist("prices", referee.prices([])).pipe(
      Effect.flatMap((found) => Effect.sync(() => markets.seed(found)))
    )

    return {
      books,
      // a read is repeated until the backend answers, and the stream may be lost and found many times before
      statics: FiberHandle.run(
        latest,
        Effect.all([Effect.ignore(instruments), Effect.ignore(prices)], { concurrency: "unbounded", discard: true })
      ),
      takeInstruments: () => {
        const taken = unsaved
        unsaved = []
        return taken
      },
      clear: Effect.andThen(FiberHandle.clear(latest), FiberSet.clear(reads))
    }
  })
