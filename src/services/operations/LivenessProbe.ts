/**
 * Liveness of a server: a probe sends the server a small request several times a second while calls are pending, and once
 * a second otherwise. After {@link SILENCE_MS} without a response the server counts as silent: pending calls fail, and new
 * calls fail fast until it responds again.
 *
 * The request is so small that a busy or slow server still answers it.
 */
import { Effect, Latch, type Scope } from "effect"
import * as Daemon from "./Daemon.ts"
import { type SilenceSignal, withTimeout } from "./Timeout.ts"

/** Pause between two probes while calls are pending, or while the server is silent. */
const EVERY = "200 millis"
/** What is added to the pause while no call is pending: the next call ends it. */
const IDLE = "800 millis"
/** Longest wait for a response, in ms; together with the pause less than a second. */
export const SILENCE_MS = 750
/**
 * Longest wait for a session of the probe, as a multiple of the response wait: it takes a connection, a login and
 * negotiation.
 */
const ROUND_TRIPS_TO_BEGIN = 4

/** The signal of a server without a probe: never silent. */
export const neverSilent: SilenceSignal = { isSilent: () => false, await: () => () => {} }

/**
 * Probes until the scope closes. `begin` opens a session, which the probe uses until it fails.
 *
 * A refused session does not make the server silent, because calls fail as fast. A session that is accepted and never
 * answered does, as an unanswered probe does; otherwise a server that stops responding before or between sessions
 * would remain undetected.
 */
export const make = Effect.fnUntraced(function* <E>(options: {
  /** Name for the log. */
  readonly server: string
  readonly begin: Effect.Effect<Effect.Effect<unknown, E>, E, Scope.Scope>
  /** The error of a timeout. */
  readonly late: () => E
  readonly silence_ms?: number | undefined
}): Effect.fn.Return<SilenceSignal, never, Scope.Scope> {
  const { begin, late, server, silence_ms = SILENCE_MS } = options
  let isSilent = false
  const waiting = new Set<() => void>()
  /** Open while calls are pending. */
  const called = Latch.makeUnsafe(false)

  const answered = Effect.suspend(() => {
    if (!isSilent) return Effect.void
    isSilent = false
    return Effect.logInfo(`${server} responds again`)
  })
  const missed = Effect.suspend(() => {
    if (isSilent) return Effect.void
    isSilent = true
    // callbacks remove themselves, and may begin other calls
    for (const giveUp of Array.from(waiting)) giveUp()
    return Effect.logWarning(`${server} does not respond: calls to it fail fast`)
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
  const pause = Effect.andThen(
    Effect.sleep(EVERY),
    Effect.suspend(() => (isSilent ? Effect.void : Effect.timeoutOption(called.await, IDLE)))
  )
  const probing = Effect.scoped(
    Effect.gen(function* () {
      const request = yield* opened
      while (true) {
        yield* Effect.tapError(withTimeout(silence_ms, request, late), () => missed)
        yield* answered
        yield* pause
      }
    })
  )
  yield* probing.pipe(Effect.ignore, Effect.andThen(Effect.sleep(EVERY)), Daemon.repeat(`probe of ${server}`))

  return {
    isSilent: () => isSilent,
    await: (giveUp) => {
      waiting.add(giveUp)
      // later: the probe may fail at once, and would call back before the caller has its subscription
      if (!called.isOpen()) queueMicrotask(() => waiting.size > 0 && called.openUnsafe())
      return () => {
        waiting.delete(giveUp)
        if (waiting.size === 0) called.closeUnsafe()
      }
    }
  }
})
