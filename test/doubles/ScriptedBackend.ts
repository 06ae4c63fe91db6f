/** A sequencer and a referee with responses that the test sets; any other call is a defect. */
import { Effect, Layer } from "effect"
import type { AdlAlert, InsurancePool } from "../../src/domain/InsurancePool.ts"
import type { Instrument, Level, Prices } from "../../src/domain/Market.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { SubAccountState } from "../../src/domain/User.ts"
import { Referee, RefereeUnavailable } from "../../src/services/Referee.ts"
import { type ReadError, Sequencer, SequencerUnavailable } from "../../src/services/Sequencer.ts"

interface BookAnswer {
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
  readonly book_seq: number
  readonly mts: number
  readonly as_of_seq: number
}

export class ScriptedBackend {
  /** The book that a read returns; undefined: unavailable. Can change between reads. */
  book: (symbol: string) => BookAnswer | undefined = () => undefined
  bookReads = 0
  head: { epoch: string; head_seq: number; fork?: string; first_seq?: number } = { epoch: "e1", head_seq: 0 }
  openOrders: ReadonlyArray<{ readonly user_id: string; readonly order: Order }> = []
  as_of_seq = 0
  accounts: ReadonlyArray<SubAccountState> = []
  instruments: ReadonlyArray<Instrument> = []
  /** Completes when an answer with instruments arrives, which the backend gave before. */
  instrumentsArrive: Effect.Effect<void, ReadError> = Effect.void
  prices: ReadonlyArray<Prices> | undefined
  priceReads = 0
  /** Undefined: unavailable. */
  pool: { readonly pool: InsurancePool; readonly alert: AdlAlert } | undefined

  private readonly market = <A>(of: (found: NonNullable<ScriptedBackend["pool"]>) => A) =>
    Effect.suspend(() =>
      this.pool === undefined ? Effect.fail(new RefereeUnavailable({})) : Effect.succeed(of(this.pool))
    )

  readonly layer = Layer.merge(
    Layer.mock(Sequencer)({
      commands_down_ms: () => 0,
      orderBook: (symbol) =>
        Effect.suspend(() => {
          this.bookReads++
          const answer = this.book(symbol)
          return answer === undefined ? Effect.fail(new SequencerUnavailable({})) : Effect.succeed(answer)
        }),
      head: Effect.sync(() => ({ server_ts_ms: 0, ...this.head })),
      openOrders: Effect.sync(() => ({ orders: this.openOrders, as_of_seq: this.as_of_seq })),
      subAccounts: () => Effect.sync(() => this.accounts),
      instruments: Effect.suspend(() => Effect.as(this.instrumentsArrive, this.instruments))
    }),
    Layer.mock(Referee)({
      pool: () => this.market(({ pool }) => pool),
      adlAlert: () => this.market(({ alert }) => alert),
      prices: () =>
        Effect.suspend(() => {
          this.priceReads++
          return this.prices === undefined ? Effect.fail(new RefereeUnavailable({})) : Effect.succeed(this.prices)
        })
    })
  )
}
