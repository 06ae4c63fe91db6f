/**
 * Port: the sequencer, which puts all state changes into one order.
 *
 * Guarantee: an acknowledged command is durable and has its place in the sequence; a refused command changed nothing.
 * After {@link SequencerUnavailable} the command was certainly not sequenced. After {@link OutcomeUnknown} it may
 * have been, and only the same `command_id` may be sent again.
 *
 * An acknowledgement means that an order has a place in the sequence, not that it succeeded; the result arrives on
 * the event stream. A command of a request is sent only while the grant of `RequestCaller` is valid, and, except a
 * cancel, its lease is current. It holds the grant until its outcome is known; otherwise it is refused.
 * Source: docs/contract/boundary.md#sequencer, #errors, docs/contract/authentication.md#revocation, #fresh-gateways.
 */
import { Context, type Effect, Schema } from "effect"
import type { Movement } from "../domain/Movement.ts"
import type { MarginMode } from "../domain/Enumerations.ts"
import type { Instrument, Level, Prices } from "../domain/Market.ts"
import type { AmendOrder, CancelAll, CancelOrder, Exits, NewOrder, Order, OrderRef } from "../domain/Order.ts"
import type { PositionState } from "../domain/Position.ts"
import { Details, Reason } from "../domain/Reason.ts"
import type { SubAccountState } from "../domain/User.ts"
import type { Failure } from "./DomainError.ts"

export type CommandBody =
  | { readonly type: "place"; readonly order: NewOrder }
  | { readonly type: "amend"; readonly amend: AmendOrder }
  | { readonly type: "cancel"; readonly cancel: CancelOrder }
  | { readonly type: "cancel_all"; readonly cancel_all: CancelAll }
  /** `index` absent: the next one; 0 returns the existing one. */
  | { readonly type: "create_sub_account"; readonly root_address: string; readonly index: number | undefined }
  | { readonly type: "set_sub_account"; readonly frozen: boolean }
  /** Only an empty sub-account, and not index 0. */
  | { readonly type: "delete_sub_account" }
  | { readonly type: "set_leverage"; readonly symbol: string; readonly leverage: string }
  | {
      readonly type: "set_margin_mode"
      readonly symbol: string
      readonly margin_mode: MarginMode
      readonly leverage: string | undefined
    }
  /** `margin` is signed: a negative amount removes margin. */
  | { readonly type: "add_margin"; readonly symbol: string; readonly margin: string }
  /** Sizes apply to mode `Partial`; absent: the whole position. */
  | {
      readonly type: "set_trading_stop"
      readonly symbol: string
      readonly tpsl: Exits
      readonly take_profit_size: string | undefined
      readonly stop_loss_size: string | undefined
    }
  | {
      readonly type: "transfer"
      readonly transfer_id: string
      readonly to_sub_account_address: string
      readonly asset: string
      readonly amount: string
    }
  | {
      readonly type: "deposit"
      readonly deposit_id: string
      readonly asset: string
      readonly amount: string
      readonly source: "faucet" | "rail"
    }
  | {
      readonly type: "withdraw"
      readonly withdrawal_id: string
      readonly asset: string
      readonly amount: string
      readonly destination: string
    }
  /** Pays a reward; a reward_id is paid at most once. */
  | { readonly type: "credit"; readonly reward_id: string; readonly asset: string; readonly amount: string }
  /** `price` absent: the market returns to its index source. */
  | { readonly type: "set_index_price"; readonly symbol: string; readonly price: string | undefined }

/** Cancels all orders of a sub-account, conditional ones included, with a type that names who canceled them. */
export const cancelOfAll = (cancel_type: CancelAll["cancel_type"]): CommandBody => ({
  type: "cancel_all",
  cancel_all: { symbol: undefined, side: undefined, order_filter: "All", reduce_only: undefined, cancel_type }
})

export interface Command<out B extends CommandBody = CommandBody> {
  /** UUID; the idempotency key for 24 hours. */
  readonly command_id: string
  readonly user_id: string
  readonly sub_account_address: string
  readonly body: B
}

