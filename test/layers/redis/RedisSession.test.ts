import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { failed, runSessions } from "../../../src/layers/redis/RedisSession.ts"

describe("sessions", () => {
  it.effect.each([
    ["an error", Effect.fail(failed(new Error("refused")))],
    ["a defect, as for an address that the client cannot read", Effect.die(new TypeError("Invalid URL"))]
  ] as const)("follow each other after a pause of 250 ms, without end: %s", ([, failure]) =>
    Effect.gen(function* () {
      let [begun, ended] = [0, 0]
      const session = Effect.suspend(() => {
        begun++
        return failure
      })
      yield* Effect.forkChild(
        runSessions(
          "commands",
          () => session,
          Effect.sync(() => ended++)
        )
      )
      for (const expected of [1, 2, 3]) {
        yield* TestClock.adjust(0)
        assert.deepStrictEqual([begun, ended], [expected, expected])
        yield* TestClock.adjust(249)
        assert.deepStrictEqual([begun, ended], [expected, expected])
        yield* TestClock.adjust(1)
      }
    })
  )
})
