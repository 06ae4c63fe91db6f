/** Compares what clients hold with REST while nobody trades. */
import type { LocalBook } from "../../src/client/index.ts"
import { until } from "../harness/Wait.ts"
import type { Trader } from "../harness/Trader.ts"
import { DEPTH, differences, type Follower } from "./Follower.ts"
import { restStateOf } from "./RestState.ts"
import type { Findings } from "./StreamChecker.ts"

/**
 * Compares each client of a user with REST at the same position, and records differences and missing events. Returns how many
 * clients there are, and how many of them had a gap since the last comparison.
 */
export const compareUser = async (
  url: string,
  user: Pick<Trader, "token">,
  followers: ReadonlyArray<Follower>,
  findings: Findings
): Promise<{ readonly compared: number; readonly afterGap: number }> => {
  let rest = await restStateOf(url, user)
  let afterGap = 0
  for (const follower of followers) {
    const { account, checker, name } = follower
    await until(
      () => `${name} is at ${account().seq}, live: ${account().live}; REST at ${rest.seq}`,
      async () => {
        // the first snapshot has the newest position already, and the state is complete with the last one
        if (!account().live || !checker.hasBegun) return false
        // some events are throttled and follow the last command by up to a second
        if (account().seq > rest.seq) rest = await restStateOf(url, user)
        return account().seq === rest.seq
      }
    )
    findings.faults.push(...differences(follower, rest))
    checker.audit(rest.seq)
    if (follower.unchecked) afterGap++
    follower.unchecked = false
  }
  return { compared: followers.length, afterGap }
}

/** Waits until a book is equal to that of REST. */
export const compareBook = (
  name: string,
  bookOf: () => Pick<LocalBook, "bids" | "asks" | "sound"> | undefined,
  rest: { readonly bids: unknown; readonly asks: unknown }
): Promise<true> =>
  until(`${name} is that of REST`, () => {
    const book = bookOf()
    if (book?.sound !== true) return false
    return JSON.stringify([book.bids(DEPTH), book.asks(DEPTH)]) === JSON.stringify([rest.bids, rest.asks])
  })
