/** Waiting for a server that may never answer. */
import { type Context, Effect } from "effect"

/** Patience is counted in steps, one of which is over at most in a turn of the event loop, in ms. */
const STEP_MS = 50

/** Tells who waits that it is in vain. */
export interface SilenceSignal {
  readonly isSilent: () => boolean
  /** Calls back once the server is silent; answers how to leave. */
  readonly await: (giveUp: () => void) => () => void
}

/**
 * Ends after so many ms whether the effect does or not, and at once where the server is known to be silent: a driver waits
 * for the end of what it interrupts, and a transaction cannot be interrupted while it ends. The time is that of the machine, as
 * it is for sockets; time for which this process itself stood still does not count, since an answer may have come meanwhile.
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
