/**
 * The reasons for which a sequencer may refuse each kind of command, and the submission of a command with its reasons as a type.
 *
 * A sequencer names its reason as text, so any reason could arrive. One that is not listed for the command breaks the contract
 * of the boundary: the command then fails with a {@link SequencerFault}. Source: docs/contract/boundary.md#errors.
 */
import { Effect } from "effect"
import type { Reason } from "../domain/Reason.ts"
import {
  type Command,
  type CommandAck,
  type CommandBody,
  CommandRefused,
  type Sequencer,
  SequencerFault,
  type SubmitError
} from "./Sequencer.ts"

const input = ["MissingField", "InvalidField", "OutOfRange"] as const
const decimals = ["InvalidDecimal", "TooManyDecimals"] as const
/** Of every command for a caller: RevokedToken, when the credential ends before the command is sent. */
const callers = [...input, "RevokedToken"] as const
const ofSubAccount = [...callers, "SubAccountNotFound"] as const
const ofMarket = [...ofSubAccount, "SymbolNotFound"] as const
const steps = [...decimals, "NotMultipleOfStep", "NotMultipleOfTick"] as const

const commandReasons = {
  place: [...ofMarket, ...steps, "DuplicateOrderLinkId", "LimitReached", "SubAccountFrozen"],
  amend: [
    ...ofMarket,
    ...steps,
    "InsufficientBalance",
    "InvalidQty",
    "LimitReached",
    "OrderAlreadyClosed",
    "OrderNotFound",
    "OrderVersionMismatch",
    "PostOnlyWouldTake",
    "SubAccountFrozen",
    "TriggerAlreadyMet"
  ],
  cancel: [...ofMarket, "OrderAlreadyClosed", "OrderNotFound"],
  cancel_all: ofMarket,
  create_sub_account: [...callers, "LimitReached"],
  set_sub_account: ofSubAccount,
  delete_sub_account: [...ofSubAccount, "NotEmpty", "OpenOrdersExist", "PositionExists"],
  set_leverage: [
    ...ofMarket,
    ...decimals,
    "InsufficientBalance",
    "LeverageUnchanged",
    "NotMultipleOfStep",
    "PositionInLiquidation"
  ],
  set_margin_mode: [...ofMarket, ...decimals, "NotMultipleOfStep", "OpenOrdersExist", "PositionExists"],
  add_margin: [...ofMarket, ...decimals, "InsufficientBalance", "NotIsolated", "PositionNotFound"],
  set_trading_stop: [...ofMarket, ...steps, "LimitReached", "PositionNotFound", "SubAccountFrozen"],
  transfer: [...ofSubAccount, ...decimals, "DuplicateRequestId", "InsufficientBalance"],
  deposit: [...ofSubAccount, ...decimals, "FaucetLimit"],
  withdraw: [...ofSubAccount, ...decimals, "DuplicateRequestId", "InsufficientBalance"],
  credit: [...ofSubAccount, ...decimals, "DuplicateRequestId"],
  set_index_price: [...input, ...decimals, "NotMultipleOfTick", "SymbolNotFound"]
} as const satisfies { readonly [T in CommandType]: ReadonlyArray<Reason> }

export type CommandType = CommandBody["type"]
/** Why a sequencer may refuse a command of some kind. */
export type CommandReason<T extends CommandType = CommandType> = (typeof commandReasons)[T][number]
/** What a command of some kind fails with. */
export type CommandFailure<T extends CommandType = CommandType> =
  CommandRefused<CommandReason<T>> | Exclude<SubmitError, CommandRefused>

const isListed = <T extends CommandType>(
  type: T,
  refused: CommandRefused
): refused is CommandRefused<CommandReason<T>> => {
  const listed: ReadonlyArray<Reason> = commandReasons[type]
  return listed.includes(refused.reason)
}

/** The failure of a command of this kind; a refusal for a reason that the kind does not have is a fault of the sequencer. */
export const failureOf = <T extends CommandType>(type: T, failure: SubmitError): CommandFailure<T> => {
  if (!(failure instanceof CommandRefused)) return failure
  if (isListed(type, failure)) return failure
  return new SequencerFault({ cause: new Error(`${type} refused with ${failure.reason}: ${failure.message}`) })
}

/** Submits a command. */
export const submit = <B extends CommandBody>(
  sequencer: Sequencer["Service"],
  command: Command<B>
): Effect.Effect<CommandAck, CommandFailure<B["type"]>> =>
  Effect.mapError(sequencer.submit(command), (failure) => failureOf(command.body.type, failure))
