/** A live view: on a terminal each redraw replaces the last, elsewhere it is appended. */
import { Effect, Stream } from "effect"
import { TerminalCapabilities } from "effect/cli"

/** Shortest time between two redraws, in ms. */
const REDRAW_MS = 100

/** Draws each value, or the newest one when values arrive faster than redraws. Ends after `times` redraws. */
export const draw = Effect.fnUntraced(function* <A, E, R>(
  values: Stream.Stream<A, E, R>,
  times: number,
  render: (value: A) => string
) {
  const { canAnimate } = yield* TerminalCapabilities.TerminalCapabilities
  let lines = 0
  let drawn = 0
  const one = (value: A) =>
    Effect.sync(() => {
      const text = render(value)
      // move to the first line of the previous drawing and clear below
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
