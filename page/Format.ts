/** Decimal text as people read it. Text in, text out: no number on the way, so no digit is lost. */
import * as Decimal from "../src/domain/Decimal.ts"

const SIGNED = /^-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u

/** Places behind the point that a step has: 0.1 has 1. */
export const placesOf = (step: string): number => step.split(".")[1]?.length ?? 0

/** With thousands apart, and exactly so many places; what is beyond is cut off. Text that is no decimal stays as it is. */
export const grouped = (text: string, places: number): string => {
  if (!SIGNED.test(text)) return text
  const [whole, fraction = ""] = text.split(".")
  const spaced = whole!.replaceAll(/\B(?=(?:\d{3})+$)/gu, ",")
  return places === 0 ? spaced : `${spaced}.${fraction.slice(0, places).padEnd(places, "0")}`
}

/** Money, to the cent. */
export const money = (text: string): string => grouped(text, 2)

/** Money with its sign, for gains and losses. */
export const gain = (text: string): string =>
  (text.startsWith("-") || /^0(?:\.0*)?$/u.test(text) ? "" : "+") + money(text)

/** A ratio as a percentage: 0.0123 is 1.23 %. */
export const percent = (ratio: string, places: number): string => {
  if (!SIGNED.test(ratio)) return ratio
  return `${grouped(Decimal.format(Decimal.parse(ratio) * 100n), places)} %`
}

export const isNegative = (text: string): boolean => text.startsWith("-")

const two = (count: number): string => String(count).padStart(2, "0")

/** The time of the day here, to the second. */
export const clock = (ms: number): string => {
  const at = new Date(ms)
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** A span of time: `1:02:03`, or `02:03` below an hour. */
export const span = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  const rest = `${two(minutes)}:${two(seconds % 60)}`
  return hours === 0 ? rest : `${hours}:${rest}`
}

/** How long ago something was, in few words. */
export const age = (ms: number): string =>
  ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`

/** An address or a key, short enough to compare by eye. */
export const short = (address: string): string => `${address.slice(0, 8)}…${address.slice(-4)}`
