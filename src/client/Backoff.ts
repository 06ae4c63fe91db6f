/**
 * What a feed does after its connection ended: whether it comes back, and when.
 * Source: docs/contract/websocket.md#close-codes.
 */
import { adviceOf, closeCodes, closeReasonOf } from "../ws/api/CloseCodes.ts"

/** How a connection ended. */
export interface Ended {
  readonly code: number
  readonly reason: string
  /** Whether all topics were followed before. */
  readonly wasLive: boolean
}

/** The code of a line that broke. */
export const CODE_LOST = 1006
/** Pause before coming back: doubles from the first to the second with each failure, in ms. */
export const BACKOFF_FIRST_MS = 100
export const BACKOFF_MAX_MS = 10_000
/** Failures that a gateway which asks for back-off counts as. */
const BACKOFF_ASKED = 3
/** Credentials in a row that are tried; the next one to be refused ends the feed. */
const RENEWALS_MAX = 2

/** Whether an error says nothing of what was asked: the same may be accepted later. */
export const isPassing = (code: string): boolean => passing.has(code)
const passing = new Set(["SERVICE_UNAVAILABLE", "RateLimitExceeded", "INTERNAL"])

/** The reason of an end, in words. */
export const textOf = ({ code, reason }: Ended): string =>
  reason === "" ? (closeReasonOf(code) ?? "connection lost") : reason

/** After so many renewals in a row: `stay` away, `renew` the credential first and stay away without one, or come `back`. */
export const nextStep = ({ code }: Ended, renewals: number): "stay" | "renew" | "back" => {
  // a client authenticates at once: it was the line that was slow, and the credential was not judged
  if (code === closeCodes.NotAuthenticated.code) return "back"
  const advice = adviceOf(code)
  if (advice === "fix" || advice === "stop") return "stay"
  if (advice === "log-in") return renewals < RENEWALS_MAX ? "renew" : "stay"
  return "back"
}

/**
 * The pause after so many failures, in ms: half of it is left to `chance`, from 0 to 1, so that not all clients come at once.
 */
export const pauseOf = (failures: number, chance: number): number =>
  Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures) * (0.5 + chance / 2)

/** The pause before a feed comes back, in ms. */
export const pauseAfter = ({ code }: Ended, failures: number, chance: number): number =>
  pauseOf(failures + (adviceOf(code) === "back-off" ? BACKOFF_ASKED : 0), chance)
