/**
 * Policy: ownership and management of sub-accounts.
 * Source: docs/contract/rest.md#sub-account-filter, docs/contract/rest-user.md#sub-accounts,
 * docs/contract/authentication.md#scopes.
 */
import { Context, Effect, Layer } from "effect"
import type { Reason } from "../../domain/Reason.ts"
import { type Caller, mayAccess, type SubAccount, type SubAccountState } from "../../domain/User.ts"
import { Accounts, type AccountsUnavailable } from "./Accounts.ts"
import { type CommandFailure, type CommandType, submit } from "../CommandReasons.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { Ids } from "../operations/Ids.ts"
import { DomainError } from "../DomainError.ts"
import { type CommandAck, type ReadError, Sequencer, SequencerFault } from "../Sequencer.ts"

/** Why an address is refused where a list is narrowed to it. */
export type ResolveReason = "SubAccountNotFound"
export type ResolveFailure = DomainError<ResolveReason> | HistoryUnavailable | ReadError

/** What a change of a sub-account fails with beside the reasons `R` and those of its command. */
type ChangeFailure<R extends Reason, T extends CommandType> =
  DomainError<R | UnhealthyReason> | CommandFailure<T> | AccountsUnavailable | HistoryUnavailable | ReadError

const notFound = new DomainError("SubAccountNotFound")
const first = new DomainError("NotEmpty", { index: 0 }, "the first sub-account cannot be deleted")
const bound = new DomainError(
  "InsufficientScope",
  { required: "account" },
  "an API key bound to sub-accounts cannot create others"
)

export class SubAccounts extends Context.Service<
  SubAccounts,
  {
    /** Sub-accounts that the credential may access, ordered by index. */
    readonly list: (
      caller: Caller
    ) => Effect.Effect<
      ReadonlyArray<SubAccount>,
      DomainError<UnhealthyReason> | AccountsUnavailable | HistoryUnavailable
    >
    readonly create: (
      caller: Caller,
      label: string | undefined
    ) => Effect.Effect<SubAccount, ChangeFailure<"InsufficientScope", "create_sub_account">>
    readonly change: (
      caller: Caller,
      address: string,
      change: { readonly label?: string; readonly frozen?: boolean }
    ) => Effect.Effect<SubAccount, ChangeFailure<"MissingField" | "SubAccountNotFound", "set_sub_account">>
    /** Permanently deletes an empty sub-account: its index and address are not reused. Index 0 cannot be deleted. */
    readonly remove: (
      caller: Caller,
      address: string
    ) => Effect.Effect<void, ChangeFailure<"NotEmpty" | "SubAccountNotFound", "delete_sub_account">>
    /** Addresses of all sub-accounts that the credential may access. */
    readonly addresses: (caller: Caller) => Effect.Effect<ReadonlyArray<string>, HistoryUnavailable>
    /**
     * Addresses that a read includes: the given one, or all that the credential may access. An address of another
     * user fails as not found, so that its existence is not revealed.
     */
    readonly resolve: (
      caller: Caller,
      address: string | undefined
    ) => Effect.Effect<ReadonlyArray<string>, ResolveFailure>
    /** As `resolve`, deleted sub-accounts included: their records stay. */
    readonly resolveWithDeleted: (
      caller: Caller,
      address: string | undefined
    ) => Effect.Effect<ReadonlyArray<string>, ResolveFailure>
  }
