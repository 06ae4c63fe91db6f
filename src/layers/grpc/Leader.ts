/**
 * Which of several backends leads. They share a journal, and only the leader is SERVING: the health of each is checked ten
 * times a second. While none serves, calls go to the last one that did.
 * Source: docs/contract/boundary.md#several-backends.
 */
import { Effect, type Scope } from "effect"
import * as Daemon from "../../services/operations/Daemon.ts"
import type { Connection } from "./Connection.ts"
import { HealthCheckResponse_ServingStatus as Serving, HealthService } from "../../proto/grpc/health/v1/health.ts"

/** Pause between two checks, in ms. */
const EVERY_MS = 100
/** Longest wait for a response, in ms: with the pause less than a second. */
const RESPONSE_MS = 750
/** The service whose status is that of the backend. */
const SERVICE = "gateway.v1.Sequencer"

export interface Leader {
  readonly connection: () => Connection
  /**
   * Calls back when another backend leads; returns a function that removes the callback. `isAlive`: the previous one still
   * responds, so it answers what was sent to it.
   */
  readonly onMove: (moved: (isAlive: boolean) => void) => () => void
}

type Health = "serving" | "standing by" | "silent"

const healthOf = (connection: Connection): Effect.Effect<Health> =>
  Effect.callback((resume) => {
    const options = { deadline_ms: RESPONSE_MS }
    const cancel = connection.unary(HealthService.check, { service: SERVICE }, options, (error, response) =>
      resume(
        Effect.succeed(error !== null ? "silent" : response?.status === Serving.SERVING ? "serving" : "standing by")
      )
    )
    return Effect.sync(cancel)
  })

/** Checks until the scope closes. A single backend is not checked. */
export const make = Effect.fnUntraced(function* (
  connections: ReadonlyArray<Connection>
): Effect.fn.Return<Leader, never, Scope.Scope> {
  let current = 0
  const callbacks = new Set<(isAlive: boolean) => void>()
  const health = connections.map((): Health => "silent")
  const choose = () => {
    const previous = health[current]
    const next = previous === "serving" ? current : health.indexOf("serving")
    if (next === -1 || next === current) return
    current = next
    for (const moved of callbacks) moved(previous !== "silent")
  }
  if (connections.length > 1)
    for (const [i, connection] of connections.entries())
      yield* healthOf(connection).pipe(
        Effect.map((now) => {
          health[i] = now
          choose()
        }),
        Effect.andThen(Effect.sleep(EVERY_MS)),
        Daemon.repeat("which backend leads")
      )
  return {
    connection: () => connections[current]!,
    onMove: (moved) => {
      callbacks.add(moved)
      return () => callbacks.delete(moved)
    }
  }
})
