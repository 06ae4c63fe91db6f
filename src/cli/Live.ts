/** A live view: on a terminal each redraw replaces the last and fits the screen, elsewhere it is appended. */
import { Console, Effect, Option, Ref, Schedule, Stream, Terminal } from "effect"
import { Flag, TerminalCapabilities } from "effect/cli"
import { isPassing } from "../client/Backoff.ts"
import { baseUrl, Json } from "./Flags.ts"
import { toPrinted } from "./ErrorOutput.ts"
import { type Paint, paint, show } from "./Show.ts"

/** Shortest time between two redraws, in ms. */
const REDRAW_MS = 100
/** Time between two reads of a watched list, in ms: 30 requests a minute. */
const WATCH_MS = 2_000

/** Rows of the terminal for a view, without the line of the cursor; no limit where output is appended. */
export const rows = Effect.gen(function* () {
  const { canAnimate } = yield* TerminalCapabilities.TerminalCapabilities
  if (!canAnimate) return Number.POSITIVE_INFINITY
  const height = yield* (yield* Terminal.Terminal).rows
  return height > 1 ? height - 1 : Number.POSITIVE_INFINITY
})

/** The first lines of a text, and the number of lines that do not fit. */
const fitted = (text: string, height: number): string => {
  const lines = text.split("\n")
  if (lines.length <= height) return text
  return [...lines.slice(0, height - 1), `… ${lines.length - height + 1} more lines`].join("\n")
}

/** Draws each value, or the newest one when values arrive faster than redraws. Ends after `times` redraws. */
export const draw = Effect.fnUntraced(function* <A, E, R>(
  values: Stream.Stream<A, E, R>,
  times: number,
  render: (value: A, height: number) => string
) {
  const { canAnimate } = yield* TerminalCapabilities.TerminalCapabilities
  let lines = 0
  let drawn = 0
  const one = Effect.fnUntraced(function* (value: A) {
    // a terminal can change its size
    const height = yield* rows
    const text = fitted(render(value, height), height)
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

/** Flags of a list that can be watched. */
export const watching = {
  watch: Flag.Boolean("watch").pipe(
    Flag.withDescription("Read the list every 2 seconds until Ctrl-C"),
    Flag.withDefault(false)
  ),
  count: Flag.Int("count").pipe(Flag.withDescription("With --watch: stop after this many reads"), Flag.optional)
}
export interface Watching {
  readonly watch: boolean
  readonly count: Option.Option<number>
}

/** Whether a later read can succeed. */
const passes = (error: unknown): boolean => {
  const { code, details } = toPrinted(error, "")
  return code === "UNREACHABLE" || isPassing(code) || isPassing(String(details?.["reason"]))
}

/** Prints a list once, or watches it: a read that fails for a moment leaves the last one on the screen, with the error. */
export const list = Effect.fnUntraced(function* <A, E, R>(
  { count, watch }: Watching,
  read: Effect.Effect<A, E, R>,
  text: (value: A, paint: Paint) => string,
  /** The part that --json prints. */
  json: (value: A) => unknown = (value) => value
) {
  if (!watch) {
    const value = yield* read
    return yield* show(json(value), (_, colours) => text(value, colours))
  }
  const last = yield* Ref.make<{ readonly value: A | undefined; readonly error: string }>({
    value: undefined,
    error: ""
  })
  const url = yield* baseUrl
  const next = read.pipe(
    Effect.flatMap((value) => Ref.set(last, { value, error: "" })),
    Effect.catch((error) =>
      passes(error)
        ? Ref.update(last, ({ value }) => ({ value, error: toPrinted(error, url).message }))
        : Effect.fail(error)
    ),
    Effect.andThen(Ref.get(last))
  )
  const times = Option.getOrElse(count, () => Number.POSITIVE_INFINITY)
  const reads = Stream.fromEffectSchedule(next, Schedule.spaced(WATCH_MS))
  if (yield* Json) {
    const texts = reads.pipe(
      Stream.take(times),
      Stream.filter(({ error, value }) => error === "" && value !== undefined),
      Stream.map(({ value }) => JSON.stringify(json(value!))),
      Stream.changes
    )
    return yield* Stream.runForEach(texts, (line) => Console.log(line))
  }
  const colours = yield* paint
  yield* draw(reads, times, ({ error, value }) =>
    [
      ...(error === "" ? [] : [colours.red(`not current: ${error}`)]),
      ...(value === undefined ? [] : [text(value, colours)])
    ].join("\n")
  )
})
