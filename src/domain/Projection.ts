/**
 * What a batch of events means for the read model: rows to write, user-stream events to number, candles to move.
 *
 * A projection is a function of the event stream alone, so every gateway that reads the same stream derives the same rows
 * and the same user-stream numbers, however the stream is cut into batches.
 * Source: docs/contract/websocket.md#private-topics, docs/contract/boundary.md#ownership.
 */
import type { Movement } from "./Account.ts"
import { bucketStart, Series, type IntervalCandle } from "./Candles.ts"
import { OpenInterestInterval } from "./Enumerations.ts"
import type { Event, StreamPosition } from "./Event.ts"
import type { Closing, Execution } from "./Execution.ts"
import type { FundingRate } from "./Funding.ts"
import type { AdlAlert, InsurancePool } from "./InsurancePool.ts"
import { Ledger, type LedgerChange, type LedgerState } from "./Ledger.ts"
import type { Instrument, OpenInterest, Prices, PublicTrade } from "./Market.ts"
import type { Order } from "./Order.ts"
import * as RecordJson from "./RecordJson.ts"
import type { PrivateTopic } from "./Topic.ts"
import type { SubAccountState } from "./User.ts"

/** Where the read model stands, and where its numbering began. */
export interface ModelPosition extends StreamPosition {
  /** Seq after which the read model began: 0, or where it was last built anew. */
  readonly began: number
  /** Engine time of the last event, Unix ms; 0 before the first. */
  readonly ts_ms: number
}

/**
 * Identity of the numbers that clients see; the same on every gateway.
 * Source: docs/contract/websocket.md#private-topics.
 */
export const streamIdOf = (position: Pick<ModelPosition, "epoch" | "began">): string =>
  `${position.epoch}-${position.began}`

/** Last numbers of a user's stream: of all topics together, and of each; 0 before the first. */
export interface StreamHead {
  readonly user_id: string
  readonly seq: number
  readonly topics: { readonly [T in PrivateTopic]: number }
}

export interface UserStreamEvent {
  readonly user_id: string
  readonly seq: number
  readonly topic: PrivateTopic
  readonly prev_seq: number
  readonly sub_account_address: string
  /** Position and balance records: the symbol or asset, for `seq` of a record. */
  readonly subject: string | undefined
  readonly mts: number
  /** JSON text of the record as the API sends it, encoded once for database and sockets. */
  readonly record: string
}

/** Candles of trades, of the mark price or of the index price. */
export type CandleKind = "trade" | "mark" | "index"

export interface CandleChange {
  readonly kind: CandleKind
  readonly symbol: string
  /** Closed for good by this batch. */
  readonly closed: ReadonlyArray<IntervalCandle>
  /** The last candle of every interval after this batch; `confirm` tells whether it is closed. */
  readonly last: ReadonlyArray<IntervalCandle>
}

export interface OrderRow {
  readonly user_id: string
  /** Seq of the order's first event in this batch; the row keeps the one that it was first written with. */
  readonly seq: number
  readonly order: Order
  /** JSON text of the order. */
  readonly record: string
}

export interface ExecutionRow {
  readonly user_id: string
  readonly seq: number
  readonly execution: Execution
  readonly record: string
  readonly closing: Closing | undefined
}

/** What a market tells now and then, with the seq of its event. */
export interface MarketRows {
  readonly fundings: ReadonlyArray<{ readonly seq: number; readonly funding: FundingRate }>
  /** The first sample of an interval, under the time that the interval began. */
  readonly openInterest: ReadonlyArray<{ readonly interval: OpenInterestInterval; readonly record: OpenInterest }>
  readonly pools: ReadonlyArray<{ readonly seq: number; readonly symbol: string; readonly pool: InsurancePool }>
  readonly alerts: ReadonlyArray<{ readonly seq: number; readonly alert: AdlAlert }>
}

