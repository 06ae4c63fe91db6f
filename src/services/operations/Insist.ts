/** Work that must succeed before anything else can go on: it is repeated, after pauses of 50 ms, doubled, up to 2 s. */
import { Cause, Effect, Schedule } from "effect"

export const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])

/** Repeats an effect until it succeeds, without a limit. Each failure is logged; `what` names the work. */
export const insist = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
  effect.pipe(
    Effect.tapCause((cause) =>
      Cause.hasDies(cause) ? Effect.logError(`${what} failed`, cause) : Effect.logWarning(`${what} failed`, cause)
    ),
    // a defect too, such as a damaged record: an operator repairs it while the gateway runs
    Effect.sandbox,
    Effect.retry(backOff),
    Effect.orDie
  )
