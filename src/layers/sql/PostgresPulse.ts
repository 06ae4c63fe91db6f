/** Whether a PostgreSQL answers at all: a session of its own is asked all the time, whatever the others work on. */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect } from "effect"
import { within } from "../../services/Patience.ts"
import * as Pulse from "../../services/Pulse.ts"
import { unanswered } from "./Unanswered.ts"

/** Longest wait for a session, in ms: it takes several answers to be made. */
const SESSION_MS = 5_000

/** Asks for as long as the scope lives; silent after `silence_ms` without an answer. */
export const make = (config: PgConnection.Config, silence_ms?: number) =>
  Pulse.make({
    server: "PostgreSQL",
    begin: Effect.map(within(SESSION_MS, PgConnection.make(config), unanswered), (session) =>
      session.query("SELECT 1")
    ),
    late: unanswered,
    silence_ms
  })
