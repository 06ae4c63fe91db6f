/**
 * The projection of a batch of events: rows to write, numbered user-stream events, changed candles.
 *
 * A projection is a function of the event stream alone. Every gateway that reads the same stream derives the same
 * rows and user-stream numbers, however the stream is divided into batches.
 * Source: docs/contract/websocket.md#private-topics, docs/contract/boundary.md#ownership.
 */
import type { Movement } from "./Movement.ts"
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

/**
 * Version of the read model: of its rows, and of the numbers of the private streams. A change of what a projection writes
 * raises it, and the read models of older versions are built again from the first event.
 */
export const READ_MODEL_VERSION = 1

/** The position of the read model, and the start of its numbering. */
export interface ModelPosition extends StreamPosition {
  /** Seq after which the read model began: 0, or the position of its last rebuild. */
  readonly began: number
  /** Engine time of the last event, Unix ms; 0 before the first. */
  readonly ts_ms: number
  /** Identity of the numbering where another history began it; absent: epoch and beginning are its identity. */
  readonly stream?: string | undefined
  /** {@link READ_MODEL_VERSION} of the gateway that wrote it; absent before the first commit. */
  readonly version?: number | undefined
}

/**
 * Identity of the stream numbers that clients see; equal on every gateway.
 * Source: docs/contract/websocket.md#private-topics.
 */
export const streamIdOf = (position: Pick<ModelPosition, "epoch" | "began" | "stream">): string =>
  position.stream ?? `${position.epoch}-${position.began}`

/** Last numbers of a user's stream: over all topics, and per topic; 0 before the first. */
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
  /** For position and balance records: the symbol or asset. */
  readonly subject: string | undefined
  readonly mts: number
  /** JSON text of the record, encoded once for database and sockets. */
  readonly record: string
}

/** Candles of trades, of the mark price or of the index price. */
export type CandleKind = "trade" | "mark" | "index"

export interface CandleChange {
  readonly kind: CandleKind
  readonly symbol: string
  /** Closed by this batch; they never change again. */
  readonly closed: ReadonlyArray<IntervalCandle>
  /** The last candle of every interval after this batch; `confirm` is true if it is closed. */
  readonly last: ReadonlyArray<IntervalCandle>
}

export interface OrderRow {
  readonly user_id: string
  /** Seq of the order's first event in this batch. A stored row keeps its first seq. */
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

/** Occasional records of markets, with the seq of their event. */
export interface MarketRows {
  readonly fundings: ReadonlyArray<{ readonly seq: number; readonly funding: FundingRate }>
  /** The first sample of an interval, with the start time of the interval. */
  readonly openInterest: ReadonlyArray<{ readonly interval: OpenInterestInterval; readonly record: OpenInterest }>
  readonly pools: ReadonlyArray<{ readonly seq: number; readonly symbol: string; readonly pool: InsurancePool }>
  readonly alerts: ReadonlyArray<{ readonly seq: number; readonly alert: AdlAlert }>
}

export interface Projection extends LedgerChange, MarketRows {
  /** Position before the batch; `undefined` at the beginning. A commit on any other position is refused. */
  readonly after: StreamPosition | undefined
  /** Position of the last event of the batch. */
  readonly position: ModelPosition
  /** Last state of each order that changed. */
  readonly orders: ReadonlyArray<OrderRow>
  readonly executions: ReadonlyArray<ExecutionRow>
  /** With the seq of their event. */
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

/** The state besides rows from which projection resumes. */
export interface ModelState {
  readonly position: ModelPosition | undefined
  readonly heads: ReadonlyArray<StreamHead>
  readonly candles: ReadonlyArray<Pick<CandleChange, "kind" | "symbol" | "last">>
  /** Absent if there was no trade. */
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

/** Projects consecutive batches of events. */
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
   * Resumes from the state of a model. No client can log in as one of the `houseUsers` (a market maker of the
   * backend). Their orders and fills appear in books, trades and candles, but produce no rows and no stream.
   */
  constructor(model: ModelState, houseUsers: ReadonlySet<string> = new Set()) {
    this.position = model.position
    this.houseUsers = houseUsers
    for (const { user_id, seq, topics } of model.heads) this.heads.set(user_id, { seq, ...topics })
    this.ledger = new Ledger(model.ledger, model.position?.ts_ms)
    for (const { kind, symbol, last } of model.candles) {
      this.series.set(keyOf(kind, symbol), { kind, symbol, of: Series.from(last) })
      // mark price and open interest are sampled together
      if (kind !== "mark") continue
      for (const { interval, candle } of last) this.sampled.set(`${symbol}|${interval}`, candle.start_time)
    }
  }

  /**
   * Projects the next events. They follow the position without a gap; there is at least one. `history`: fork and checksum
   * after the last one.
   */
  next(
    epoch: string,
    events: ReadonlyArray<Event>,
    history: Pick<StreamPosition, "fork" | "checksum"> = {}
  ): Projection {
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

    const emit = (
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
          emit(event, owner, "order", order.sub_account_address, undefined, () => record)
          break
        }
        case "execution": {
          if (owner === undefined) break
          const { closing, execution } = body
          const record = RecordJson.execution(execution)
          executions.push({ user_id: owner, seq, execution, record, closing })
          this.ledger.execution(owner, event, body)
          emit(event, owner, "execution", execution.sub_account_address, undefined, () => record)
          break
        }
        case "position": {
          if (owner === undefined) break
          const { position } = body
          emit(event, owner, "position", position.sub_account_address, position.symbol, (at) =>
            RecordJson.position(position, at)
          )
          break
        }
        case "balance": {
          if (owner === undefined) break
          const { balance, reason } = body
          this.ledger.balance(owner, epoch, event, body)
          emit(event, owner, "account_balance", balance.sub_account_address, balance.asset, (at) =>
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
    const { fork, checksum } = history
    this.position = {
      epoch,
      seq: last.seq,
      began: after?.began ?? 0,
      ts_ms: last.ts_ms,
      ...(fork !== undefined && { fork }),
      ...(checksum !== undefined && { checksum }),
      ...(after?.stream !== undefined && { stream: after.stream }),
      ...(after?.version !== undefined && { version: after.version })
    }
    return {
      after,
      position: this.position,
      orders: [...orders.values()],
      executions,
      trades,
      candles: this.changedCandles(),
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
  private changedCandles(): ReadonlyArray<CandleChange> {
    const changed: Array<CandleChange> = []
    for (const { kind, symbol, of } of this.series.values()) {
      const change = of.take()
      if (change !== undefined) changed.push({ kind, symbol, ...change })
    }
    return changed
  }
}
