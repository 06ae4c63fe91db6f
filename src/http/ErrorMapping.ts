/**
 * The failures of the services in the words of the wire: one table for all handlers.
 *
 * Source: docs/contract/conventions.md#errors, docs/contract/boundary.md#errors.
 */
import { Context, Effect } from "effect"
import type { Code, Details, Reason } from "../domain/Reason.ts"
import type { AccountsUnavailable } from "../services/identity/Accounts.ts"
import type { ApiKeyRefused } from "../services/identity/ApiKeyRules.ts"
import type { AuthError } from "../services/identity/Authenticator.ts"
import { READ_UNAVAILABLE } from "../services/operations/BackendAvailability.ts"
import type { HistoryUnavailable } from "../services/History.ts"
import type { Rate } from "../services/operations/RateLimiter.ts"
import type { RefereeUnavailable } from "../services/Referee.ts"
import type { DomainError } from "../services/DomainError.ts"
import type { Outpaced } from "../services/rewards/RewardStore.ts"
import type { ReadError, SubmitError } from "../services/Sequencer.ts"
import { refusedField } from "./FieldErrorText.ts"
import { CurrentRequest, type RequestState } from "./RequestState.ts"
import { internal, ofReason, type WireError } from "./WireError.ts"

export type Failure =
  | DomainError
  | SubmitError
  | ReadError
  | RefereeUnavailable
  | HistoryUnavailable
  | AccountsUnavailable
  | ApiKeyRefused
  | AuthError
  | Outpaced

const tooMany = ofReason("RateLimitExceeded")
const databaseLost = ofReason("DatabaseUnavailable")
const unknownOutcome = ofReason("DeadlineExceeded", { outcome: "unknown" })
const backendLost = ofReason("BackendUnavailable")
/** Only reads go to the referee. */
const refereeLost = ofReason("BackendUnavailable", {}, { message: READ_UNAVAILABLE })
const tooBusy = ofReason("Overloaded")

/** A bucket is full; its headers tell when to come back. */
export const limited = (state: RequestState, rate: Rate): WireError => {
  state.rate = rate
  return tooMany
}

/** A refusal with its message; one of a field says which, what was given and what is accepted. */
export const ofField = (
  {
    facts,
    message = "",
    reason
  }: { readonly reason: Reason; readonly facts: Details; readonly message?: string | undefined },
  valueOf: (field: string) => unknown,
  code?: Code
): WireError => {
  const { field } = facts
  const text = typeof field === "string" ? refusedField(reason, field, facts, message, valueOf) : message
  return ofReason(reason, facts, {
    ...(code === undefined ? {} : { code }),
    ...(text === "" ? {} : { message: text })
  })
}

/** The refusal of a failure. `valueOf` finds what was given for a field; by default in the request. */
export const refusalOf = (
  failure: Failure,
  state: RequestState,
  valueOf: (field: string) => unknown = (field) => state.valueOf(field)
): WireError => {
  switch (failure._tag) {
    case "Refused":
      return ofField(failure, valueOf)
    case "CommandRefused":
      // the answer says what the backend says of the order itself
      return failure.message === ""
        ? ofField(failure, valueOf)
        : ofReason(failure.reason, failure.facts, { message: failure.message })
    case "AuthRefused":
      return ofField({ reason: failure.reason, facts: failure.facts, message: failure.text }, valueOf)
    case "ApiKeyRefused":
      // a bad key in a registration is a bad field, not bad credentials
      return ofField(failure, valueOf, failure.reason === "InvalidPublicKey" ? "BAD_REQUEST" : undefined)
    case "AuthLimited":
      return limited(state, failure.decision)
    case "SequencerUnavailable":
      return backendLost
    case "RefereeUnavailable":
      return refereeLost
    case "Overloaded":
      return tooBusy
    case "OutcomeUnknown":
      return unknownOutcome
    case "Outpaced":
    case "HistoryUnavailable":
    case "AccountsUnavailable":
    case "AuthUnavailable":
      return databaseLost
    case "SequencerFault":
      return internal
  }
}

const isFault = (failure: Failure): boolean => failure._tag === "SequencerFault"

/**
 * Names the failures of a handler. Which code a reason has is data, so the types cannot tell that an endpoint declares
 * it: a test holds every answer against the operation's declared errors, and the error channel is closed here.
 */
export const named = <A, E extends Failure, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
  Effect.catch(effect, (failure) =>
    Effect.withFiber((fiber) => {
      const refusal = refusalOf(failure, Context.getUnsafe(fiber.context, CurrentRequest))
      const failed = Effect.fail(refusal as never)
      return isFault(failure) ? Effect.andThen(Effect.logError("backend fault", failure), failed) : failed
    })
  )
