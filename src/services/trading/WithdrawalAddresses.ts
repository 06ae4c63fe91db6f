/**
 * Policy: the restriction of a user's withdrawals to listed destinations.
 *
 * A change that loosens the rules (a new destination, the end of `only_listed`) takes effect after a delay, so that
 * there is time to act on a stolen credential. A change that tightens them takes effect at once: when it is
 * acknowledged, no withdrawal that was checked under the old rules is still in progress on any gateway. Each
 * withdrawal is recorded before it is checked, and a change waits for the recorded ones.
 * Source: docs/contract/rest-account.md, docs/contract/conventions.md#addresses.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import {
  isRestricted,
  verdictOf,
  type WithdrawalAddress,
  type WithdrawalRules
} from "../../domain/WithdrawalAddress.ts"
import type { Caller } from "../../domain/User.ts"
import { AccountsUnavailable } from "../identity/Accounts.ts"
import { destinationOf } from "./WithdrawalDestination.ts"
import { Ids } from "../operations/Ids.ts"
import { currentMonotonicMillis } from "../operations/Monotonic.ts"
import { DomainError } from "../DomainError.ts"
import { WithdrawalAddressStore } from "./WithdrawalAddressStore.ts"

/** Most destinations per user. */
export const ADDRESSES_MAX = 50
/**
 * Time within which a withdrawal is sequenced after it began, or never.
 * Source: docs/contract/boundary.md#sequencer, #errors.
 */
const ATTEMPT_MS = 10_000
/** Pause between two polls of the withdrawals in progress. */
const LOOK_AGAIN = "50 millis"

const notFound = new DomainError("DestinationNotFound", { field: "destination" })
const bound = new DomainError(
  "InsufficientScope",
  { required: "withdraw" },
  "an API key bound to sub-accounts does not change the user's withdrawal addresses"
)

/** The rules in the API: `only_listed` is false after its end. */
export interface ShownRules {
  readonly only_listed: boolean
  readonly loosens_time?: number
  readonly list: ReadonlyArray<WithdrawalAddress>
}

const shown = (rules: WithdrawalRules, now: number): ShownRules => {
  const only_listed = isRestricted(rules, now)
  return {
    only_listed,
    ...(only_listed && rules.loosens_time !== undefined && { loosens_time: rules.loosens_time }),
    list: rules.list
  }
}

export class WithdrawalAddresses extends Context.Service<
  WithdrawalAddresses,
  {
    readonly rules: (caller: Caller) => Effect.Effect<ShownRules, AccountsUnavailable>
    /** A destination that is already listed keeps its times. */
    readonly add: (
      caller: Caller,
      body: { readonly destination: string; readonly label?: string }
    ) => Effect.Effect<
      WithdrawalAddress,
      DomainError<"InsufficientScope" | "InvalidField" | "LimitReached"> | AccountsUnavailable
    >
    readonly remove: (
      caller: Caller,
      destination: string
    ) => Effect.Effect<
      string,
      DomainError<"InsufficientScope" | "InvalidField" | "DestinationNotFound"> | AccountsUnavailable
    >
    readonly restrict: (
      caller: Caller,
      only_listed: boolean
    ) => Effect.Effect<ShownRules, DomainError<"InsufficientScope"> | AccountsUnavailable>
    /**
     * Runs a withdrawal to a canonical destination if the rules allow it; otherwise fails with
     * `DestinationNotListed`. `isOpen` returns whether the withdrawal may still be sequenced after a failure.
     */
    readonly guarded: <A, E>(
      user_id: string,
      destination: string,
      withdrawal: Effect.Effect<A, E>,
      isOpen: (error: E) => boolean
    ) => Effect.Effect<A, E | DomainError<"DestinationNotListed"> | AccountsUnavailable>
  }
