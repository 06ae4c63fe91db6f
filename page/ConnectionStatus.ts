/** The text of the banner: state of the connections, age of the data, and whether events were missed. */
import type { FeedStatus } from "./Market.ts"
import type { Return } from "./Session.ts"
import * as Format from "./Format.ts"

/** Silence of an open connection after which data counts as old, in ms. Tickers arrive at least every 10 s. */
export const STALE_MS = 12_000
/** How long the banner reports a reconnect, in ms, from when the market feed is live too. */
export const RECONNECTED_MS = 30_000
/** Longest time between the reconnects of the account and of the market to count as one, in ms. */
export const TOGETHER_MS = 60_000

export interface StatusInput {
  readonly now_ms: number
  readonly market: FeedStatus
  /** Time of the last public message; `undefined`: none yet. */
  readonly received_ms: number | undefined
  /** `undefined`: not signed in. */
  readonly own: FeedStatus | undefined
  readonly returned: Return | undefined
  readonly ping_ms: number | undefined
}

export interface ConnectionStatus {
  readonly tone: "good" | "waiting" | "bad"
  readonly text: string
  /** Whether the shown prices may be out of date. */
  readonly stale: boolean
}

const lostText = (what: string, { since_ms, state }: FeedStatus, now_ms: number): string => {
  if (state.type === "ended") return `${what} ended: ${state.reason}. Sign in again.`
  const why = state.type === "lost" ? `: ${state.reason}` : ""
  return `${what} lost for ${Format.age(now_ms - since_ms)}${why}. Reconnecting…`
}

export const statusOf = ({ received_ms, market, now_ms, own, ping_ms, returned }: StatusInput): ConnectionStatus => {
  const age_ms = received_ms === undefined ? undefined : Math.max(0, now_ms - received_ms)
  if (market.state.type !== "live") {
    if (age_ms === undefined) return { tone: "waiting", text: "Connecting to the market…", stale: true }
    const last = `Prices are ${Format.age(age_ms)} old.`
    return { tone: "bad", text: `${lostText("Connection", market, now_ms)} ${last}`, stale: true }
  }
  if (age_ms !== undefined && age_ms > STALE_MS) {
    const text = `Connected, but no data for ${Format.age(age_ms)}: prices may be out of date.`
    return { tone: "bad", text, stale: true }
  }
  if (own !== undefined && own.state.type !== "live") {
    if (own.state.type === "connecting" && !own.returned)
      return { tone: "waiting", text: "Connecting to your account…", stale: false }
    const known = "Orders and positions may be out of date."
    return { tone: "bad", text: `${lostText("Connection to your account", own, now_ms)} ${known}`, stale: false }
  }
  const back_ms = returned === undefined ? 0 : Math.max(returned.at_ms, market.since_ms)
  if (returned !== undefined && now_ms - back_ms < RECONNECTED_MS && back_ms - returned.at_ms < TOGETHER_MS) {
    const at = Format.clock(returned.at_ms)
    return returned.recovered
      ? { tone: "good", text: `Reconnected at ${at}: no account event was missed.`, stale: false }
      : {
          tone: "waiting",
          text: `Reconnected at ${at}: account reloaded; missed fills are in the list.`,
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
