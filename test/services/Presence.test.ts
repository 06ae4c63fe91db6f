import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Presence } from "../../src/services/Presence.ts"

describe("presence", () => {
  it.effect("tells of a user's first connection and of the last one, for as long as somebody watches", () =>
    Effect.gen(function* () {
      const presence = yield* Presence
      const seen: Array<string> = []
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* presence.watch((user_id, here) => void seen.push(`${here ? "+" : "-"}${user_id}`))
          presence.came("a")
          presence.came("b")
          presence.came("a")
          presence.went("a")
          assert.isTrue(presence.isHere("a"))
          presence.went("a")
          presence.went("a")
          assert.isFalse(presence.isHere("a"))
          presence.came("a")
        })
      )
      presence.went("b")
      assert.deepStrictEqual(seen, ["+a", "+b", "-a", "+a"])
    }).pipe(Effect.provide(Presence.layer))
  )
})
