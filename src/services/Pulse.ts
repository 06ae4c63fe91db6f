/**
 * Whether a server answers at all: it is asked all the time. Where it brings no answer for {@link SILENCE_MS}, everybody who
 * waits is told at once, and nobody who comes is made to wait, until it answers again.
 *
 * What is asked is next to nothing: a server that works on something long, or is slow, answers it meanwhile.
 */
import { Effect, type Scope } from "effect"
import { type Silence, within } from "./Patience.ts"

/** Pause between two questions. */
const EVERY = "200 millis"
/** Longest wait for an answer, in ms: with the pause before it less than a second. */
export const SILENCE_MS = 750

/** A server that nobody asks is never called silent. */
export const unasked: Silence = { isSilent: () => false, await: () => () => {} }

/**
 * Asks for as long as the scope lives. `begin` makes a way to ask, which is used until it fails; a server to which there is no
 * way is found out by whoever needs it, as fast.
 */
export const make = Effect.fnUntraced(function* <E>(options: {
  /** For the log. */
  readonly server: string
  readonly begin: Effect.Effect<Effect.Effect<unknown, E>, E, Scope.Scope>
  readonly late: () => E
  readonly silence_ms?: number | undefined
}): Effect.fn.Return<Silence, never, Scope.Scope> {
  const { begin, late, server, silence_ms = SILENCE_MS } = options
  let isSilent = false
  const waiting = new Set<() => void>()

  const heard = Effect.suspend(() => {
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
  const asking = Effect.scoped(
    Effect.gen(function* () {
      const ask = yield* begin
      while (true) {
        yield* Effect.tapError(within(silence_ms, ask, late), () => missed)
        yield* heard
        yield* Effect.sleep(EVERY)
      }
    })
  )
  yield* asking.pipe(Effect.ignore, Effect.andThen(Effect.sleep(EVERY)), Effect.forever, Effect.forkScoped)

  return {
    isSilent: () => isSilent,
    await: (giveUp) => {
      waiting.add(giveUp)
      return () => waiting.delete(giveUp)
    }
  }
})
