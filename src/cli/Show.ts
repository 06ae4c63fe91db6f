/** Output of commands: text and tables for people, or one line of JSON with --json. */
import { Console, Effect } from "effect"
import { TerminalCapabilities } from "effect/cli"
import * as Decimal from "../domain/Decimal.ts"
import { Json } from "./Flags.ts"

export interface Paint {
  readonly dim: (text: string) => string
  readonly bold: (text: string) => string
  readonly green: (text: string) => string
  readonly red: (text: string) => string
}

const sgr = (on: number, off: number) => (text: string) => `\u001b[${on}m${text}\u001b[${off}m`
const colours: Paint = { dim: sgr(2, 22), bold: sgr(1, 22), green: sgr(32, 39), red: sgr(31, 39) }
const plain: Paint = { dim: String, bold: String, green: String, red: String }

/** Colours, if the terminal has them and NO_COLOR is not set. */
export const paint = Effect.map(TerminalCapabilities.TerminalCapabilities, ({ canColor }) =>
  canColor ? colours : plain
)

/** Prints a value, as JSON or as `text` formats it. */
export const show = Effect.fnUntraced(function* <A>(value: A, text: (value: A, paint: Paint) => string) {
  if (yield* Json) return yield* Console.log(JSON.stringify(value))
  const words = text(value, yield* paint)
  if (words !== "") yield* Console.log(words)
})

export interface Column<R> {
  readonly title: string
  readonly of: (row: R) => string | number | boolean | undefined
  /** Aligns the column to the right, for numbers. */
  readonly right?: boolean
  readonly colour?: (row: R, paint: Paint) => (text: string) => string
}

/** A table; without rows the text `none`. */
export const table = <R>(
  rows: ReadonlyArray<R>,
  columns: ReadonlyArray<Column<R>>,
  paint: Paint,
  none = "none"
): string => {
  if (rows.length === 0) return paint.dim(none)
  const cells = rows.map((row) => columns.map(({ of }) => String(of(row) ?? "")))
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((line) => line[i]!.length)))
  const pad = (text: string, i: number) =>
    columns[i]!.right === true ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)
  const head = columns.map(({ title }, i) => pad(title, i)).join("  ")
  const lines = cells.map((line, r) =>
    line
      .map((text, i) => {
        const padded = pad(text, i)
        const colour = columns[i]!.colour
        return colour === undefined ? padded : colour(rows[r]!, paint)(padded)
      })
      .join("  ")
      .trimEnd()
  )
  return [paint.dim(head.trimEnd()), ...lines].join("\n")
}

/** One line for each name and value. */
export const facts = (
  pairs: ReadonlyArray<readonly [name: string, value: string | undefined]>,
  paint: Paint
): string => {
  const shown = pairs.filter((pair): pair is readonly [string, string] => pair[1] !== undefined)
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${paint.dim(name.padEnd(width))}  ${value}`).join("\n")
}

/** A timestamp as UTC text, to the second. */
export const time = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace("T", " ")

/** A ratio as a percentage, cut to `places`: 0.0123 is 1.23 %. */
export const percent = (ratio: string, places: number): string => {
  const [whole, fraction = ""] = Decimal.format(Decimal.parse(ratio) * 100n).split(".")
  return `${whole}.${fraction.slice(0, places).padEnd(places, "0")} %`
}

/** Green for buys, red for sells. */
export const ofSide = ({ side }: { readonly side: string }, paint: Paint) => (side === "Buy" ? paint.green : paint.red)
