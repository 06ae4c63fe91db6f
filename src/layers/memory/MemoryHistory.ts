/**
 * The read model in memory: plain maps and arrays, the clear double of the one in SQL. Forgets everything with the process;
 * lists sort on every question, so it suits tests and small demonstrations.
 */
import { Effect, Layer } from "effect"
import type { Movement } from "../../domain/Account.ts"
import type { IntervalCandle } from "../../domain/Candles.ts"
import type { StreamPosition } from "../../domain/Event.ts"
import type { Closing, Execution } from "../../domain/Execution.ts"
import type { Candle, Instrument, PublicTrade } from "../../domain/Market.ts"
import { isOpen, type Order } from "../../domain/Order.ts"
import type { CandleChange, ModelPosition, StreamHead, UserStreamEvent } from "../../domain/Projection.ts"
import type { SubAccountState } from "../../domain/User.ts"
import { History, type LastRecord, ProjectionRefused, TRADES_KEPT, UserEventsKept } from "../../services/History.ts"
import * as MemoryLedger from "./MemoryLedger.ts"
import { among, is, list, newest, type Row } from "./MemoryLists.ts"

const make = (kept: (typeof UserEventsKept)["Service"]): History["Service"] => {
  let position: ModelPosition | undefined
  let base = 0
  const orders = new Map<string, Row<Order>>()
  const executions: Array<Row<Execution> & { readonly closing: Closing | undefined }> = []
  const ledger = MemoryLedger.make((order_id) => orders.get(order_id)?.value)
  const movements = new Map<string, Row<Movement>>()
  const trades = new Map<string, Array<PublicTrade>>()
  const candles = new Map<string, Map<number, Candle>>()
  const lastCandles = new Map<string, Pick<CandleChange, "kind" | "symbol" | "last">>()
  const subAccounts = new Map<string, SubAccountState>()
  const instruments = new Map<string, Instrument>()
  const heads = new Map<string, StreamHead>()
  const userEvents = new Map<string, Array<UserStreamEvent>>()
  const lastRecords = new Map<string, LastRecord>()

  const takeOrder = (user_id: string, order: Order, id: number) => {
    const key = orders.get(order.order_id)?.key ?? { time: Number(order.created_time), id }
    orders.set(order.order_id, { user_id, key, value: order })
  }
  const takeRecord = (last: LastRecord) =>
    lastRecords.set(`${last.topic}|${last.sub_account_address}|${last.subject}`, last)
  const takeEvent = (event: UserStreamEvent, now: number) => {
    let events = userEvents.get(event.user_id)
    if (events === undefined) userEvents.set(event.user_id, (events = []))
    events.push(event)
    while (events.length > kept.count && events[0]!.mts < now - kept.ms) events.shift()
    const { record, seq, sub_account_address, subject, topic, user_id } = event
    if (subject === undefined || (topic !== "position" && topic !== "account_balance")) return
    takeRecord({ user_id, topic, sub_account_address, subject, seq, record })
  }

  const standsAt = (at: StreamPosition | undefined): boolean =>
    at?.epoch === position?.epoch && at?.seq === position?.seq

  return History.of({
    position: Effect.sync(() => position),
    // reads do not wait, so nothing comes in between
    moment: (reads) => reads,
    commit: (projection) =>
      Effect.suspend(() => {
        if (!standsAt(projection.after)) return Effect.fail(new ProjectionRefused({ position }))
        position = projection.position
        for (const { user_id, seq, order } of projection.orders) takeOrder(user_id, order, base + seq)
        for (const { user_id, seq, execution, closing } of projection.executions) {
          const key = { time: Number(execution.exec_time), id: base + seq }
          executions.push({ user_id, key, value: execution, closing })
        }
        ledger.take(projection, base)
        for (const { seq, movement } of projection.movements) {
          const id = `${movement.user_id}|${movement.kind}|${movement.transfer_id}`
          const key = movements.get(id)?.key ?? { time: movement.created_time, id: base + seq }
          movements.set(id, { user_id: movement.user_id, key, value: movement })
        }
        for (const { trade } of projection.trades) {
          const kept = trades.get(trade.symbol) ?? []
          kept.unshift(trade)
          trades.set(trade.symbol, kept.slice(0, TRADES_KEPT))
        }
        for (const { kind, symbol, closed, last } of projection.candles) {
          for (const { interval, candle } of closed) {
            const key = `${kind}|${symbol}|${interval}`
            candles.set(key, (candles.get(key) ?? new Map<number, Candle>()).set(candle.start_time, candle))
          }
          lastCandles.set(`${kind}|${symbol}`, { kind, symbol, last })
        }
        for (const account of projection.subAccounts) subAccounts.set(account.sub_account_address, account)
        for (const instrument of projection.instruments) instruments.set(instrument.symbol, instrument)
        for (const event of projection.userEvents) takeEvent(event, projection.position.ts_ms)
        for (const head of projection.heads) heads.set(head.user_id, head)
        return Effect.void
      }),
    restart: (after, to, open) =>
      Effect.suspend(() => {
        if (!standsAt(after)) return Effect.fail(new ProjectionRefused({ position }))
        const last = position === undefined ? to.seq : base + position.seq
        position = to
        base = last + open.orders.length - to.seq
        userEvents.clear()
        heads.clear()
        lastRecords.clear()
        open.records.forEach(takeRecord)
        const stillOpen = new Set(open.orders.map(({ order }) => order.order_id))
        for (const [id, { value }] of orders) {
          if (isOpen(value.order_status) && !stillOpen.has(id)) orders.delete(id)
        }
        open.orders.forEach(({ user_id, order }, i) => takeOrder(user_id, order, last + 1 + i))
        for (const account of open.subAccounts) subAccounts.set(account.sub_account_address, account)
        for (const instrument of open.instruments) instruments.set(instrument.symbol, instrument)
        return Effect.void
      }),
    ...ledger.reads,
    executionsAt: ({ user_id, sub_accounts, symbol, limit, offset }) =>
      Effect.sync(() => {
        const rows = executions
          .filter(
            ({ user_id: owner, value }) =>
              owner === user_id && among(sub_accounts, value.sub_account_address) && is(symbol, value.symbol)
          )
          .sort((a, b) => newest(a.key, b.key))
        return { rows: rows.slice(offset, offset + limit).map(({ value }) => value), total: rows.length }
      }),
    fills: ({ user_id, start, end }) =>
      Effect.sync(() =>
        executions
          .filter((row) => row.user_id === user_id && row.key.time >= start && row.key.time < end)
          .sort((a, b) => newest(b.key, a.key))
          .map(({ value, closing }) => ({ execution: value, closing }))
      ),
    orders: (query) =>
      list(
        orders.values(),
        query,
        (order) =>
          among(query.sub_accounts, order.sub_account_address) &&
          is(query.symbol, order.symbol) &&
          is(query.order_id, order.order_id) &&
          is(query.order_link_id, order.order_link_id) &&
          is(query.side, order.side) &&
          among(query.statuses, order.order_status)
      ),
    order: ({ user_id, sub_account_address, order_id, order_link_id }) =>
      Effect.sync(
        () =>
          [...orders.values()].find(
            ({ user_id: owner, value }) =>
              owner === user_id &&
              value.sub_account_address === sub_account_address &&
              is(order_id, value.order_id) &&
              is(order_link_id, value.order_link_id)
          )?.value
      ),
    executions: (query) =>
      list(
        executions,
        query,
        (execution) =>
          among(query.sub_accounts, execution.sub_account_address) &&
          is(query.symbol, execution.symbol) &&
          is(query.order_id, execution.order_id) &&
          is(query.order_link_id, execution.order_link_id) &&
          is(query.side, execution.side) &&
          is(query.exec_type, execution.exec_type)
      ),
    executionsAfter: (id, limit) =>
      Effect.sync(() =>
        executions
          .filter(({ key }) => key.id > id)
          .sort((a, b) => a.key.id - b.key.id)
          .slice(0, limit)
          .map(({ key, user_id, value }) => ({ id: key.id, user_id, execution: value }))
      ),
    lastExecution: Effect.sync(() => executions.reduce((last, { key }) => Math.max(last, key.id), 0)),
    movements: (query) =>
      list(
        movements.values(),
        query,
        (movement) =>
          is(query.kind, movement.kind) &&
          among(query.sub_accounts, movement.from_sub_account_address, movement.to_sub_account_address) &&
          among(query.within, movement.from_sub_account_address) &&
          among(query.within, movement.to_sub_account_address)
      ),
    subAccounts: (user_id) =>
      Effect.sync(() =>
        [...subAccounts.values()].filter((account) => account.user_id === user_id).sort((a, b) => a.index - b.index)
      ),
    instruments: Effect.sync(() => [...instruments.values()]),
    trades: (symbol, limit) => Effect.sync(() => (trades.get(symbol) ?? []).slice(0, limit)),
    candles: ({ kind, symbol, interval, start, end, limit }) =>
      Effect.sync(() => {
        const found = new Map(candles.get(`${kind}|${symbol}|${interval}`))
        const last: IntervalCandle | undefined = lastCandles
          .get(`${kind}|${symbol}`)
          ?.last.find((each) => each.interval === interval)
        if (last !== undefined) found.set(last.candle.start_time, last.candle)
        return [...found.values()]
          .filter(({ start_time }) => start_time >= start && start_time < end)
          .sort((a, b) => b.start_time - a.start_time)
          .slice(0, limit)
      }),
    lastCandles: Effect.sync(() => [...lastCandles.values()]),
    streamHeads: Effect.sync(() => [...heads.values()]),
    userEvents: (user_id, after, limit) =>
      Effect.sync(() =>
        (userEvents.get(user_id) ?? [])
          .filter((event) => event.seq > after)
          .slice(0, limit)
          .map(({ seq, topic, prev_seq, sub_account_address, mts, record }) => ({
            seq,
            topic,
            prev_seq,
            sub_account_address,
            mts,
            record
          }))
      ),
    lastRecords: (user_id, topic) =>
      Effect.sync(() => [...lastRecords.values()].filter((last) => last.user_id === user_id && last.topic === topic))
  })
}

export const layer = Layer.effect(History, Effect.map(UserEventsKept, make))
