/** Liveness of a PostgreSQL, probed in a session of its own, so that long statements of others do not count. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect } from "effect"
import * as LivenessProbe from "../../services/operations/LivenessProbe.ts"
import { unanswered } from "./DatabaseTimeout.ts"

/** Probes for as long as the scope is open; silent after `silence_ms` without an answer. */
export const make = (config: PgConnection.Config, silence_ms?: number) =>
  LivenessProbe.make({
    server: "PostgreSQL",
    begin: Effect.map(PgConnection.make(config), (session) => session.query("SELECT 1")),
    late: unanswered,
    silence_ms
  })
