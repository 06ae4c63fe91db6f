/** Errors of a WebSocket connection, and their frames. Source: docs/contract/websocket.md#limits, #messages. */
import * as ApiError from "../domain/ApiError.ts"
import type { Code, Details, Reason } from "../domain/Reason.ts"
import type { AuthError } from "../services/identity/AuthErrors.ts"
import type { ReqId } from "./api/Frames.ts"
import { type Frame, frameOf } from "./Frame.ts"

/** Code, message and details of an error. */
export interface WsError {
  readonly code: Code
  readonly message: string
  readonly details?: { readonly [fact: string]: unknown }
}

/** A reply has the req_id of its request. */
export const withReqId = (req_id: ReqId | undefined) => (req_id === undefined ? {} : { req_id })

/** The error frame; `topic`: the refused topic. */
export const errorFrame = (error: WsError, req_id: ReqId | undefined, topic?: string): Frame =>
  frameOf({
    op: "error",
    code: error.code,
    message: error.message,
    ...(topic === undefined ? {} : { topic }),
    ...withReqId(req_id),
    ...(error.details === undefined ? {} : { details: error.details })
  })

/** The error of a reason; `message` replaces its standard text. */
export const refuse = (reason: Reason, message?: string, details?: Details): WsError =>
  ApiError.ofReason(reason, details, message === undefined ? {} : { message })

/** The error of a failed authentication. */
export const ofAuthError = (error: AuthError): WsError => {
  switch (error._tag) {
    case "AuthRefused":
      return refuse(error.reason, error.text, error.details)
    case "AuthLimited":
      return { code: "RateLimitExceeded", message: "rate limit exceeded" }
    case "AuthUnavailable":
      return { code: "SERVICE_UNAVAILABLE", message: "authentication is not available now" }
  }
}
