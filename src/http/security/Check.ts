/** One check of a request: its verdict, at once or as an effect. */
import type { Effect } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"
import type { HttpApiMiddleware } from "effect/http-api"
import type {
  AccessModule,
  AdminAccess,
  BearerOnly,
  BearerOrApiKey,
  PublicAccess,
  RequestBodyMiddleware
} from "../api/Security.ts"
import type { RequestState } from "../RequestState.ts"
import type { WireError } from "../WireError.ts"

export type Request = HttpServerRequest.HttpServerRequest

/** What the middlewares declare: a check can refuse for these reasons only. */
type Middleware = AccessModule | AdminAccess | BearerOnly | BearerOrApiKey | RequestBodyMiddleware | PublicAccess
type CheckReason = HttpApiMiddleware.Error<Middleware>["details"]["reason"] | "BodyTooLarge" | "WrongMediaType"
type CheckError = WireError<CheckReason>

/** `undefined`: the request passes. */
export type Verdict = CheckError | Effect.Effect<void, CheckError | HttpServerError.HttpServerError> | undefined
export type Check = (request: Request, state: RequestState) => Verdict