export interface Projection extends LedgerChange, MarketRows {
  /** Position before the batch; `undefined`: the beginning. A commit on another position is refused. */
  readonly after: StreamPosition | undefined
  /** Position of the last event of the batch. */
  readonly position: ModelPosition
  /** Last state of each order that changed. */
  readonly orders: ReadonlyArray<OrderRow>
  readonly executions: ReadonlyArray<ExecutionRow>
  /** With the seq of the event that printed them. */
  readonly trades: ReadonlyArray<{ readonly seq: number; readonly trade: PublicTrade }>
  readonly candles: ReadonlyArray<CandleChange>
  /** Last state of each, with the seq of its first event in this batch. */
  readonly movements: ReadonlyArray<{ readonly seq: number; readonly movement: Movement }>
  readonly subAccounts: ReadonlyArray<SubAccountState>
  readonly instruments: ReadonlyArray<Instrument>
  readonly userEvents: ReadonlyArray<UserStreamEvent>
  /** Last numbers of the users in `userEvents`. */
  readonly heads: ReadonlyArray<StreamHead>
}

/** What the model holds besides rows, to go on from. */
export interface ModelState {
  readonly position: ModelPosition | undefined
  readonly heads: ReadonlyArray<StreamHead>
  readonly candles: ReadonlyArray<Pick<CandleChange, "kind" | "symbol" | "last">>
  /** Absent: nothing was ever traded. */
  readonly ledger?: LedgerState
}

interface Head {
  seq: number
  order: number
  execution: number
  position: number
  account_balance: number
}

const keyOf = (kind: CandleKind, symbol: string): string => `${kind}|${symbol}`

/** Turns batches of events into projections, one after the other. */
export class Projecting {
  private position: ModelPosition | undefined
  private readonly heads = new Map<string, Head>()
  private readonly series = new Map<
    string,
    { readonly kind: CandleKind; readonly symbol: string; readonly of: Series }
  >()
  private readonly ledger: Ledger
  /** Start of the last interval whose open interest was sampled, by symbol and interval. */
  private readonly sampled = new Map<string, number>()
  private readonly houseUsers: ReadonlySet<string>

  /**
   * Goes on from where a model stands. `houseUsers` are users that nobody can log in as (a market maker of the backend):
   * their orders and fills are in books, trades and candles, but make no rows and no stream that nobody could read.
   */
  constructor(standing: ModelState, houseUsers: ReadonlySet<string> = new Set()) {
    this.position = standing.position
    this.houseUsers = houseUsers
    for (const { user_id, seq, topics } of standing.heads) this.heads.set(user_id, { seq, ...topics })
    this.ledger = new Ledger(standing.ledger, standing.position?.ts_ms)
    for (const { kind, symbol, last } of standing.candles) {
      this.series.set(keyOf(kind, symbol), { kind, symbol, of: Series.from(last) })
      // mark price and open interest are sampled together
      if (kind !== "mark") continue
      for (const { interval, candle } of last) this.sampled.set(`${symbol}|${interval}`, candle.start_time)
    }
  }

