/** Waiting on the virtual clock. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "vitest"

/** Turns of the fibers that are waited at most; every tenth lets time pass. */
const TURNS_MAX = 2_000

/** Lets fibers run, and time pass a little, until something holds. */
export const eventually = (what: string, condition: () => boolean) =>
  Effect.gen(function* () {
    for (let i = 0; i < TURNS_MAX; i++) {
      if (condition()) return
      yield* Effect.yieldNow
      if (i % 10 === 9) yield* TestClock.adjust("50 millis")
    }
    assert.fail(`it never came to this: ${what}`)
  })
