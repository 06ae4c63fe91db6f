/**
 * A client's view from the event stream: books, open orders, positions and balances built from events alone. It must
 * always equal the reads.
 */
import { assert } from "@effect/vitest"
import type { State } from "../../src/backend/engine/Engine.ts"
import * as Reads from "../../src/backend/engine/Reads.ts"
import type { Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { type Balance, type Order, OrderStatus, type Position } from "../../src/proto/gateway/v1/types.ts"

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
  /** market sequence of the last fill and of the last trade that was printed */
  readonly fills = new Map<string, number>()
  readonly traded = new Map<string, number>()

  read(events: ReadonlyArray<Event>): void {
    for (const { event, symbol } of events) {
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
        case "execution_created": {
          const { exec_type, is_maker, market_seq } = event.value.execution!
          const last = this.fills.get(symbol!) ?? 0
          // the maker has the opposite side of the taker; the internal account of a pool has no events
          if (is_maker && last === market_seq) break
          assert.isAbove(market_seq, last, `a fill of type ${exec_type} does not raise the sequence of its market`)
          assert.isAbove(market_seq, this.books.get(symbol!)?.seq ?? 0, "a fill lies behind the book")
          this.fills.set(symbol!, market_seq)
          break
        }
        case "trade_printed": {
          let last = this.traded.get(symbol!) ?? 0
          for (const { market_seq } of event.value.trades) {
            assert.isAbove(market_seq, last, "a trade does not raise the sequence of its market")
            last = market_seq
          }
          this.traded.set(symbol!, last)
          break
        }
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
          const { book_seq, prev_book_seq, bids, asks } = event.value
          const book = this.books.get(symbol!) ?? { seq: 0, bids: new Map(), asks: new Map() }
          assert.strictEqual(prev_book_seq, book.seq, "book_seq has a gap")
          assert.isAbove(book_seq, Math.max(book.seq, this.fills.get(symbol!) ?? 0), "a book lies behind its fills")
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

  /** The marks have moved: mark-driven fields of earlier records are stale. */
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
    const waiting = new Set(
      [...state.waiting].map(({ account, market }) => `${account.address} ${market.market.symbol}`)
    )
    for (const position of Reads.positions(state, {})) {
      const key = `${position.sub_account_address} ${position.symbol}`
      const known = this.positions.get(key)
      if (waiting.has(key)) this.sameButAccount(known, position)
      else assert.deepStrictEqual(known, position)
    }
    for (const [address, balance] of this.balances)
      assert.deepStrictEqual(balance, Reads.account(state, address)!.balances[0])
  }

  /** Changes caused by the account, its orders or other positions may follow in the next second. */
  private sameButAccount(known: Position | undefined, now: Position): void {
    const strip = (position: Position) => ({
      ...position,
      liq_price: "",
      bust_price: "",
      position_im: "",
      adl_rank_indicator: 0
    })
    assert.deepStrictEqual(known === undefined ? undefined : strip(known), strip(now))
  }
}
