/**
 * The failures of the services as error bodies of the API: one table for all handlers.
 *
 * Source: docs/contract/conventions.md#errors, docs/contract/boundary.md#errors.
 */
import { Context, Effect } from "effect"
import type { Details, Reason } from "../domain/Reason.ts"
import type { AccountsUnavailable } from "../services/identity/Accounts.ts"
import type { ApiKeyRefused } from "../services/identity/ApiKeyRules.ts"
import type { AuthLimited, AuthRefused, AuthUnavailable } from "../services/identity/AuthErrors.ts"
import { READ_UNAVAILABLE } from "../services/operations/BackendAvailability.ts"
import type { HistoryUnavailable } from "../services/History.ts"
import type { Rate } from "../services/operations/RateLimiter.ts"
import type { RefereeError } from "../services/Referee.ts"
import type { DomainError } from "../services/DomainError.ts"
import type { Outpaced } from "../services/rewards/RewardStore.ts"
import type { CommandRefused, ReadError, SubmitError } from "../services/Sequencer.ts"
import { fieldOf, refusedField } from "./FieldErrorText.ts"
import { CurrentRequest, type RequestState } from "./RequestState.ts"
import { ofReason, type WireErrorOf } from "./WireError.ts"

/** What a service fails with. Each failure names the reason that its caller receives. */
export type Failure =
  | DomainError
  | AuthRefused<Reason>
  | ApiKeyRefused
  | CommandRefused
  | SubmitError
  | ReadError
  | RefereeError
  | HistoryUnavailable
  | AccountsUnavailable
  | AuthLimited
  | AuthUnavailable
  | Outpaced

type ValueOf = (field: string) => unknown

const tooMany = ofReason("RateLimitExceeded")

/** The error of a full bucket; the headers of the response say when the next request is accepted. */
export const limited = (state: RequestState, rate: Rate) => {
  state.rate = rate
  return tooMany
}

interface Words {
  readonly details?: Details
  /** "": the catalogue's. */
  readonly text: string
}

/** Facts and text of a refusal; where it is about a field, they name it, the given value and the accepted ones. */
const refusalWords = (reason: Reason, details: Details | undefined, message: string, valueOf: ValueOf): Words => {
  const facts = details ?? {}
  const field = fieldOf(reason, facts, valueOf)
  if (field === undefined) return { ...(details && { details }), text: message }
  return { details: { ...facts, field }, text: refusedField(reason, field, facts, message, valueOf) }
}

/** Facts and text of a failure, for its caller. */
const wordsOf = (failure: Failure, valueOf: ValueOf): Words => {
  switch (failure._tag) {
    case "Refused":
    case "ApiKeyRefused":
    case "CommandRefused": {
      const { details, message = "", reason } = failure
      return refusalWords(reason, details, message, valueOf)
    }
    case "AuthRefused": {
      const { details, reason, text = "" } = failure
      return refusalWords(reason, details, text, valueOf)
    }
    case "RefereeUnavailable":
      // only reads call the referee
      return { text: READ_UNAVAILABLE }
    case "OutcomeUnknown":
      return { details: { outcome: "unknown" }, text: "" }
    default:
      return { text: "" }
  }
}

/** The error body of a failure. `valueOf` returns the given value of a field; by default that of the request. */
export const refusalOf = <F extends Failure>(
  failure: F,
  state: RequestState,
  valueOf: ValueOf = (field) => state.valueOf(field)
): WireErrorOf<F["reason"]> => {
  const { reason }: { readonly reason: F["reason"] } = failure
  if (failure._tag === "AuthLimited") state.rate = failure.rate
  const { details, text } = wordsOf(failure, valueOf)
  return ofReason(reason, details, text === "" ? {} : { message: text })
}

/** Maps the failures of an effect outside a handler, for the request of this state. */
export const withRefusals = <A, E extends Failure>(state: RequestState, effect: Effect.Effect<A, E>) =>
  Effect.mapError(effect, (failure) => refusalOf(failure, state))

const isFault = (failure: Failure): boolean => failure._tag === "SequencerFault" || failure._tag === "RefereeFault"

/** Maps the failures of a service to error bodies; an endpoint accepts those whose reasons it declares. */
export const named = <A, E extends Failure, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, WireErrorOf<E["reason"]>, R> =>
  Effect.catch(effect, (failure) =>
    Effect.withFiber((fiber) => {
      const failed = Effect.fail(refusalOf(failure, Context.getUnsafe(fiber.context, CurrentRequest)))
      return isFault(failure) ? Effect.andThen(Effect.logError("backend fault", failure), failed) : failed
    })
  )
