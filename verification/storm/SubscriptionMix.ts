/** What many sockets follow, and whose. */
import { Effect, Schedule } from "effect"
import { enlist, type Trader } from "../harness/Trader.ts"
import { SYMBOL } from "../streams/Follower.ts"
import type { Wish } from "./ReconnectingClient.ts"

/** Requests that a busy machine did not answer in time are made again. */
const PATIENT = { times: 20, schedule: Schedule.spaced("500 millis") }

/** So many new users with money. */
export const enlistAll = (url: string, users: number): Promise<ReadonlyArray<Trader>> =>
  Effect.runPromise(
    Effect.all(
      Array.from({ length: users }, () => Effect.retry(enlist(url), PATIENT)),
      { concurrency: 4 }
    )
  )

/** Half of the sockets follow a ticker, a quarter a book, a quarter all that is told to one of the users. */
export const wishOf = (users: ReadonlyArray<Trader>, i: number): Wish => {
  if (i % 4 === 3) return { token: users[((i - 3) / 4) % users.length]!.token }
  return { topic: i % 4 === 2 ? `orderbook.50.${SYMBOL}` : `ticker.${SYMBOL}` }
}
