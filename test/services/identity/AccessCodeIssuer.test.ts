import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { AccessCodeIssuer } from "../../../src/services/identity/AccessCodeIssuer.ts"
import { policies } from "../../http/Fixture.ts"

describe("the issue of access codes", () => {
  it.effect("refuses an expiry that is not in the future, and names the first one that is", () => {
    const made: Array<number | undefined> = []
    const accessCodes = {
      create: (codes: ReadonlyArray<{ readonly expires_time?: number }>) =>
        Effect.sync(() => void made.push(...codes.map(({ expires_time }) => expires_time)))
    }
    return Effect.gen(function* () {
      yield* TestClock.setTime(1_000)
      const { issue } = yield* AccessCodeIssuer
      const refused = yield* Effect.flip(issue({ expires_time: 1_000 }))
      assert.deepInclude(refused, { reason: "OutOfRange", details: { field: "expires_time", min: 1_001 } })
      yield* issue({ expires_time: 1_001 })
      assert.deepStrictEqual(made, [1_001])
    }).pipe(Effect.provide(policies({ accessCodes })))
  })
})
