/** Handles one reason of the errors that an endpoint declares, by its name. */
import { Effect, Function } from "effect"
import type { ApiError } from "../domain/ApiError.ts"
import type { Code, Reason } from "../domain/Reason.ts"

type AnyApiError = ApiError<Reason, Code>

/** The reasons in an error channel: those that the endpoint declares. */
export type ReasonIn<E> = E extends ApiError<infer R, Code> ? R : never
/** The errors of a reason in an error channel. */
export type WithReason<E, K extends Reason> = Extract<E, ApiError<K, Code>>
/** An error channel without the errors of a reason. */
export type WithoutReason<E, K extends Reason> = Exclude<E, ApiError<K, Code>>

const hasReason = (error: unknown, reason: Reason): error is AnyApiError => {
  const { details } = (error ?? {}) as { readonly details?: { readonly reason?: unknown } }
  return details?.reason === reason
}

/**
 * Catches the errors of one reason, which must be one of those that the endpoint declares.
 *
 * ```ts
 * client.order.create({ payload }).pipe(
 *   catchReason("DuplicateOrderLinkId", (error) => Effect.succeed({ order_id: error.details["order_id"] }))
 * )
 * ```
 */
export const catchReason: {
  <E, const K extends ReasonIn<E>, A2, E2, R2>(
    reason: K,
    handle: (error: WithReason<E, K>) => Effect.Effect<A2, E2, R2>
  ): <A, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A | A2, WithoutReason<E, K> | E2, R | R2>
  <A, E, R, const K extends ReasonIn<E>, A2, E2, R2>(
    self: Effect.Effect<A, E, R>,
    reason: K,
    handle: (error: WithReason<E, K>) => Effect.Effect<A2, E2, R2>
  ): Effect.Effect<A | A2, WithoutReason<E, K> | E2, R | R2>
} = Function.dual(
  3,
  <A, E, R, A2, E2, R2>(
    self: Effect.Effect<A, E, R>,
    reason: Reason,
    handle: (error: AnyApiError) => Effect.Effect<A2, E2, R2>
  ): Effect.Effect<A | A2, E | E2, R | R2> =>
    Effect.catch(self, (error): Effect.Effect<A2, E | E2, R2> =>
      hasReason(error, reason) ? handle(error) : Effect.fail(error)
    )
)
