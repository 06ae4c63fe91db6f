/** Reads a list of a backend page by page, up to a limit: a list without an end is a fault of the backend. */
import { Effect } from "effect"

/** Most pages of one list; a list of a whole exchange has some hundreds. */
export const PAGES_MAX = 1_000

/** All items. `as_of_seq` is that of the first page: a reader that follows events from there misses none. */
export const allPages = <Res extends { readonly next_page_token: string; readonly as_of_seq: number }, A, E, E2>(
  page: (page_token: string) => Effect.Effect<Res, E>,
  items: (response: Res) => ReadonlyArray<A>,
  endless: (cause: Error) => E2
): Effect.Effect<{ readonly all: ReadonlyArray<A>; readonly as_of_seq: number }, E | E2> =>
  Effect.gen(function* () {
    const all: Array<A> = []
    let response = yield* page("")
    const { as_of_seq } = response
    for (let pages = 1; ; pages++) {
      for (const item of items(response)) all.push(item)
      if (response.next_page_token === "") return { all, as_of_seq }
      if (pages === PAGES_MAX) return yield* Effect.fail(endless(new Error(`a list of more than ${PAGES_MAX} pages`)))
      response = yield* page(response.next_page_token)
    }
  })
