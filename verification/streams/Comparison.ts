/** What each client holds, compared with REST once nothing happens any more. */
import { Effect } from "effect"
import { differences, type Follower } from "./Follower.ts"
import type { Findings } from "./StreamChecker.ts"
import { LEVEL_MS, LOOK_MS, standingOf } from "./RestState.ts"

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

/**
 * Compares each client of a user with REST, and notes what differs and what was never told; answers how many there were, and how
 * many of them had a hole since they were compared last.
 */
export const compareUser = Effect.fnUntraced(function* (
  url: string,
  user: Parameters<typeof standingOf>[1],
  followers: ReadonlyArray<Follower>,
  findings: Findings
) {
  const standing = yield* Effect.promise(() => standingOf(url, user))
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
