/** Lists that are read page by page. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { allPages, PAGES_MAX } from "../../../src/layers/grpc/Pages.ts"

/** A list of `count` pages; page n has the item n and the position 100 + n. */
const read = (count: number) => {
  const tokens: Array<string> = []
  const page = (token: string) =>
    Effect.sync(() => {
      tokens.push(token)
      const n = token === "" ? 1 : Number(token)
      return { item: n, as_of_seq: 100 + n, next_page_token: n === count ? "" : String(n + 1) }
    })
  const all = allPages(
    page,
    ({ item }) => [item],
    ({ message }) => message
  )
  return { all, tokens }
}

describe("a list of several pages", () => {
  it.effect("has the items of all pages in order, and the position of the first", () =>
    Effect.gen(function* () {
      const { all, tokens } = read(3)
      // events between the pages are after this position, so that a reader which follows from it misses none
      assert.deepStrictEqual(yield* all, { all: [1, 2, 3], as_of_seq: 101 })
      assert.deepStrictEqual(tokens, ["", "2", "3"])
    })
  )

  it.effect("may have as many pages as the limit, and fails with one more", () =>
    Effect.gen(function* () {
      assert.lengthOf((yield* read(PAGES_MAX).all).all, PAGES_MAX)
      const longer = read(PAGES_MAX + 1)
      assert.include(yield* Effect.flip(longer.all), String(PAGES_MAX))
      assert.lengthOf(longer.tokens, PAGES_MAX)
    })
  )

  it.effect("fails with its first page that fails, and returns no part of it", () =>
    Effect.gen(function* () {
      const page = (token: string) =>
        token === "" ? Effect.succeed({ as_of_seq: 1, next_page_token: "2" }) : Effect.fail("lost")
      const all = allPages(
        page,
        () => [1],
        () => "endless"
      )
      assert.strictEqual(yield* Effect.flip(all), "lost")
    })
  )
})
