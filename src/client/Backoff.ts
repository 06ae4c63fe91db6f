/**
 * Whether and when a feed reconnects after its connection has ended.
 * Source: docs/contract/websocket.md#close-codes.
 */
import { adviceOf, closeCodes, closeReasonOf } from "../ws/api/CloseCodes.ts"

/** How a connection ended. */
export interface Ended {
  readonly code: number
  readonly reason: string
  /** Whether all topics were subscribed before. */
  readonly wasLive: boolean
}

/** Close code of a connection that ended without a close frame. */
export const CODE_LOST = 1006
/** Code of a connection that the client ends because the gateway refuses all its topics for good. */
export const CODE_NO_TOPIC = closeCodes.NotText.code
/** Pause before a reconnect, in ms: doubles with each failure, from the first value up to the second. */
export const BACKOFF_FIRST_MS = 100
export const BACKOFF_MAX_MS = 10_000
/** A close code with the advice to back off counts as this many more failures. */
const BACKOFF_EXTRA = 3
/** Renewed credentials tried in a row; after another refusal the feed ends. */
const RENEWALS_MAX = 2

/** Whether an error is temporary: the same request may succeed later. */
export const isPassing = (code: string): boolean => passing.has(code)
const passing = new Set(["SERVICE_UNAVAILABLE", "RateLimitExceeded", "INTERNAL"])

/** The reason of an end as text. */
export const textOf = ({ code, reason }: Ended): string =>
  reason === "" ? (closeReasonOf(code) ?? "connection lost") : reason

/** The next step after an end: `stay` disconnected, `renew` the credential before a reconnect, or reconnect (`back`). */
export const nextStep = ({ code }: Ended, renewals: number): "stay" | "renew" | "back" => {
  // the client sends its credential at once, so the connection was slow and the credential was not checked
  if (code === closeCodes.NotAuthenticated.code) return "back"
  const advice = adviceOf(code)
  if (advice === "fix" || advice === "stop") return "stay"
  if (advice === "log-in") return renewals < RENEWALS_MAX ? "renew" : "stay"
  return "back"
}

/** The pause after a number of failures, in ms. `chance`, from 0 to 1, varies half of it, so that clients do not reconnect together. */
export const pauseOf = (failures: number, chance: number): number =>
  Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures) * (0.5 + chance / 2)

/** The pause before a feed reconnects, in ms. */
export const pauseAfter = ({ code }: Ended, failures: number, chance: number): number =>
  pauseOf(failures + (adviceOf(code) === "back-off" ? BACKOFF_EXTRA : 0), chance)
