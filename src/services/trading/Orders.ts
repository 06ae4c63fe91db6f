/**
 * Policy: order entry. Refuses requests that are certainly invalid, assigns each command its id and submits the rest.
 *
 * An acknowledgement means that the order has its place in the sequence; the result arrives on the event stream. The
 * acknowledgement of an amend also reports a refusal, if the sequencer decides it before it acknowledges.
 *
 * The read model may lag, so an order that it does not contain is never refused here but forwarded. If the sequencer
 * no longer has an order, the history supplies its final status.
 * Source: docs/contract/orders.md#new-order, #order-semantics, docs/contract/rest-trading.md#order-endpoints,
 * docs/contract/boundary.md#errors, #retries, #lagging.
 */
import { Clock, Context, Effect, Layer, Result } from "effect"
import type { OrderFilter, Side } from "../../domain/Enumerations.ts"
import { isFinal, type OrderName, type OrderRef } from "../../domain/Order.ts"
import * as OrderForm from "../../domain/OrderForm.ts"
import type { AmendRequest, OrderNameRequest, OrderRequest } from "../../domain/OrderForm.ts"
import type * as OrderRules from "../../domain/OrderRules.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import { type CommandFailure, failureOf, submit as submitted } from "../CommandReasons.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { commandIdOf, Ids } from "../operations/Ids.ts"
import { MarketView } from "../markets/MarketView.ts"
import { noSuchMarket, unknownMarket, unknownOnceLoaded } from "../markets/UnknownMarket.ts"
import { rules, violated } from "./InstrumentRules.ts"
import { DomainError } from "../DomainError.ts"
import { type CommandAck, type CommandBody, CommandRefused, Sequencer } from "../Sequencer.ts"

export interface CancelAllRequest {
  readonly sub_account_address: string
  readonly symbol?: string
  readonly side?: Side
  readonly order_filter?: OrderFilter
  readonly reduce_only?: boolean
}

/** The results of the orders of a batch, in order. */
export type BatchOutcome<F = CreateFailure | CancelFailure> = ReadonlyArray<Result.Result<OrderRef, F>>

/** Why the address or the market of an order is refused. */
type NameReason = "SubAccountNotFound" | "SymbolNotFound" | "BackendUnavailable"
/** What became of a named order that the sequencer does not hold any more. */
type NamedReason = NameReason | "InvalidField" | "MissingField" | "OrderAlreadyClosed"

export type CreateFailure =
  | DomainError<NameReason | UnhealthyReason | OrderRules.ViolationReason | "DuplicateOrderLinkId">
  | CommandFailure<"place">
export type AmendFailure =
  DomainError<NamedReason | UnhealthyReason | OrderRules.ViolationReason> | CommandFailure<"amend"> | HistoryUnavailable
export type CancelFailure = DomainError<NamedReason> | CommandFailure<"cancel"> | HistoryUnavailable
export type CancelAllFailure = DomainError<NameReason> | CommandFailure<"cancel_all">

const noSubAccount = new DomainError("SubAccountNotFound")
const notLoaded = new DomainError("BackendUnavailable")
const noOrderNamed = new DomainError("MissingField", { field: "order_id" }, "expected order_id or order_link_id")
const noChange = new DomainError(
  "MissingField",
  { field: "price" },
  "expected at least one of price, qty, trigger and tpsl"
)
const otherOrder = new DomainError(
  "InvalidField",
  { field: "order_link_id" },
  "expected the order_link_id of the same order as order_id"
)

export class Orders extends Context.Service<
  Orders,
  {
    readonly create: (caller: Caller, order: OrderRequest) => Effect.Effect<OrderRef, CreateFailure>
    readonly amend: (caller: Caller, amend: AmendRequest) => Effect.Effect<OrderRef, AmendFailure>
    readonly cancel: (caller: Caller, cancel: OrderNameRequest) => Effect.Effect<OrderRef, CancelFailure>
    /**
     * Handles each order independently. The commands are submitted in this order without waiting; the results are in
     * the same order.
     */
    readonly createBatch: (caller: Caller, orders: ReadonlyArray<OrderRequest>) => Effect.Effect<BatchOutcome>
    readonly cancelBatch: (caller: Caller, orders: ReadonlyArray<OrderNameRequest>) => Effect.Effect<BatchOutcome>
    /** Returns the orders whose cancellation was accepted. */
    readonly cancelAll: (
      caller: Caller,
      cancel: CancelAllRequest
    ) => Effect.Effect<ReadonlyArray<OrderRef>, CancelAllFailure>
  }
