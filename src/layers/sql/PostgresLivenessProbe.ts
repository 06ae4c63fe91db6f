/** Liveness of a PostgreSQL server, probed in a dedicated session that long statements do not occupy. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect } from "effect"
import * as LivenessProbe from "../../services/operations/LivenessProbe.ts"
import { timedOut } from "./DatabaseTimeout.ts"

/** Probes as long as the scope is open; the server counts as silent after `silence_ms` without a response. */
export const make = (config: PgConnection.Config, silence_ms?: number) =>
  LivenessProbe.make({
    server: "PostgreSQL",
    begin: Effect.map(PgConnection.make(config), (session) => session.query("SELECT 1")),
    late: timedOut,
    silence_ms
  })
