/** What each client holds, compared with REST once nothing happens any more. */
import { Effect } from "effect"
import { differences, type Follower, type Standing } from "./Follower.ts"
import type { Findings } from "./Ledger.ts"

/** Longest wait for all clients to be level with REST, in ms. */
const LEVEL_MS = 120_000
export const LOOK_MS = 20

/** Waits until `what` answers nothing that is missing. */
export const waitFor = Effect.fnUntraced(function* (what: () => string | undefined) {
  const deadline = performance.now() + LEVEL_MS
  for (;;) {
    const missing = what()
    if (missing === undefined) return
    if (performance.now() > deadline) return yield* Effect.die(new Error(`not within ${LEVEL_MS} ms: ${missing}`))
    yield* Effect.sleep(LOOK_MS)
  }
})

/** What REST tells of a user, read until nothing happened meanwhile. */
const standingOf = async (url: string, token: string): Promise<Standing> => {
  const headers = { authorization: `Bearer ${token}` }
  const read = async (path: string) => {
    // a connection of before a kill may break under the first request
    const answer = await fetch(`${url}/api/v1${path}`, { headers }).catch(() => undefined)
    if (answer?.status !== 200) return undefined
    return (await answer.json()) as { readonly list: Array<object>; readonly stream_id: string; readonly seq: number }
  }
  const deadline = performance.now() + LEVEL_MS
  while (performance.now() < deadline) {
    const lists = [
      await read("/order/realtime?limit=200"),
      await read("/position/list"),
      await read("/account/balances")
    ]
    const [orders, positions, balances] = lists
    if (orders && positions && balances && orders.seq === positions.seq && orders.seq === balances.seq) {
      const { seq, stream_id } = orders
      return { stream_id, seq, orders: orders.list, positions: positions.list, balances: balances.list }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  throw new Error("the lists of REST do not come to rest")
}

/**
 * Compares each client of a user with REST, and notes what differs and what was never told; answers how many there were, and how
 * many of them had a hole since they were compared last.
 */
export const compareUser = Effect.fnUntraced(function* (
  url: string,
  { token }: { readonly token: string },
  followers: ReadonlyArray<Follower>,
  findings: Findings
) {
  const standing = yield* Effect.promise(() => standingOf(url, token))
  let afterHole = 0
  for (const follower of followers) {
    yield* waitFor(() => {
      const { live, seq } = follower.account()
      return live && seq >= standing.seq
        ? undefined
        : `${follower.name} is at ${seq}, live: ${live}; REST at ${standing.seq}`
    })
    findings.faults.push(...differences(follower, standing))
    follower.ledger.audit(standing.seq)
    if (follower.unchecked) afterHole++
    follower.unchecked = false
  }
  return { compared: followers.length, afterHole }
})