  /** The projection of the next events, which follow the position without a gap; there is at least one. */
  next(epoch: string, events: ReadonlyArray<Event>): Projection {
    const orders = new Map<string, OrderRow>()
    const executions: Array<ExecutionRow> = []
    const trades: Array<{ readonly seq: number; readonly trade: PublicTrade }> = []
    const movements = new Map<string, { readonly seq: number; readonly movement: Movement }>()
    const subAccounts = new Map<string, SubAccountState>()
    const instruments = new Map<string, Instrument>()
    const userEvents: Array<UserStreamEvent> = []
    const users = new Set<string>()
    const fundings: Array<MarketRows["fundings"][number]> = []
    const openInterest: Array<MarketRows["openInterest"][number]> = []
    const pools: Array<MarketRows["pools"][number]> = []
    const alerts: Array<MarketRows["alerts"][number]> = []

    const tell = (
      event: Event,
      user_id: string,
      topic: PrivateTopic,
      sub_account_address: string,
      subject: string | undefined,
      record: (seq: number) => string
    ) => {
      const head = this.head(user_id)
      const seq = ++head.seq
      userEvents.push({
        user_id,
        seq,
        topic,
        prev_seq: head[topic],
        sub_account_address,
        subject,
        mts: event.ts_ms,
        record: record(seq)
      })
      head[topic] = seq
      users.add(user_id)
    }

    for (const event of events) {
      const { body, seq } = event
      const owner = event.user_id === undefined || this.houseUsers.has(event.user_id) ? undefined : event.user_id
      switch (body.type) {
        case "order": {
          if (owner === undefined) break
          const { order } = body
          const record = RecordJson.order(order)
          orders.set(order.order_id, { user_id: owner, seq: orders.get(order.order_id)?.seq ?? seq, order, record })
          this.ledger.order(body, event.ts_ms)
          tell(event, owner, "order", order.sub_account_address, undefined, () => record)
          break
        }
        case "execution": {
          if (owner === undefined) break
          const { closing, execution } = body
          const record = RecordJson.execution(execution)
          executions.push({ user_id: owner, seq, execution, record, closing })
          this.ledger.execution(owner, event, body)
          tell(event, owner, "execution", execution.sub_account_address, undefined, () => record)
          break
        }
        case "position": {
          if (owner === undefined) break
          const { position } = body
          tell(event, owner, "position", position.sub_account_address, position.symbol, (at) =>
            RecordJson.position(position, at)
          )
          break
        }
        case "balance": {
          if (owner === undefined) break
          const { balance, reason } = body
          this.ledger.balance(owner, epoch, event, body)
          tell(event, owner, "account_balance", balance.sub_account_address, balance.asset, (at) =>
            RecordJson.balance(balance, at, reason)
          )
          break
        }
        case "trades": {
          const series = this.candles("trade", body.symbol)
          for (const printed of body.trades) {
            const trade = RecordJson.publicTrade(printed)
            trades.push({ seq, trade })
            series.trade(trade.timestamp, trade.price, trade.qty)
          }
          break
        }
        case "prices":
          for (const prices of body.prices) {
            this.openInterest(prices, openInterest)
            this.candles("mark", prices.symbol).sample(prices.ts_ms, prices.mark_price)
            this.candles("index", prices.symbol).sample(prices.ts_ms, prices.index_price)
            this.candles("trade", prices.symbol).advance(prices.ts_ms)
          }
          break
        case "movement": {
          const key = `${body.movement.user_id}|${body.movement.kind}|${body.movement.transfer_id}`
          movements.set(key, { seq: movements.get(key)?.seq ?? seq, movement: body.movement })
          break
        }
        case "sub_account":
          subAccounts.set(body.sub_account.sub_account_address, body.sub_account)
          break
        case "instrument":
          instruments.set(body.instrument.symbol, body.instrument)
          break
        case "funding":
          fundings.push({ seq, funding: body.funding })
          this.ledger.funding(body)
          break
        case "pool":
          pools.push({ seq, symbol: body.symbol, pool: body.pool })
          break
        case "adl":
          alerts.push({ seq, alert: body.alert })
          break
        case "book":
        case "other":
          break
      }
    }

    const last = events.at(-1)!
    const after = this.position
    this.position = { epoch, seq: last.seq, began: after?.began ?? 0, ts_ms: last.ts_ms }
    return {
      after,
      position: this.position,
      orders: [...orders.values()],
      executions,
      trades,
      candles: this.movedCandles(),
      movements: [...movements.values()],
      subAccounts: [...subAccounts.values()],
      instruments: [...instruments.values()],
      fundings,
      openInterest,
      pools,
      alerts,
      ...this.ledger.take(),
      userEvents,
      heads: [...users].map((user_id) => {
        const { seq, ...topics } = this.head(user_id)
        return { user_id, seq, topics }
      })
    }
  }

  private head(user_id: string): Head {
    let head = this.heads.get(user_id)
    if (head === undefined) {
      head = { seq: 0, order: 0, execution: 0, position: 0, account_balance: 0 }
      this.heads.set(user_id, head)
    }
    return head
  }
  private candles(kind: CandleKind, symbol: string): Series {
    const key = keyOf(kind, symbol)
    let series = this.series.get(key)
    if (series === undefined) {
      series = { kind, symbol, of: new Series() }
      this.series.set(key, series)
    }
    return series.of
  }
  private openInterest(
    { open_interest, symbol, ts_ms }: Prices,
    into: Array<MarketRows["openInterest"][number]>
  ): void {
    for (const interval of OpenInterestInterval.literals) {
      const timestamp = bucketStart(interval, ts_ms)
      const key = `${symbol}|${interval}`
      if (timestamp <= (this.sampled.get(key) ?? -1)) continue
      this.sampled.set(key, timestamp)
      into.push({ interval, record: { symbol, open_interest: RecordJson.decimal(open_interest), timestamp } })
    }
  }
  private movedCandles(): ReadonlyArray<CandleChange> {
    const moved: Array<CandleChange> = []
    for (const { kind, symbol, of } of this.series.values()) {
      const change = of.take()
      if (change !== undefined) moved.push({ kind, symbol, ...change })
    }
    return moved
  }
}
