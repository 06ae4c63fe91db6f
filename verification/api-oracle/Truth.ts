/**
 * What users must see, from the journal alone: it is replayed, and each private event is written as the contract says. Nothing of the
 * gateway is used. Source: docs/contract/websocket.md#private-topics, #order-book, docs/contract/orders.md#order-record.
 */
import { crc32 } from "node:zlib"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { replay } from "../../src/backend/journal/Replay.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import type { Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { balanceRecord, executionRecord, type Json, orderRecord, positionRecord } from "./Records.ts"

export type Topic = "order" | "execution" | "position" | "account_balance"
export const TOPICS: ReadonlyArray<Topic> = ["order", "execution", "position", "account_balance"]

/** An event of a user: its position in the user's stream is its place in the list, from 1. */
export interface UserEvent {
  readonly seq: number
  readonly topic: Topic
  /** position of the previous event of the topic */
  readonly prev_seq: number
  readonly mts: number
  /** what the record is about: an order, an execution, a position, a balance */
  readonly subject: string
  readonly record: Json
}

/** The levels of a book, best first. */
export interface Levels {
  readonly bids: ReadonlyArray<readonly [price: string, qty: string]>
  readonly asks: ReadonlyArray<readonly [price: string, qty: string]>
}

export const checksumOf = ({ asks, bids }: Levels): number => {
  const parts: Array<string> = []
  for (let i = 0; i < 25; i++)
    for (const side of [bids, asks]) if (side[i] !== undefined) parts.push(side[i]!.join(":"))
  return parts.length === 0 ? 0 : crc32(parts.join(":"))
}

class Book {
  private readonly sides = { bids: new Map<string, string>(), asks: new Map<string, string>() }
  /** the best 50 levels by sequence number, as text */
  readonly states = new Map<number, { readonly text: string; readonly checksum: number }>()

  apply(side: "bids" | "asks", changes: ReadonlyArray<{ readonly price: string; readonly qty: string }>): void {
    for (const { price, qty } of changes)
      if (qty === "0") this.sides[side].delete(price)
      else this.sides[side].set(price, qty)
  }

  keep(seq: number): void {
    const best = (side: "bids" | "asks", sign: number) =>
      [...this.sides[side]].toSorted(([a], [b]) => sign * (Number(a) - Number(b))).slice(0, 50)
    const levels = { bids: best("bids", -1), asks: best("asks", 1) }
    this.states.set(seq, { text: JSON.stringify(levels), checksum: checksumOf(levels) })
  }
}

const PAYERS = { execution: "exec_id", order: "order_id" } as const

export class Truth {
  epoch = ""
  readonly users = new Map<string, Array<UserEvent>>()
  readonly books = new Map<string, Book>()
  /** public trades of a market by sequence number */
  readonly trades = new Map<string, Map<number, Json>>()
  /** what an order paid to the pool, by order */
  readonly liquidationFees = new Map<string, ReadonlyArray<string>>()
  private readonly lastOf = new Map<string, number>()

  /** Replays the journal of a data directory, while the backend runs or not. */
  static read(dataDir: string): Truth {
    const truth = new Truth()
    const journal = Journal.read(journalPath(dataDir))
    try {
      truth.epoch = journal.origin.epoch
      replay(machine, journal, { onEvents: (events) => events.forEach((event) => truth.take(event)) })
    } finally {
      journal.close()
    }
    return truth
  }

  private bookOf(symbol: string): Book {
    const book = this.books.get(symbol) ?? new Book()
    this.books.set(symbol, book)
    return book
  }

  private take({ event, ts_ms, user_id }: Event): void {
    const tell = (topic: Topic, subject: string, record: Json): void => {
      const own = this.users.get(user_id!) ?? []
      this.users.set(user_id!, own)
      const key = `${user_id} ${topic}`
      const seq = own.length + 1
      if (topic === "position" || topic === "account_balance") record["seq"] = seq
      own.push({ seq, topic, prev_seq: this.lastOf.get(key) ?? 0, mts: ts_ms, subject, record })
      this.lastOf.set(key, seq)
    }
    switch (event?.$case) {
      case "order_changed": {
        const record = orderRecord(event.value.order!)
        return tell("order", String(record[PAYERS.order]), record)
      }
      case "execution_created": {
        const record = executionRecord(event.value.execution!)
        return tell("execution", String(record[PAYERS.execution]), record)
      }
      case "position_changed": {
        const record = positionRecord(event.value.position!)
        return tell("position", `${record["sub_account_address"]} ${record["symbol"]}`, record)
      }
      case "balance_changed": {
        const { amount, balance, order_id, reason } = event.value
        const record = balanceRecord(balance!, reason)
        if (record["reason"] === "liquidation_fee" && order_id !== undefined)
          this.liquidationFees.set(order_id, [...(this.liquidationFees.get(order_id) ?? []), amount])
        return tell("account_balance", `${record["sub_account_address"]} ${record["asset"]}`, record)
      }
      case "book_changed": {
        const book = this.bookOf(event.value.symbol)
        book.apply("bids", event.value.bids)
        book.apply("asks", event.value.asks)
        return book.keep(event.value.book_seq)
      }
      case "trade_printed":
        for (const { market_seq, price, qty, symbol, trade_id } of event.value.trades) {
          const known = this.trades.get(symbol) ?? new Map<number, Json>()
          this.trades.set(symbol, known.set(market_seq, { trade_id, price, qty }))
        }
    }
  }
}
