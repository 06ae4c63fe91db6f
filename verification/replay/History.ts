/** Checks that every acknowledged order is in its owner's history exactly once, by walking the whole list. */
import { Effect, Schedule } from "effect"
import type { Traders } from "./Traders.ts"

export interface Found {
  readonly orders: number
  readonly missing: ReadonlyArray<string>
  readonly doubled: ReadonlyArray<string>
}

/** Time that the read model has to catch up with what was acknowledged, in ms. */
const CATCH_UP_MS = 20_000

const walk = Effect.fnUntraced(function* (
  traders: Traders,
  acknowledged: ReadonlySet<string>
): Effect.fn.Return<Found, unknown> {
  const seen = new Set<string>()
  const doubled: Array<string> = []
  let orders = 0
  for (const { client } of Object.values(traders)) {
    let cursor = ""
    do {
      const page: { readonly list: ReadonlyArray<{ readonly order_id: string }>; readonly next_page_cursor: string } =
        yield* client.order.history({ query: cursor === "" ? { limit: 200 } : { limit: 200, cursor } }).pipe(
          // a gateway that has just come back may still call its backend lagging
          Effect.retry({ times: 200, schedule: Schedule.spaced(50) })
        )
      for (const { order_id } of page.list) {
        orders++
        if (seen.has(order_id)) doubled.push(order_id)
        seen.add(order_id)
      }
      cursor = page.next_page_cursor
    } while (cursor !== "")
  }
  const missing = [...acknowledged].filter((id) => !seen.has(id))
  return { orders, missing, doubled }
})

/** Walks the histories until all acknowledged orders are there, or the read model had its time. */
export const check = Effect.fnUntraced(function* (
  traders: Traders,
  acknowledged: ReadonlySet<string>
): Effect.fn.Return<Found, unknown> {
  const deadline = performance.now() + CATCH_UP_MS
  for (;;) {
    const found = yield* walk(traders, acknowledged)
    if (found.missing.length === 0 || performance.now() > deadline) return found
    yield* Effect.sleep(100)
  }
})
