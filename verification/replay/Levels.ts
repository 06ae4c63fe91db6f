/**
 * Plays another exchange's public depth feed: each of its levels is one resting order here, placed, amended and canceled as
 * the feed goes. After every message the books of the gateway equal those of the feed.
 */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { Effect } from "effect"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Level } from "../../src/domain/Market.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { holdIndex, prepare } from "./Gateway.ts"
import type { Contract } from "./Market.ts"
import type { Side } from "./Session.ts"
import { enlist, restingWith, roomiest, type Vault } from "./Traders.ts"
import { type Counts, follow } from "./Watchers.ts"

/** Requests in flight. */
const IN_FLIGHT_MAX = 16
/** Levels a side that REST answers at most, and that a feed has at most. */
const DEPTH = 1000

export interface Message {
  readonly type: "snapshot" | "delta"
  /** Each is one more than the one before. */
  readonly update_id: number
  readonly changes: ReadonlyArray<{ readonly side: Side; readonly price: string; readonly qty: string }>
}

/** Reads the messages of a depth feed, decimals in their canonical form. */
export const readFeed = (file: string): ReadonlyArray<Message> => {
  const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n")
  const changes = (side: Side, levels: ReadonlyArray<Level>) =>
    levels.map(([price, qty]) => ({
      side,
      price: Decimal.format(Decimal.parse(price)),
      qty: Decimal.format(Decimal.parse(qty))
    }))
  return lines.map((line) => {
    const { data, type } = JSON.parse(line) as {
      readonly type: Message["type"]
      readonly data: { readonly b: ReadonlyArray<Level>; readonly a: ReadonlyArray<Level>; readonly u: number }
    }
    return { type, update_id: data.u, changes: [...changes("Buy", data.b), ...changes("Sell", data.a)] }
  })
}

/** The book after a feed's messages: prices and totals in a map, sorted at the end. */
export const naiveBook = (messages: ReadonlyArray<Message>): Record<"bids" | "asks", ReadonlyArray<Level>> => {
  const sides = { Buy: new Map<string, string>(), Sell: new Map<string, string>() }
  for (const { changes, type } of messages) {
    if (type === "snapshot") for (const side of Object.values(sides)) side.clear()
    for (const { price, qty, side } of changes) {
      if (qty === "0") sides[side].delete(price)
      else sides[side].set(price, qty)
    }
  }
  const sorted = (side: Side, sign: number) => [...sides[side]].sort(([a], [b]) => sign * (Number(a) - Number(b)))
  return { bids: sorted("Buy", -1), asks: sorted("Sell", 1) }
}

/** The part of a feed that lies among the first `levels` of either side of its first message. */
export const near = (messages: ReadonlyArray<Message>, levels: number): ReadonlyArray<Message> => {
  const { asks, bids } = naiveBook(messages.slice(0, 1))
  const [low, high] = [Number(bids.slice(0, levels).at(-1)![0]), Number(asks.slice(0, levels).at(-1)![0])]
  const isNear = ({ price }: { readonly price: string }) => Number(price) >= low && Number(price) <= high
  return messages.map((message) => ({ ...message, changes: message.changes.filter(isNear) }))
}

export interface Outcome extends Counts {
  readonly messages: number
  readonly requests: number
  /** The final book of REST. */
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
}

/** An order that is a level. */
interface Held {
  readonly order_id: string
  readonly vault: Vault
}

export const play = async (options: {
  readonly messages: ReadonlyArray<Message>
  readonly subscribers: number
  /** The books are compared after so many messages each. */
  readonly every: number
}): Promise<Outcome> => {
  const { every, messages, subscribers } = options
  const opening = naiveBook(messages.slice(0, 1))
  const contract: Contract = { symbol: "XRP-USDC", tick_size: "0.0001", index_price: opening.bids[0]![0] }
  const place = prepare(contract)
  const gateway = await startGateway(place)
  const counts: Counts = { bookChecks: 0, bookFaults: 0, crossed: 0 }
  let requests = 0
  const { symbol } = contract
  const program = Effect.gen(function* () {
    yield* holdIndex(gateway.url, contract)
    const traders = yield* enlist(gateway.url, () => {})
    const { client } = traders.taker
    const compare = yield* follow(client, symbol, subscribers, counts)
    const held = new Map<string, Held>()

    const follows = ({ price, qty, side }: Message["changes"][number]) =>
      Effect.gen(function* () {
        const trader = restingWith(traders, side)
        const key = `${side} ${price}`
        const known = held.get(key)
        requests++
        if (known === undefined) {
          const vault = roomiest(trader)
          vault.open++
          const payload = { symbol, side, qty, price, order_type: "Limit" as const, sub_account_address: vault.address }
          const { order_id } = yield* trader.client.order.create({ payload })
          return void held.set(key, { order_id, vault })
        }
        const order = { symbol, sub_account_address: known.vault.address, order_id: known.order_id }
        if (qty !== "0") return void (yield* trader.client.order.amend({ payload: { ...order, qty } }))
        yield* trader.client.order.cancel({ payload: order })
        known.vault.open--
        held.delete(key)
      })
    for (const [i, message] of messages.entries()) {
      // what leaves goes first: else a bid may meet an ask that is gone by the end of the message
      const leaves = message.changes.filter(({ qty }) => qty === "0")
      const stays = message.changes.filter(({ qty }) => qty !== "0")
      for (const changes of [leaves, stays]) {
        yield* Effect.forEach(changes, follows, { concurrency: IN_FLIGHT_MAX, discard: true })
      }
      if ((i + 1) % every > 0 && i + 1 < messages.length) continue
      yield* compare
      const rest = yield* client.market.orderbook({ query: { symbol, depth: DEPTH } })
      const wanted = naiveBook(messages.slice(0, i + 1))
      if (JSON.stringify([rest.bids, rest.asks]) !== JSON.stringify([wanted.bids, wanted.asks])) {
        return yield* Effect.die(new Error(`after update ${message.update_id} the book is not the feed's`))
      }
    }
    const { asks, bids } = yield* client.market.orderbook({ query: { symbol, depth: DEPTH } })
    return { ...counts, messages: messages.length, requests, bids, asks }
  })
  try {
    return await Effect.runPromise(Effect.scoped(program))
  } finally {
    await gateway.stop()
    place.remove()
  }
}
