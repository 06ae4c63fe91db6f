/** What a connection is not given, and the frame that says so. Source: docs/contract/websocket.md#limits, #messages. */
import * as ApiError from "../domain/ApiError.ts"
import type { Details, Reason } from "../domain/Reason.ts"
import type { AuthError } from "../services/identity/Authenticator.ts"
import type { ReqId } from "./api/Frames.ts"
import { type Frame, frameOf } from "./Frame.ts"

/** What the client is told: code, text, and what to change. */
export type WsError = Pick<ApiError.ApiError, "code" | "message" | "details">

/** Answers carry the req_id of what they answer. */
export const withReqId = (req_id: ReqId | undefined) => (req_id === undefined ? {} : { req_id })

/** The frame of a refusal, of a topic where it is one. */
export const errorFrame = (error: WsError, req_id: ReqId | undefined, topic?: string): Frame =>
  frameOf({
    op: "error",
    code: error.code,
    message: error.message,
    ...(topic === undefined ? {} : { topic }),
    ...withReqId(req_id),
    ...(error.details === undefined ? {} : { details: error.details })
  })

/** The refusal that a reason of the contract stands for; `message` in place of its usual text. */
export const refuse = (reason: Reason, message?: string, details?: Details): WsError =>
  ApiError.ofReason(reason, details, message === undefined ? {} : { message })

/** The refusal that a failed authentication comes to. */
export const ofAuthError = (error: AuthError): WsError => {
  switch (error._tag) {
    case "AuthRefused":
      return refuse(error.reason, error.text, error.facts)
    case "AuthLimited":
      return { code: "RateLimitExceeded", message: "rate limit exceeded" }
    case "AuthUnavailable":
      return { code: "SERVICE_UNAVAILABLE", message: "authentication is not available now" }
  }
}
