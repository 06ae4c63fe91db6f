/**
 * What a reader of the event stream knows: books, open orders, positions and balances built from events alone. It must
 * never differ from what the reads answer.
 */
import { assert } from "@effect/vitest"
import * as Reads from "../../src/backend/Reads.ts"
import type { State } from "../../src/backend/Engine.ts"
import type { Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { type Balance, ExecType, type Order, OrderStatus, type Position } from "../../src/proto/gateway/v1/types.ts"

const OPEN: ReadonlySet<OrderStatus> = new Set([
  OrderStatus.ORDER_STATUS_NEW,
  OrderStatus.ORDER_STATUS_UNTRIGGERED,
  OrderStatus.ORDER_STATUS_TRIGGERED,
  OrderStatus.ORDER_STATUS_PARTIALLY_FILLED,
  OrderStatus.ORDER_STATUS_CANCEL_REQUESTED
])

export class Mirror {
  readonly books = new Map<string, { seq: number; bids: Map<string, string>; asks: Map<string, string> }>()
  readonly orders = new Map<string, Order>()
  readonly final = new Set<string>()
  readonly positions = new Map<string, Position>()
  readonly balances = new Map<string, Balance>()
  readonly wallets = new Map<string, bigint>()

  read(events: ReadonlyArray<Event>): void {
    const tradedSeq = new Map<string, number>()
    let current = 0
    for (const { event, step, symbol } of events) {
      if (step !== current) tradedSeq.clear()
      current = step
      switch (event?.$case) {
        case "order_changed": {
          const order = event.value.order!
          assert.isFalse(this.final.has(order.order_id), "a final order changed")
          if (OPEN.has(order.order_status)) this.orders.set(order.order_id, order)
          else {
            this.orders.delete(order.order_id)
            this.final.add(order.order_id)
            assert.strictEqual(order.leaves_qty, "0")
          }
          break
        }
        case "execution_created":
          if (event.value.execution!.exec_type === ExecType.EXEC_TYPE_TRADE)
            tradedSeq.set(symbol!, event.value.execution!.market_seq)
          break
        case "trade_printed":
          for (const trade of event.value.trades) assert.strictEqual(trade.market_seq, tradedSeq.get(symbol!))
          break
        case "position_changed": {
          const position = event.value.position!
          this.positions.set(`${position.sub_account_address} ${position.symbol}`, position)
          break
        }
        case "balance_changed": {
          const balance = event.value.balance!
          this.balances.set(balance.sub_account_address, balance)
          break
        }
        case "book_changed": {
          const { book_seq, bids, asks } = event.value
          const book = this.books.get(symbol!) ?? { seq: 0, bids: new Map(), asks: new Map() }
          assert.strictEqual(book_seq, book.seq + 1, "book_seq has a gap")
          if (tradedSeq.has(symbol!)) assert.strictEqual(tradedSeq.get(symbol!), book_seq)
          book.seq = book_seq
          for (const [levels, side] of [
            [bids, book.bids],
            [asks, book.asks]
          ] as const)
            for (const { price, qty } of levels) {
              assert.notStrictEqual(side.get(price) ?? "0", qty, "a level that did not change was sent")
              if (qty === "0") side.delete(price)
              else side.set(price, qty)
            }
          this.books.set(symbol!, book)
          break
        }
        default:
      }
    }
  }

  /** The marks have moved: records of before are stale in their mark-driven fields. */
  refresh(state: State): void {
    for (const balance of this.balances.values())
      this.balances.set(balance.sub_account_address, Reads.account(state, balance.sub_account_address)!.balances[0]!)
    for (const position of Reads.positions(state, {}))
      this.positions.set(`${position.sub_account_address} ${position.symbol}`, position)
  }

  check(state: State): void {
    for (const { market } of state.markets) {
      const book = Reads.orderBook(state, market.symbol, 0)!
      const mirrored = this.books.get(market.symbol)
      assert.strictEqual(mirrored?.seq ?? 0, book.book_seq)
      assert.deepStrictEqual(
        new Map(book.bids.map(({ price, qty }) => [price, qty])),
        mirrored?.bids ?? new Map<string, string>()
      )
      assert.deepStrictEqual(
        new Map(book.asks.map(({ price, qty }) => [price, qty])),
        mirrored?.asks ?? new Map<string, string>()
      )
    }
    const open = Reads.openOrders(state)
    assert.strictEqual(open.length, this.orders.size)
    for (const order of open) assert.deepStrictEqual(this.orders.get(order.order_id), order)
    for (const position of Reads.positions(state, {}))
      this.sameButAccount(this.positions.get(`${position.sub_account_address} ${position.symbol}`), position)
    for (const [address, balance] of this.balances)
      assert.deepStrictEqual(balance, Reads.account(state, address)!.balances[0])
  }

  /** Liquidation and bust price depend on the whole account, so they may move without an event of the position. */
  private sameButAccount(known: Position | undefined, now: Position): void {
    const strip = (position: Position) => ({ ...position, liq_price: "", bust_price: "", position_im: "" })
    assert.deepStrictEqual(known === undefined ? undefined : strip(known), strip(now))
  }
}
