/**
 * Reads of what was shown: of the history, where it is written already, with the unwritten rows laid over it or after a wait.
 * Source: docs/contract/boundary.md#read-models.
 */
import { Effect } from "effect"
import type { Projection } from "../../domain/Projection.ts"
import type { History, HistoryUnavailable } from "../History.ts"
import type { Backlog } from "./Backlog.ts"
import * as ShownRows from "./ShownRows.ts"
import { type Shown, WrittenHistory } from "./WrittenHistory.ts"

/**
 * @param stored - the history; its reads do not wait
 * @param backlog - what is shown and not written
 * @param reached - waits until the history is written up to a seq; false: that takes too long
 */
export const make = (
  stored: History["Service"],
  backlog: () => Backlog,
  reached: (seq: number) => Effect.Effect<boolean>
): WrittenHistory["Service"] => {
  const user = (user_id: string) => Effect.suspend(() => reached(backlog().userSeq(user_id)))
  /**
   * Reads rows of a user and lays the unwritten ones over them. Where it cannot (`rowsOf` or `over` is undefined), it waits
   * until the history has them, and reads `waited`.
   */
  const shown = Effect.fnUntraced(function* <A>(
    user_id: string,
    waited: Effect.Effect<A, HistoryUnavailable>,
    over: (rows: A, projections: ReadonlyArray<Projection>) => A | undefined,
    rowsOf: (projections: ReadonlyArray<Projection>) => typeof waited | undefined = () => waited
  ): Effect.fn.Return<Shown<A>, HistoryUnavailable> {
    const current = backlog()
    if (current.userSeq(user_id) === 0) return { rows: yield* waited, isComplete: true }
    const { after, projections } = current.view()
    const read = rowsOf(projections)
    if (read !== undefined) {
      const { at, value } = yield* stored.momentAndPosition(read)
      const later = after(at)
      const rows = later && over(value, later)
      if (rows !== undefined) return { rows, isComplete: true }
    }
    const isComplete = yield* user(user_id)
    return { rows: yield* waited, isComplete }
  })
  return WrittenHistory.of({
    reached,
    user,
    market: (symbol) => Effect.suspend(() => reached(backlog().marketSeq(symbol))),
    all: Effect.suspend(() => reached(backlog().seq)),
    head: (user_id) => backlog().writtenHead(user_id),
    openOrders: (query) =>
      shown(
        query.user_id,
        stored.orders(query),
        (rows, projections) => ShownRows.openOrders(query, rows, projections),
        (projections) => {
          // the page has room for the new orders
          const limit = query.limit - ShownRows.newOrdersMax(query, projections)
          return limit < 1 ? undefined : stored.orders({ ...query, limit })
        }
      ),
    lastRecords: (user_id, topic) =>
      shown(user_id, stored.lastRecords(user_id, topic), (rows, projections) =>
        ShownRows.lastRecords(user_id, topic, rows, projections)
      ),
    subAccounts: (user_id) =>
      shown(user_id, stored.subAccounts(user_id), (rows, projections) =>
        ShownRows.subAccounts(user_id, rows, projections)
      )
  })
}
