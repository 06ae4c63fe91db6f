/** Formats decimal text for display. It never converts to a number, so no digit is lost. */
import * as Decimal from "../src/domain/Decimal.ts"

const SIGNED = /^-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u

/** Whether a text is decimal text with at most 20 integer digits and 18 decimal places. */
export const isDecimal = (text: string): boolean => SIGNED.test(text)

/** The error of a field that is not a decimal. */
export const notDecimal = (name: string): string => `${name} must be a number such as 1234.5, without separators`
/** The error of a field that must be a decimal without a sign; `undefined`: none. */
export const errorOfUnsigned = (name: string, text: string): string | undefined =>
  isDecimal(text) ? (isNegative(text) ? `${name} must not be negative` : undefined) : notDecimal(name)

/** Decimal places of a step: 1 for 0.1. */
export const placesOf = (step: string): number => step.split(".")[1]?.length ?? 0

/** Adds thousands separators and cuts or pads to `places`. Returns text that is not a decimal unchanged. */
export const grouped = (text: string, places: number): string => {
  if (!isDecimal(text)) return text
  const [whole, fraction = ""] = text.split(".")
  const spaced = whole!.replaceAll(/\B(?=(?:\d{3})+$)/gu, ",")
  const shown = places === 0 ? spaced : `${spaced}.${fraction.slice(0, places).padEnd(places, "0")}`
  // what is cut to zero has no sign
  return /^-[0.]*$/u.test(shown) ? shown.slice(1) : shown
}

/** Money with two decimal places. */
export const money = (text: string): string => grouped(text, 2)

/** An amount with its sign; none for zero. */
export const signed = (text: string, places: number): string =>
  (text.startsWith("-") || /^0(?:\.0*)?$/u.test(text) ? "" : "+") + grouped(text, places)

/** Money with its sign, for profit and loss. */
export const gain = (text: string): string => signed(text, 2)

/** A ratio as a percentage: 0.0123 is 1.23 %. */
export const percent = (ratio: string, places: number): string => {
  if (!isDecimal(ratio)) return ratio
  return `${grouped(Decimal.format(Decimal.parse(ratio) * 100n), places)} %`
}

export const isNegative = (text: string): boolean => text.startsWith("-")

const two = (count: number): string => String(count).padStart(2, "0")

/** Local time of day, to the second. */
export const clock = (ms: number): string => {
  const at = new Date(ms)
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** Local date and time: `11-23 01:02:03`. */
export const stamp = (ms: number): string => {
  const at = new Date(ms)
  return `${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(ms)}`
}

/** A duration: `1:02:03`, or `02:03` below an hour. */
export const span = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  const rest = `${two(minutes)}:${two(seconds % 60)}`
  return hours === 0 ? rest : `${hours}:${rest}`
}

/** An age: `1.2 s`, or `12 s` from ten seconds on. */
export const age = (ms: number): string =>
  ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000]
] as const

/** How long ago something happened, in its largest unit: `8 s ago`, `5 min ago`, `2 d ago`. */
export const ago = (ms: number): string => {
  const [unit, length] = units.find(([, each]) => ms >= each) ?? ["s", 1_000]
  return `${Math.max(0, Math.floor(ms / length))} ${unit} ago`
}

/** A shortened address or key. */
export const short = (address: string): string => `${address.slice(0, 8)}…${address.slice(-4)}`
