/** A market with a steady number of trades a second: market orders of one user, in turns on both sides of the simulated maker's book. */
import { Effect } from "effect"
import { enlist, SYMBOL } from "../harness/Trader.ts"
import { sleep } from "../harness/Wait.ts"

const QTY = "0.001"
/** Orders without an answer at a time: a slow gateway gets fewer orders, not a queue of them. */
const IN_FLIGHT_MAX = 8

export interface LiveMarket {
  /** Orders that were accepted, and that failed. */
  readonly orders: { accepted: number; failed: number }
  /** Ends it, after the last answer. */
  readonly stop: () => Promise<void>
}

/** Trades until it is stopped. */
export const liveMarket = async (url: string, trades_per_s: number): Promise<LiveMarket> => {
  const { client, vault } = await Effect.runPromise(enlist(url))
  const orders = { accepted: 0, failed: 0 }
  const inFlight = new Set<Promise<void>>()
  const stopping = new AbortController()
  const send = (number: number): void => {
    const side = number % 2 === 0 ? "Buy" : "Sell"
    const payload = { sub_account_address: vault, symbol: SYMBOL, side, order_type: "Market", qty: QTY } as const
    const sent = Effect.runPromise(client.order.create({ payload })).then(
      () => void orders.accepted++,
      () => void orders.failed++
    )
    inFlight.add(sent)
    void sent.then(() => inFlight.delete(sent))
  }
  const pace = async (): Promise<void> => {
    const begin = performance.now()
    for (let number = 0; !stopping.signal.aborted; number++) {
      if (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight)
      send(number)
      // the rate is kept over a pause of this machine
      const ahead_ms = begin + ((number + 1) * 1_000) / trades_per_s - performance.now()
      await sleep(Math.max(0, ahead_ms))
    }
    await Promise.all(inFlight)
  }
  const paced = pace()
  return {
    orders,
    stop: () => {
      stopping.abort()
      return paced
    }
  }
}