>()("gateway/services/SubAccounts") {
  static readonly layer: Layer.Layer<SubAccounts, never, Accounts | BackendAvailability | History | Ids | Sequencer> =
    Layer.effect(
      SubAccounts,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const gate = yield* BackendAvailability
        const history = yield* History
        const ids = yield* Ids
        const sequencer = yield* Sequencer

        const isInUse = ({ deleted }: SubAccountState): boolean => !deleted

        const known = (caller: Caller, counts = isInUse) =>
          Effect.map(history.subAccounts(caller.user_id), (states) =>
            states.filter((state) => counts(state) && mayAccess(caller, state.sub_account_address))
          )

        /** Finds a sub-account. The newest ones may be missing in the read model; the sequencer has them. */
        const find = Effect.fnUntraced(function* (caller: Caller, address: string, counts = isInUse) {
          if (!mayAccess(caller, address)) return yield* Effect.fail(notFound)
          const isIt = (state: SubAccountState) => state.sub_account_address === address && counts(state)
          const found =
            (yield* history.subAccounts(caller.user_id)).find(isIt) ??
            (yield* sequencer.subAccounts(caller.user_id)).find(isIt)
          return found ?? (yield* Effect.fail(notFound))
        })

        const recordOf = (state: SubAccountState, label: string): SubAccount => ({
          sub_account_address: state.sub_account_address,
          index: state.index,
          label,
          frozen: state.frozen,
          created_time: state.created_time
        })

        const stateOf = (ack: CommandAck): Effect.Effect<SubAccountState, SequencerFault> =>
          ack.result?.type === "sub_account"
            ? Effect.succeed(ack.result.sub_account)
            : Effect.fail(new SequencerFault({ cause: "the response contains no sub-account" }))

        const addresses = (caller: Caller, counts = isInUse) =>
          Effect.map(known(caller, counts), (states) => states.map((state) => state.sub_account_address))
        const resolve = (caller: Caller, address: string | undefined, counts = isInUse) =>
          address === undefined ? addresses(caller, counts) : Effect.map(find(caller, address, counts), () => [address])

        return SubAccounts.of({
          addresses: (caller) => addresses(caller),
          list: Effect.fnUntraced(function* (caller) {
            yield* gate.sequencer
            const labels = yield* accounts.labels(caller.user_id)
            const states = yield* known(caller)
            return states
              .map((state) => recordOf(state, labels.get(state.sub_account_address) ?? ""))
              .sort((a, b) => a.index - b.index)
          }),
          create: Effect.fnUntraced(function* (caller, label) {
            if (caller.bound_to !== undefined) return yield* Effect.fail(bound)
            yield* gate.sequencer
            const ack = yield* submit(sequencer, {
              command_id: yield* ids.uuid,
              user_id: caller.user_id,
              sub_account_address: "",
              body: { type: "create_sub_account", root_address: caller.root_address, index: undefined }
            })
            const state = yield* stateOf(ack)
            if (label === undefined) return recordOf(state, "")
            const labelled = Effect.as(accounts.setLabel(caller.user_id, state.sub_account_address, label), label)
            // the sub-account exists: an error would let a caller create another one
            return recordOf(state, yield* Effect.orElseSucceed(labelled, () => ""))
          }),
          change: Effect.fnUntraced(function* (caller, address, { label, frozen }) {
            if (label === undefined && frozen === undefined) {
              return yield* Effect.fail(
                new DomainError("MissingField", { field: "label" }, "expected at least one of label and frozen")
              )
            }
            let state: SubAccountState = yield* find(caller, address)
            if (frozen !== undefined) {
              yield* gate.sequencer
              const ack = yield* submit(sequencer, {
                command_id: yield* ids.uuid,
                user_id: caller.user_id,
                sub_account_address: address,
                body: { type: "set_sub_account", frozen }
              })
              state = yield* stateOf(ack)
            }
            if (label !== undefined) yield* accounts.setLabel(caller.user_id, address, label)
            const labels = yield* accounts.labels(caller.user_id)
            return recordOf(state, labels.get(address) ?? "")
          }),
          remove: Effect.fnUntraced(function* (caller, address) {
            const state = yield* find(caller, address)
            if (state.index === 0) return yield* Effect.fail(first)
            yield* gate.sequencer
            yield* submit(sequencer, {
              command_id: yield* ids.uuid,
              user_id: caller.user_id,
              sub_account_address: address,
              body: { type: "delete_sub_account" }
            })
          }),
          resolve: (caller, address) => resolve(caller, address),
          resolveWithDeleted: (caller, address) => resolve(caller, address, () => true)
        })
      })
    )
}
