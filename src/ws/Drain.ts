/**
 * Closes all connections at shutdown, spread over `drain_ms`, so that clients do not reconnect all at once.
 * Source: docs/contract/configuration.md#shutdown.
 */
import { Clock, Effect } from "effect"
import type { Connection } from "./Connection.ts"
import type { Limits } from "./Limits.ts"

/** Time between two steps of the drain, in ms. */
const DRAIN_STEP_MS = 20

/**
 * How many of `count` connections must be closed after `passed_ms` of a drain; the first closes at once. The number follows the
 * clock: with many connections the pause between two is shorter than a timer can be.
 */
export const dueOf = (count: number, passed_ms: number, drain_ms: number): number =>
  passed_ms >= drain_ms ? count : Math.min(count, 1 + Math.floor((passed_ms / drain_ms) * count))

/** Announces the shutdown, closes the connections, and terminates those whose peer does not answer the close frame. */
export const drain = Effect.fnUntraced(function* (connections: ReadonlySet<Connection>, limits: Limits) {
  const open = [...connections]
  for (const connection of open) connection.announce()
  const clock = yield* Clock.Clock
  const from = clock.monotonicTimeNanosUnsafe()
  for (let ended = 0; ;) {
    const passed_ms = Number((clock.monotonicTimeNanosUnsafe() - from) / 1_000_000n)
    const due = dueOf(open.length, passed_ms, limits.drain_ms)
    while (ended < due) open[ended++]!.end("GoingAway")
    if (ended === open.length) break
    yield* Effect.sleep(DRAIN_STEP_MS)
  }
  for (let waited = 0; connections.size > 0 && waited < limits.close_timeout_ms; waited += DRAIN_STEP_MS) {
    yield* Effect.sleep(DRAIN_STEP_MS)
  }
  for (const connection of connections) connection.terminate()
})