export interface CommandAck {
  /** Seq of the last event that the command caused. */
  readonly seq: number
  readonly accepted_at_ms: number
  readonly orders: ReadonlyArray<OrderRef>
  /** The command was acknowledged before. */
  readonly duplicate: boolean
  /** Version of an amended order. */
  readonly version: number | undefined
  /**
   * Why the engine refused an amend when it executed the command. The order is unchanged, and its event reports the
   * same.
   * Source: docs/contract/orders.md#refused-amends.
   */
  readonly refusal?: CommandRefused | undefined
  readonly result:
    | { readonly type: "sub_account"; readonly sub_account: SubAccountState }
    | { readonly type: "movement"; readonly movement: Movement }
    | { readonly type: "position"; readonly position: PositionState }
    | { readonly type: "prices"; readonly prices: Prices }
    | undefined
}

/**
 * Time in which the events of an acknowledged command arrive, in ms. Nothing waits longer for the seq of an acknowledgement,
 * which the stream of a faulty sequencer may never reach.
 */
export const EVENTS_MS_MAX = 5_000

/** The sequencer refused the command; nothing changed. Frequent and expected, so it carries no stack. */
export class CommandRefused<out R extends Reason = Reason>
  extends Schema.TaggedClass<CommandRefused>()("CommandRefused", {
    reason: Reason,
    /** What the sequencer says of the command; "": the reason says it. */
    message: Schema.String,
    details: Details
  })
  implements Failure<R>
{
  declare readonly reason: R
  constructor({ reason, ...rest }: { readonly reason: R; readonly message: string; readonly details: Details }) {
    super({ reason, ...rest })
  }
}
/** Nothing was sequenced: no connection, too many commands waiting, or the link is lagging. */
export class SequencerUnavailable extends Schema.TaggedError<SequencerUnavailable>()("SequencerUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "BackendUnavailable"
}
/** Nothing was sequenced: this gateway could not read whether the credential of the caller was revoked. */
export class CredentialUnchecked extends Schema.TaggedError<CredentialUnchecked>()("CredentialUnchecked", {}) {
  readonly reason = "DatabaseUnavailable"
}
/** The command was sent without a response: it may or may not have been sequenced. */
export class OutcomeUnknown extends Schema.TaggedError<OutcomeUnknown>()("OutcomeUnknown", {}) {
  readonly reason = "DeadlineExceeded"
}
/** The response of the sequencer violates the contract. */
export class SequencerFault extends Schema.TaggedError<SequencerFault>()("SequencerFault", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "InternalError"
}

/**
 * Nothing was sequenced: this gateway has as many commands in flight as it can process in time, or the command reached
 * the sequencer too late to be sequenced on a check of its credential. Frequent, so it has no stack.
 */
export class Overloaded extends Schema.TaggedClass<Overloaded>()("Overloaded", {}) {
  readonly reason = "Overloaded"
}
export const overloaded = new Overloaded()

export type SubmitError =
  CommandRefused | CredentialUnchecked | SequencerUnavailable | Overloaded | OutcomeUnknown | SequencerFault
export type ReadError = SequencerUnavailable | SequencerFault

export class Sequencer extends Context.Service<
  Sequencer,
  {
    /** Submits one command; completes within 2 s. */
    readonly submit: (command: Command) => Effect.Effect<CommandAck, SubmitError>
    /** Time for which no command could be submitted, in ms; 0: commands can be submitted, as far as the last ones show. */
    readonly commands_down_ms: () => number
    /** The book of a market, all levels, best first; it includes the events up to `as_of_seq`. */
    readonly orderBook: (symbol: string) => Effect.Effect<
      {
        readonly bids: ReadonlyArray<Level>
        readonly asks: ReadonlyArray<Level>
        readonly book_seq: number
        readonly mts: number
        readonly as_of_seq: number
      },
      ReadError
    >
    readonly instruments: Effect.Effect<ReadonlyArray<Instrument>, ReadError>
    /** Every open order, with its owner. */
    readonly openOrders: Effect.Effect<
      {
        readonly orders: ReadonlyArray<{ readonly user_id: string; readonly order: Order }>
        readonly as_of_seq: number
      },
      ReadError
    >
    readonly subAccounts: (user_id: string | undefined) => Effect.Effect<ReadonlyArray<SubAccountState>, ReadError>
    readonly head: Effect.Effect<
      {
        readonly epoch: string
        readonly head_seq: number
        /** Engine time, Unix ms. */
        readonly server_ts_ms: number
        /** The history, and its checksum at the head; absent where the backend has none. */
        readonly fork?: string | undefined
        readonly checksum?: number | undefined
        /** Seq of the oldest event that the feed can begin with; absent: unknown. */
        readonly first_seq?: number | undefined
      },
      ReadError
    >
  }
>()("gateway/services/Sequencer") {}
