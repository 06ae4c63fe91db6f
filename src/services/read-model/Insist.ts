/** Repetition of what the read model needs to go on: pauses of 50 ms, doubled, up to 2 s. */
import { Effect, Schedule } from "effect"

export const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])

/** Retries without a limit; logs every failure. */
export const insist = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
  effect.pipe(
    Effect.tapCause((cause) => Effect.logError(`${what} failed`, cause)),
    // a defect too, such as a damaged record: an operator repairs it while the gateway runs
    Effect.sandbox,
    Effect.retry(backOff),
    Effect.orDie
  )
