/**
 * Whether a PostgreSQL answers at all: a session of its own is asked all the time. Where it brings no answer for
 * {@link SILENCE_MS}, everybody who waits is told at once, and nobody who comes is made to wait, until it answers again.
 *
 * A statement may take far longer than that: a server that works on one answers another session meanwhile.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, type Scope } from "effect"
import { type Silence, within } from "../Patience.ts"
import { unanswered } from "./Unanswered.ts"

/** Pause between two questions. */
const EVERY = "200 millis"
/** Longest wait for an answer, in ms: with the pause before it less than a second. */
export const SILENCE_MS = 750
/** Longest wait for a session, in ms: it takes several answers to be made. */
const SESSION_MS = 5_000

/** Asks for as long as the scope lives. */
export const make = Effect.fnUntraced(function* (
  config: PgConnection.Config,
  silence_ms: number
): Effect.fn.Return<Silence, never, Scope.Scope> {
  let isSilent = false
  const waiting = new Set<() => void>()

  const heard = Effect.suspend(() => {
    if (!isSilent) return Effect.void
    isSilent = false
    return Effect.logInfo("PostgreSQL answers again")
  })
  const missed = Effect.suspend(() => {
    if (isSilent) return Effect.void
    isSilent = true
    for (const giveUp of waiting) giveUp()
    return Effect.logWarning("PostgreSQL does not answer: what needs it is refused at once")
  })
  const session = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* within(SESSION_MS, PgConnection.make(config), unanswered)
      while (true) {
        yield* Effect.tapError(within(silence_ms, connection.query("SELECT 1"), unanswered), () => missed)
        yield* heard
        yield* Effect.sleep(EVERY)
      }
    })
  )
  // a server that is not there is found out by whoever asks, as fast
  yield* session.pipe(Effect.ignore, Effect.andThen(Effect.sleep(EVERY)), Effect.forever, Effect.forkScoped)

  return {
    isSilent: () => isSilent,
    await: (giveUp) => {
      waiting.add(giveUp)
      return () => waiting.delete(giveUp)
    }
  }
})
