/**
 * Liveness of a server: a probe of its own sends the server a small request several times a second. After {@link SILENCE_MS}
 * without an answer the server counts as silent: calls that wait for it fail, and new calls fail fast until it answers again.
 *
 * The probe asks for next to nothing, so a server that is busy or slow still answers it.
 */
import { Effect, type Scope } from "effect"
import { type SilenceSignal, withTimeout } from "./Timeout.ts"

/** Pause between two probes. */
const EVERY = "200 millis"
/** Longest wait for an answer, in ms: with the pause before it less than a second. */
export const SILENCE_MS = 750
/** Longest wait for a session of the probe, in such waits: it takes a connection, a log-in and what is negotiated. */
const ROUND_TRIPS_TO_BEGIN = 4

/** A server without a probe never counts as silent. */
export const unasked: SilenceSignal = { isSilent: () => false, await: () => () => {} }

/**
 * Probes for as long as the scope is open. `begin` opens a session, which the probe uses until it fails.
 *
 * A session that is refused says nothing: calls fail as fast. One that is accepted and never answered makes the server silent, as an
 * unanswered probe does; otherwise a server that stops answering before the first session, or between two, would never be found out.
 */
export const make = Effect.fnUntraced(function* <E>(options: {
  /** For the log. */
  readonly server: string
  readonly begin: Effect.Effect<Effect.Effect<unknown, E>, E, Scope.Scope>
  /** The failure of a wait that took too long. */
  readonly late: () => E
  readonly silence_ms?: number | undefined
}): Effect.fn.Return<SilenceSignal, never, Scope.Scope> {
  const { begin, late, server, silence_ms = SILENCE_MS } = options
  let isSilent = false
  const waiting = new Set<() => void>()

  const answered = Effect.suspend(() => {
    if (!isSilent) return Effect.void
    isSilent = false
    return Effect.logInfo(`${server} is silent no more`)
  })
  const missed = Effect.suspend(() => {
    if (isSilent) return Effect.void
    isSilent = true
    for (const giveUp of waiting) giveUp()
    return Effect.logWarning(`${server} does not answer: what needs it is refused at once`)
  })
  const opened = Effect.suspend(() => {
    let isLate = false
    const tooLong = () => {
      isLate = true
      return late()
    }
    return Effect.tapError(withTimeout(ROUND_TRIPS_TO_BEGIN * silence_ms, begin, tooLong), () =>
      isLate ? missed : Effect.void
    )
  })
  const probing = Effect.scoped(
    Effect.gen(function* () {
      const ask = yield* opened
      while (true) {
        yield* Effect.tapError(withTimeout(silence_ms, ask, late), () => missed)
        yield* answered
        yield* Effect.sleep(EVERY)
      }
    })
  )
  yield* probing.pipe(Effect.ignore, Effect.andThen(Effect.sleep(EVERY)), Effect.forever, Effect.forkScoped)

  return {
    isSilent: () => isSilent,
    await: (giveUp) => {
      waiting.add(giveUp)
      return () => waiting.delete(giveUp)
    }
  }
})
