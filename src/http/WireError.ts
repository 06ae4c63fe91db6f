/**
 * What a failed request is answered with, as a plain value: refusals are frequent, and an `Error` would record a stack
 * for each. The classes of `domain/ApiError.ts` declare the same bodies to the document and the client.
 */
import { type Code, codeOf, type Details, httpStatusOf, type Reason, statusOf, textOf } from "../domain/Reason.ts"

export class WireError {
  /** HTTP status; that of the code but for 405, 413, 415 and 426. */
  readonly status: number
  readonly code: Code
  readonly message: string
  /** The reason, and facts beside it. */
  readonly details: Details
  constructor(code: Code, message: string, details: Details, status: number) {
    this.status = status
    this.code = code
    this.message = message
    this.details = details
  }
}

/** The error of a reason. `code` overrides the catalogue's (authorize answers 400 where others answer 401). */
export const ofReason = (
  reason: Reason,
  facts?: Details,
  options?: { readonly code?: Code; readonly message?: string }
): WireError =>
  new WireError(
    options?.code ?? codeOf(reason),
    options?.message ?? textOf(reason),
    { reason, ...facts },
    options?.code === undefined ? httpStatusOf(reason) : statusOf[options.code]
  )

export const internal = ofReason("InternalError")