>()("gateway/services/Orders") {
  static readonly layer: Layer.Layer<Orders, never, BackendAvailability | History | Ids | MarketView | Sequencer> =
    Layer.effect(
      Orders,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const now = () => clock.currentTimeMillisUnsafe()
        const availability = yield* BackendAvailability
        const history = yield* History
        const ids = yield* Ids
        const markets = yield* MarketView
        const sequencer = yield* Sequencer

        const submit = <B extends CommandBody>(
          caller: Caller,
          sub_account_address: string,
          command_id: string,
          body: B
        ): Effect.Effect<CommandAck, CommandFailure<B["type"]>> =>
          submitted(sequencer, { command_id, user_id: caller.user_id, sub_account_address, body })

        const refOf = (ack: CommandAck): OrderRef => ack.orders[0]!

        const create = (caller: Caller, request: OrderRequest): Effect.Effect<OrderRef, CreateFailure> => {
          if (!mayAccess(caller, request.sub_account_address)) return Effect.fail(noSubAccount)
          const instrument = markets.instrument(request.symbol)
          if (instrument === undefined) return Effect.fail(noSuchMarket(markets))
          const order = OrderForm.newOrder(rules(instrument), request, now)
          if (OrderForm.isViolation(order)) return Effect.fail(violated(order))
          const body = { type: "place" as const, order }
          const link = request.order_link_id
          const acknowledged =
            link === undefined
              ? Effect.flatMap(ids.uuid, (id) => submit(caller, request.sub_account_address, id, body))
              : submit(
                  caller,
                  request.sub_account_address,
                  commandIdOf("place", request.sub_account_address, link),
                  body
                )
          return Effect.andThen(
            availability.sequencer,
            Effect.flatMap(acknowledged, (ack) =>
              // the gateway does not retry commands, so a duplicate is from the client
              ack.duplicate
                ? Effect.fail(new DomainError("DuplicateOrderLinkId", { order_id: refOf(ack).order_id }))
                : Effect.succeed(refOf(ack))
            )
          )
        }

        const nameOf = (request: OrderNameRequest): OrderName => ({
          order_id: request.order_id,
          order_link_id: request.order_link_id
        })

        /** Explains OrderNotFound: an order that the sequencer has evicted is in the history, with a final status. */
        const explain = <F extends CommandFailure<"amend" | "cancel">>(
          caller: Caller,
          request: OrderNameRequest,
          refusal: F
        ) =>
          refusal instanceof CommandRefused && refusal.reason === "OrderNotFound"
            ? Effect.flatMap(
                history.order({
                  user_id: caller.user_id,
                  sub_account_address: request.sub_account_address,
                  order_id: request.order_id,
                  order_link_id: request.order_id === undefined ? request.order_link_id : undefined
                }),
                (order): Effect.Effect<never, F | DomainError<"InvalidField" | "OrderAlreadyClosed">> =>
                  order === undefined || order.symbol !== request.symbol || !isFinal(order.order_status)
                    ? Effect.fail(refusal)
                    : request.order_link_id !== undefined && order.order_link_id !== request.order_link_id
                      ? Effect.fail(otherOrder)
                      : Effect.fail(new DomainError("OrderAlreadyClosed", { order_status: order.order_status }))
              )
            : Effect.fail(refusal)

        /** Submits a command for an existing order. */
        const onOrder = <B extends Extract<CommandBody, { readonly type: "amend" | "cancel" }>>(
          caller: Caller,
          request: OrderNameRequest,
          body: B
        ) =>
          Effect.flatMap(ids.uuid, (id) => submit(caller, request.sub_account_address, id, body)).pipe(
            Effect.flatMap((ack): Effect.Effect<OrderRef, CommandFailure<B["type"]>> =>
              ack.refusal === undefined ? Effect.succeed(refOf(ack)) : Effect.fail(failureOf(body.type, ack.refusal))
            ),
            Effect.catch((failure) => explain(caller, request, failure))
          )

        /** The error of an invalid order reference, before anything is submitted. */
        const invalidReference = (
          caller: Caller,
          request: OrderNameRequest
        ): DomainError<"MissingField" | "SubAccountNotFound" | "SymbolNotFound"> | undefined => {
          if (request.order_id === undefined && request.order_link_id === undefined) return noOrderNamed
          if (!mayAccess(caller, request.sub_account_address)) return noSubAccount
          return unknownOnceLoaded(markets, request.symbol)
        }

        const amend = (caller: Caller, request: AmendRequest): Effect.Effect<OrderRef, AmendFailure> => {
          if ([request.price, request.qty, request.trigger, request.tpsl].every((part) => part === undefined))
            return Effect.fail(noChange)
          const wrong = invalidReference(caller, request)
          if (wrong !== undefined) return Effect.fail(wrong)
          const instrument = markets.instrument(request.symbol)
          if (instrument === undefined) return Effect.fail(notLoaded)
          const made = OrderForm.amendment(rules(instrument), request)
          if (OrderForm.isViolation(made)) return Effect.fail(violated(made))
          return Effect.andThen(availability.sequencer, onOrder(caller, request, { type: "amend", amend: made }))
        }

        const cancel = (caller: Caller, request: OrderNameRequest): Effect.Effect<OrderRef, CancelFailure> => {
          const wrong = invalidReference(caller, request)
          if (wrong !== undefined) return Effect.fail(wrong)
          return onOrder(caller, request, {
            type: "cancel",
            cancel: { symbol: request.symbol, order: nameOf(request) }
          })
        }

        const cancelAll = (
          caller: Caller,
          request: CancelAllRequest
        ): Effect.Effect<ReadonlyArray<OrderRef>, CancelAllFailure> => {
          if (!mayAccess(caller, request.sub_account_address)) return Effect.fail(noSubAccount)
          const unknown = unknownMarket(markets, request.symbol)
          if (unknown !== undefined) return Effect.fail(unknown)
          const cancel_all = {
            symbol: request.symbol,
            side: request.side,
            order_filter: request.order_filter ?? ("All" as const),
            reduce_only: request.reduce_only,
            cancel_type: "CancelByUser" as const
          }
          return Effect.flatMap(ids.uuid, (id) =>
            submit(caller, request.sub_account_address, id, { type: "cancel_all", cancel_all })
          ).pipe(Effect.map((ack) => ack.orders))
        }

        // one fiber per order, started in order: none waits before its command is submitted
        const each = <A, F>(requests: ReadonlyArray<A>, act: (request: A) => Effect.Effect<OrderRef, F>) =>
          Effect.forEach(requests, (one) => Effect.result(act(one)), { concurrency: "unbounded" })

        return Orders.of({
          create,
          amend,
          cancel,
          createBatch: (caller, orders) => each(orders, (request) => create(caller, request)),
          cancelBatch: (caller, orders) => each(orders, (request) => cancel(caller, request)),
          cancelAll
        })
      })
    )
}
