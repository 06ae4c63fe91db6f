/** Policy: faucet, transfers between a user's sub-accounts, and withdrawals. Source: docs/contract/rest-account.md. */
import { Context, Effect, Layer } from "effect"
import type { Deposit, Withdrawal } from "../../domain/Account.ts"
import type { Movement } from "../../domain/Movement.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { TransferStatus } from "../../domain/Enumerations.ts"
import type { Reason } from "../../domain/Reason.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { type CommandFailure, type CommandType, submit } from "../CommandReasons.ts"
import { destinationOf } from "./WithdrawalDestination.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import { commandIdOf, Ids } from "../operations/Ids.ts"
import { DomainError } from "../DomainError.ts"
import { type CommandAck, Sequencer, SequencerFault } from "../Sequencer.ts"
import { WithdrawalAddresses } from "./WithdrawalAddresses.ts"

/** The only supported collateral. */
const ASSET = "USDC"

/** What a movement of money fails with: `R` beside what all of them have, and the reasons of its command. */
export type FundsFailure<R extends Reason, T extends CommandType> =
  DomainError<R | UnhealthyReason | "InvalidField" | "OutOfRange" | "SubAccountNotFound"> | CommandFailure<T>

const notFound = new DomainError("SubAccountNotFound")
const notFoundIn = (field: string) => new DomainError("SubAccountNotFound", { field })
const disabled = new DomainError("ModuleDisabled")
/** The refusal of a transfer by a backend that does not say which of the two it misses. */
const notBoth = new DomainError(
  "SubAccountNotFound",
  {},
  "from_sub_account_address and to_sub_account_address: expected the addresses of own sub-accounts"
)
const sameAccount = new DomainError(
  "InvalidField",
  { field: "to_sub_account_address" },
  "expected another sub-account than the source"
)

const wrongAmount = (asset: string, amount: string): DomainError<"InvalidField" | "OutOfRange"> | undefined => {
  if (asset !== ASSET) return new DomainError("InvalidField", { field: "asset" }, `expected ${ASSET}, the only asset`)
  if (Decimal.parse(amount) === 0n)
    return new DomainError("OutOfRange", { field: "amount", min: "0" }, "expected an amount above 0")
  return undefined
}

const movementOf = (ack: CommandAck): Effect.Effect<Movement, SequencerFault> =>
  ack.result?.type === "movement"
    ? Effect.succeed(ack.result.movement)
    : Effect.fail(new SequencerFault({ cause: "the response contains no movement" }))

export class Funds extends Context.Service<
  Funds,
  {
    /** Deposits test money; refused if the faucet is disabled. */
    readonly faucet: (
      caller: Caller,
      body: { readonly sub_account_address: string; readonly asset: string; readonly amount: string }
    ) => Effect.Effect<Deposit, FundsFailure<"ModuleDisabled", "deposit">>
    /** Idempotent by transfer_id, without a time limit: the same content returns the first result. */
    readonly transfer: (
      caller: Caller,
      body: {
        readonly transfer_id: string
        readonly from_sub_account_address: string
        readonly to_sub_account_address: string
        readonly asset: string
        readonly amount: string
      }
    ) => Effect.Effect<
      { readonly transfer_id: string; readonly status: TransferStatus },
      FundsFailure<never, "transfer">
    >
    /**
     * Debits the wallet at once; the withdrawal is `pending` until it has arrived. Idempotent by its id, like a
     * transfer.
     */
    readonly withdraw: (
      caller: Caller,
      body: {
        readonly withdrawal_id: string
        readonly sub_account_address: string
        readonly asset: string
        readonly amount: string
        readonly destination: string
      }
    ) => Effect.Effect<Withdrawal, FundsFailure<"DestinationNotListed", "withdraw"> | AccountsUnavailable>
  }
>()("gateway/services/Funds") {
  static readonly layer = (options: {
    /** Disabled in production. */
    readonly faucet: boolean
  }): Layer.Layer<Funds, never, BackendAvailability | Ids | Sequencer | WithdrawalAddresses> =>
    Layer.effect(
      Funds,
      Effect.gen(function* () {
        const availability = yield* BackendAvailability
        const ids = yield* Ids
        const sequencer = yield* Sequencer
        const addresses = yield* WithdrawalAddresses

        return Funds.of({
          faucet: Effect.fnUntraced(function* (caller, { sub_account_address, asset, amount }) {
            if (!options.faucet) return yield* Effect.fail(disabled)
            const wrong = wrongAmount(asset, amount)
            if (wrong !== undefined) return yield* Effect.fail(wrong)
            if (!mayAccess(caller, sub_account_address)) return yield* Effect.fail(notFound)
            yield* availability.sequencer
            const deposit_id = yield* ids.uuid
            const ack = yield* submit(sequencer, {
              command_id: yield* ids.uuid,
              user_id: caller.user_id,
              sub_account_address,
              body: { type: "deposit", deposit_id, asset, amount: Decimal.canonical(amount), source: "faucet" }
            })
            const movement = yield* movementOf(ack)
            return {
              deposit_id,
              sub_account_address,
              asset: movement.asset,
              amount: movement.amount,
              status: movement.status,
              source: "faucet" as const,
              created_time: movement.created_time,
              updated_time: movement.updated_time
            }
          }),
          transfer: Effect.fnUntraced(function* (caller, body) {
            const { transfer_id, from_sub_account_address: from, to_sub_account_address: to, asset, amount } = body
            const wrong = wrongAmount(asset, amount) ?? (from === to ? sameAccount : undefined)
            if (wrong !== undefined) return yield* Effect.fail(wrong)
            if (!mayAccess(caller, from)) return yield* Effect.fail(notFoundIn("from_sub_account_address"))
            if (!mayAccess(caller, to)) return yield* Effect.fail(notFoundIn("to_sub_account_address"))
            yield* availability.sequencer
            const ack = yield* submit(sequencer, {
              command_id: commandIdOf("transfer", caller.user_id, transfer_id),
              user_id: caller.user_id,
              sub_account_address: from,
              body: {
                type: "transfer",
                transfer_id,
                to_sub_account_address: to,
                asset,
                amount: Decimal.canonical(amount)
              }
            }).pipe(
              Effect.catchTag("CommandRefused", (refused) =>
                Effect.fail(
                  refused.reason === "SubAccountNotFound" && refused.details["field"] === undefined ? notBoth : refused
                )
              )
            )
            const { status } = yield* movementOf(ack)
            return { transfer_id, status }
          }),
          withdraw: Effect.fnUntraced(function* (caller, body) {
            const { withdrawal_id, sub_account_address, asset, amount } = body
            const wrong = wrongAmount(asset, amount)
            if (wrong !== undefined) return yield* Effect.fail(wrong)
            const destination = yield* destinationOf(caller, body.destination)
            if (!mayAccess(caller, sub_account_address)) return yield* Effect.fail(notFound)
            yield* availability.sequencer
            const submitted = submit(sequencer, {
              command_id: commandIdOf("withdrawal", caller.user_id, withdrawal_id),
              user_id: caller.user_id,
              sub_account_address,
              body: { type: "withdraw", withdrawal_id, asset, amount: Decimal.canonical(amount), destination }
            })
            const ack = yield* addresses.guarded(
              caller.user_id,
              destination,
              submitted,
              ({ _tag }) => _tag === "OutcomeUnknown"
            )
            const movement = yield* movementOf(ack)
            return {
              withdrawal_id,
              sub_account_address,
              asset: movement.asset,
              amount: movement.amount,
              status: movement.status,
              destination,
              created_time: movement.created_time,
              updated_time: movement.updated_time
            }
          })
        })
      })
    )
}
