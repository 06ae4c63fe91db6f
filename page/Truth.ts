/** What the banner says: where the connections stand, how old the data is, and whether anything was missed. */
import type { Line } from "./Market.ts"
import type { Return } from "./Session.ts"
import * as Format from "./Format.ts"

/** Silence of an open connection after which the data is called old, in ms: tickers come at least every 10 s. */
export const STALE_MS = 12_000
/** Time for which a return is told, in ms, from when the market is back too. */
export const RETURN_MS = 30_000
/** So long after the account the market may come back for both to be one return, in ms. */
export const TOGETHER_MS = 60_000

export interface Seen {
  readonly now_ms: number
  readonly market: Line
  /** When the last public message came; `undefined`: none yet. */
  readonly heard_ms: number | undefined
  /** `undefined`: nobody is signed in. */
  readonly own: Line | undefined
  readonly returned: Return | undefined
  readonly ping_ms: number | undefined
}

export interface Truth {
  readonly tone: "good" | "waiting" | "bad"
  readonly text: string
  /** Whether what is shown may not be the market of now. */
  readonly stale: boolean
}

const lostWords = (what: string, { since_ms, state }: Line, now_ms: number): string => {
  if (state.type === "ended") return `${what} ended: ${state.reason}. Sign in again.`
  const why = state.type === "lost" ? `: ${state.reason}` : ""
  return `${what} lost for ${Format.age(now_ms - since_ms)}${why}. Reconnecting…`
}

export const truthOf = ({ heard_ms, market, now_ms, own, ping_ms, returned }: Seen): Truth => {
  const age_ms = heard_ms === undefined ? undefined : Math.max(0, now_ms - heard_ms)
  if (market.state.type !== "live") {
    if (age_ms === undefined) return { tone: "waiting", text: "Connecting to the market…", stale: true }
    const last = `What you see is ${Format.age(age_ms)} old.`
    return { tone: "bad", text: `${lostWords("Connection", market, now_ms)} ${last}`, stale: true }
  }
  if (age_ms !== undefined && age_ms > STALE_MS) {
    const text = `Connected, but nothing came for ${Format.age(age_ms)}: what you see may be old.`
    return { tone: "bad", text, stale: true }
  }
  if (own !== undefined && own.state.type !== "live") {
    if (own.state.type === "connecting" && !own.returned)
      return { tone: "waiting", text: "Connecting to your account…", stale: false }
    const known = "Orders and positions are shown as they were last known."
    return { tone: "bad", text: `${lostWords("Connection to your account", own, now_ms)} ${known}`, stale: false }
  }
  const back_ms = returned === undefined ? 0 : Math.max(returned.at_ms, market.since_ms)
  if (returned !== undefined && now_ms - back_ms < RETURN_MS && back_ms - returned.at_ms < TOGETHER_MS) {
    const at = Format.clock(returned.at_ms)
    return returned.recovered
      ? { tone: "good", text: `Back since ${at}: resumed, nothing of your account was missed.`, stale: false }
      : {
          tone: "waiting",
          text: `Back since ${at}: your account was read anew; fills in between are in the list.`,
          stale: false
        }
  }
  const parts = [
    "Live",
    ...(age_ms === undefined ? [] : [`data ${Format.age(age_ms)} old`]),
    ...(ping_ms === undefined ? [] : [`${Math.round(ping_ms)} ms to the gateway`])
  ]
  return { tone: "good", text: parts.join(" · "), stale: false }
}
