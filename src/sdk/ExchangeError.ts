/** Errors of calls: an error response of the gateway, or no response. Source: docs/contract/conventions.md#errors. */
import type { Code, Reason } from "../domain/Reason.ts"

/** Reasons of a 503 that guarantee that nothing changed. */
export const UNCHANGED: ReadonlySet<unknown> = new Set<Reason>([
  "BackendUnavailable",
  "BackendLagging",
  "Overloaded",
  "ShuttingDown"
])

export interface Facts {
  /** HTTP status; 0: no complete response. */
  readonly status: number
  /** Code of the error catalogue; `UNANSWERED`: no response; `FEED_ENDED`: the feed does not reconnect. */
  readonly code: Code | "UNANSWERED" | "FEED_ENDED"
  readonly message: string
  /** Details of the error, including `reason`; for a feed `close_code`. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly request_id?: string | undefined
  readonly cause?: unknown
  /** An earlier attempt of the same call had no response. */
  readonly isRepeated?: boolean
}

/** Programs should use `code`, `reason` and `details`; messages may change. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError"
  readonly status: number
  readonly code: Facts["code"]
  readonly details: Readonly<Record<string, unknown>>
  readonly request_id: string | undefined
  /**
   * `refused`: the call had no effect. `unknown`: the call may have had an effect, or may still have one; check before a retry.
   */
  readonly outcome: "refused" | "unknown"

  constructor({ cause, code, details = {}, isRepeated = false, message, request_id, status }: Facts) {
    super(message, { cause })
    this.status = status
    this.code = code
    this.details = details
    this.request_id = request_id
    const isSure = (status > 0 && status < 500) || UNCHANGED.has(this.reason)
    this.outcome = isSure && !isRepeated ? "refused" : "unknown"
  }
  /** Stable reason of the catalogue, such as `NotMultipleOfTick`; new ones may be added. */
  get reason(): Reason | undefined {
    return this.details["reason"] as Reason | undefined
  }
  /** The same error for a call with an unanswered earlier attempt, which may have had an effect. */
  repeated(): ExchangeError {
    const { cause, code, details, message, request_id, status } = this
    return new ExchangeError({ cause, code, details, isRepeated: true, message, request_id, status })
  }
}

/** The error of a response that is not 2xx. The body may come from a proxy and not be the gateway's JSON. */
export const errorOf = (status: number, text: string): ExchangeError => {
  let body: Partial<Facts> = {}
  try {
    body = JSON.parse(text) as Partial<Facts>
  } catch {}
  return new ExchangeError({
    status,
    code: body.code ?? (status === 429 ? "RateLimitExceeded" : "INTERNAL"),
    message: body.message ?? `HTTP ${status}`,
    details: body.details,
    request_id: body.request_id
  })
}
