/**
 * The error body of a failed request as a plain value. Refusals are frequent, and an `Error` would record a stack for each. The
 * classes of `domain/ApiError.ts` declare the same bodies to the document and the client.
 */
import type { ApiError } from "../domain/ApiError.ts"
import {
  type Code,
  codeOf,
  type CodeOf,
  type Details,
  httpStatusOf,
  type Reason,
  statusOf,
  textOf
} from "../domain/Reason.ts"

export class WireError<out R extends Reason = Reason, out C extends Code = Code> implements ApiError<R, C> {
  /** HTTP status; that of the code except for the reasons that HTTP itself names. */
  readonly status: number
  readonly code: C
  readonly message: string
  /** The reason, and facts beside it. */
  readonly details: Details & { readonly reason: R }
  constructor(code: C, message: string, details: Details & { readonly reason: R }, status: number) {
    this.status = status
    this.code = code
    this.message = message
    this.details = details
  }
}

/** The errors of some reasons, one type for each: an endpoint accepts each by itself. */
export type WireErrorOf<R extends Reason> = R extends Reason ? WireError<R, CodeOf<R>> : never
/** The same with 400 BAD_REQUEST. */
export type BadRequestOf<R extends Reason> = R extends Reason ? WireError<R, "BAD_REQUEST"> : never

interface Words {
  /** Replaces the text of the catalogue. */
  readonly message?: string
}

/** The error of a reason. */
export function ofReason<R extends Reason>(reason: R, facts?: Details, words?: Words): WireErrorOf<R>
export function ofReason(reason: Reason, facts?: Details, words?: Words): WireError {
  return new WireError(codeOf(reason), words?.message ?? textOf(reason), { reason, ...facts }, httpStatusOf(reason))
}

/** The same error with 400 BAD_REQUEST: the input is wrong, not its caller. */
export function asBadRequest<R extends Reason>(error: WireError<R>): BadRequestOf<R>
export function asBadRequest({ details, message }: WireError): WireError {
  return new WireError("BAD_REQUEST", message, details, statusOf.BAD_REQUEST)
}

export const internal = ofReason("InternalError")
