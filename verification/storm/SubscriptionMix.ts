/** The subscriptions of many sockets: half follow a ticker, a quarter a book, a quarter all private topics of a user. */
import { SYMBOL, type Trader } from "../harness/Trader.ts"
import type { Subscription } from "./ReconnectingClient.ts"

/** The subscription of the i-th socket. */
export const subscriptionOf = (users: ReadonlyArray<Pick<Trader, "token">>, i: number): Subscription => {
  if (i % 4 === 3) return { token: users[((i - 3) / 4) % users.length]!.token }
  return { topic: i % 4 === 2 ? `orderbook.50.${SYMBOL}` : `ticker.${SYMBOL}` }
}
