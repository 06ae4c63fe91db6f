/** How a call fails: by the gateway's word, or because none came. Source: docs/contract/conventions.md#errors. */
import type { Code, Reason } from "../domain/Reason.ts"

/** Reasons of a 503 that surely changed nothing. */
const UNTOUCHED: ReadonlySet<string | undefined> = new Set<Reason>([
  "BackendUnavailable",
  "BackendLagging",
  "Overloaded",
  "ShuttingDown"
])

export interface Facts {
  /** HTTP status; 0: no answer came, or not a whole one. */
  readonly status: number
  /** Code of the error catalogue; `UNANSWERED`: no answer; `FEED_ENDED`: a feed that will not come back. */
  readonly code: Code | "UNANSWERED" | "FEED_ENDED"
  readonly message: string
  /** Facts about it, `reason` among them; of a feed its `close_code`. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly request_id?: string | undefined
  readonly cause?: unknown
  /** An earlier try of the same call was not answered. */
  readonly isRepeated?: boolean
}

/** Programs read `code`, `reason` and `details`; texts may change. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError"
  readonly status: number
  readonly code: Facts["code"]
  readonly details: Readonly<Record<string, unknown>>
  readonly request_id: string | undefined
  /**
   * `refused`: nothing happened. `unknown`: what was asked may have happened or may happen yet, so look before you ask again.
   */
  readonly outcome: "refused" | "unknown"

  constructor({ cause, code, details = {}, isRepeated = false, message, request_id, status }: Facts) {
    super(message, { cause })
    this.status = status
    this.code = code
    this.details = details
    this.request_id = request_id
    const isSure = (status > 0 && status < 500) || UNTOUCHED.has(this.reason)
    this.outcome = isSure && !isRepeated ? "refused" : "unknown"
  }
  /** Stable word of the catalogue, such as `NotMultipleOfTick`; new ones may come. */
  get reason(): Reason | undefined {
    return this.details["reason"] as Reason | undefined
  }
  /** The same error of a call whose earlier try was not answered: whatever is refused now may have been done then. */
  repeated(): ExchangeError {
    const { cause, code, details, message, request_id, status } = this
    return new ExchangeError({ cause, code, details, isRepeated: true, message, request_id, status })
  }
}

/** The error of an answer that is not 2xx. What a proxy in between answers may be no JSON of ours. */
export const errorOf = (status: number, text: string): ExchangeError => {
  let told: Partial<Facts> = {}
  try {
    told = JSON.parse(text) as Partial<Facts>
  } catch {}
  return new ExchangeError({
    status,
    code: told.code ?? (status === 429 ? "RateLimitExceeded" : "INTERNAL"),
    message: told.message ?? `HTTP ${status}`,
    details: told.details,
    request_id: told.request_id
  })
}
