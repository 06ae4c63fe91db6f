/** A picture that is drawn again and again: over itself on a terminal, below itself elsewhere. */
import { Effect, Stream } from "effect"
import { TerminalCapabilities } from "effect/cli"

/** Least time between two pictures, in ms. */
const REDRAW_MS = 100

/** Draws every value that comes, or the newest where they come faster; ends after `times` of them. */
export const draw = Effect.fnUntraced(function* <A, E, R>(
  values: Stream.Stream<A, E, R>,
  times: number,
  picture: (value: A) => string
) {
  const { canAnimate } = yield* TerminalCapabilities.TerminalCapabilities
  let lines = 0
  let drawn = 0
  const one = (value: A) =>
    Effect.sync(() => {
      const text = picture(value)
      // back to where the picture before began
      const back = canAnimate && lines > 0 ? `\u001b[${lines}A\u001b[J` : ""
      process.stdout.write(`${back}${text}\n${canAnimate ? "" : "\n"}`)
      lines = text.split("\n").length
      drawn++
    })
  yield* values.pipe(
    Stream.take(times),
    Stream.runForEach((value) => Effect.andThen(one(value), drawn < times ? Effect.sleep(REDRAW_MS) : Effect.void))
  )
})