>()("gateway/services/WithdrawalAddresses") {
  static readonly layer = (options: {
    /** Delay of an addition and of the end of `only_listed`. */
    readonly delay: Duration.Input
  }): Layer.Layer<WithdrawalAddresses, never, Ids | WithdrawalAddressStore> =>
    Layer.effect(
      WithdrawalAddresses,
      Effect.gen(function* () {
        const ids = yield* Ids
        const store = yield* WithdrawalAddressStore
        const delay_ms = Duration.toMillis(options.delay)

        /**
         * Waits until no withdrawal that began before is in progress: at most {@link ATTEMPT_MS}, by elapsed time, because
         * the clock of the gateway with the withdrawal may differ.
         */
        const settled = Effect.fnUntraced(function* (user_id: string) {
          let left = yield* store.open(user_id)
          const began = yield* currentMonotonicMillis
          while (left.length > 0) {
            // none of them can be sequenced any more; their gateway may have died
            if ((yield* currentMonotonicMillis) - began >= ATTEMPT_MS)
              return yield* Effect.forEach(left, (attempt) => store.end(user_id, attempt), { discard: true })
            yield* Effect.sleep(LOOK_AGAIN)
            const open = new Set(yield* store.open(user_id))
            left = left.filter((attempt) => open.has(attempt))
          }
        })
        const unbound = (caller: Caller) => (caller.bound_to === undefined ? Effect.void : Effect.fail(bound))

        return WithdrawalAddresses.of({
          rules: Effect.fnUntraced(function* ({ user_id }) {
            return shown(yield* store.of(user_id), yield* Clock.currentTimeMillis)
          }),
          add: Effect.fnUntraced(function* (caller, { destination: text, label = "" }) {
            yield* unbound(caller)
            const destination = yield* destinationOf(caller, text)
            const created_time = yield* Clock.currentTimeMillis
            const address = { destination, label, created_time, effective_time: created_time + delay_ms }
            return yield* store
              .add(caller.user_id, address, ADDRESSES_MAX)
              .pipe(
                Effect.catchTag("TooManyAddresses", ({ max }) =>
                  Effect.fail(new DomainError("LimitReached", { max }, `at most ${max} withdrawal addresses`))
                )
              )
          }),
          remove: Effect.fnUntraced(function* (caller, text) {
            yield* unbound(caller)
            const destination = yield* destinationOf(caller, text)
            if (!(yield* store.remove(caller.user_id, destination))) return yield* Effect.fail(notFound)
            yield* settled(caller.user_id)
            return destination
          }),
          restrict: Effect.fnUntraced(function* (caller, only_listed) {
            yield* unbound(caller)
            const { user_id } = caller
            const now = yield* Clock.currentTimeMillis
            const rules = yield* store.of(user_id)
            if (only_listed) {
              yield* store.restrict(user_id, true, undefined)
              yield* settled(user_id)
            } else if (isRestricted(rules, now) && rules.loosens_time === undefined) {
              yield* store.restrict(user_id, true, now + delay_ms)
            }
            return shown(yield* store.of(user_id), yield* Clock.currentTimeMillis)
          }),
          guarded: <A, E>(
            user_id: string,
            destination: string,
            withdrawal: Effect.Effect<A, E>,
            isOpen: (error: E) => boolean
          ) =>
            Effect.uninterruptibleMask((restore) =>
              Effect.gen(function* () {
                const attempt = yield* ids.uuid
                const began = yield* currentMonotonicMillis
                yield* store.begin(user_id, attempt)
                // a process that was suspended must not submit what it checked long before
                const inTime = Effect.flatMap(currentMonotonicMillis, (now) =>
                  now - began < ATTEMPT_MS / 2
                    ? Effect.void
                    : Effect.fail(new AccountsUnavailable({ cause: "the check of a withdrawal took too long" }))
                )
                const forget = Effect.ignore(store.end(user_id, attempt))
                const checked = Effect.gen(function* () {
                  const rules = yield* store.of(user_id)
                  const { allowed, effective_time } = verdictOf(rules, destination, yield* Clock.currentTimeMillis)
                  if (allowed) return yield* inTime
                  const facts = { field: "destination", ...(effective_time !== undefined && { effective_time }) }
                  return yield* Effect.fail(new DomainError("DestinationNotListed", facts))
                })
                yield* Effect.onError(restore(checked), () => forget)
                // after an interruption the withdrawal may still be sequenced: the record stays until a change has waited for it
                const result = yield* Effect.tapError(restore(withdrawal), (error) =>
                  isOpen(error) ? Effect.void : forget
                )
                yield* forget
                return result
              })
            )
        })
      })
    )
}
