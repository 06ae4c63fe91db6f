/** Timeouts of calls to a server that may never respond. */
import { type Context, Effect } from "effect"

/** Length of a step of the timeout, in ms; at most one step counts per turn of the event loop. */
const STEP_MS = 50

/** Signals that a server is silent. */
export interface SilenceSignal {
  readonly isSilent: () => boolean
  /** Calls back when the server is silent; returns a function that removes the callback. */
  readonly await: (giveUp: () => void) => () => void
}

/**
 * Completes after `ms` even if the effect does not, and at once if the server is silent. Interruption alone does not
 * suffice: a driver waits for the end of an interrupted call, and a transaction cannot be interrupted while it ends.
 *
 * The time is that of the machine, as it is for sockets. Time during which this process itself was stalled does not
 * count, since a response may have arrived meanwhile.
 */
export const withTimeout = <A, E, R>(
  ms: number,
  effect: Effect.Effect<A, E, R>,
  late: () => NoInfer<E>,
  silence?: SilenceSignal
): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<A, E>((resume) => {
      if (silence?.isSilent() === true) return resume(Effect.fail(late()))
      const fiber = Effect.runForkWith(context)(effect)
      let left = Math.ceil(ms / STEP_MS)
      const timer = setInterval(() => --left <= 0 && giveUp(), STEP_MS)
      const leave = silence?.await(() => giveUp())
      const end = () => {
        clearInterval(timer)
        leave?.()
      }
      const giveUp = () => {
        end()
        resume(Effect.fail(late()))
        fiber.interruptUnsafe()
      }
      fiber.addObserver((exit) => {
        end()
        resume(exit)
      })
      return Effect.sync(() => {
        end()
        fiber.interruptUnsafe()
      })
    })
  )
