/**
 * Policy: the order desk. Refuses what is sure without the sequence, gives each command its id and submits the rest.
 *
 * An acknowledgement says that the order has its place in the sequence; what became of it arrives on the event stream. One
 * of an amend also says whether its turn refused it, where the sequencer decides before it acknowledges.
 * The read model may lag, so what it does not know is never refused here but forwarded; where the sequencer does not
 * know an order any more, the history still tells what became of it. Source: docs/contract/orders.md#new-order,
 * #order-semantics, docs/contract/rest-trading.md#order-endpoints, docs/contract/boundary.md#errors, #retries,
 * #lagging.
 */
import { Clock, Context, Effect, Layer, Result } from "effect"
import type { OrderFilter, Side } from "../../domain/Enumerations.ts"
import { isFinal, type OrderName, type OrderRef } from "../../domain/Order.ts"
import * as OrderForm from "../../domain/OrderForm.ts"
import type { AmendRequest, OrderNameRequest, OrderRequest } from "../../domain/OrderForm.ts"
import type { Caller } from "../../domain/User.ts"
import { BackendAvailability } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { commandIdOf, Ids } from "../operations/Ids.ts"
import { MarketView } from "../markets/MarketView.ts"
import { rules, violated } from "./InstrumentRules.ts"
import { DomainError } from "../DomainError.ts"
import { type CommandAck, type CommandBody, CommandRefused, Sequencer, type SubmitError } from "../Sequencer.ts"

export interface CancelAllRequest {
  readonly sub_account_address: string
  readonly symbol?: string
  readonly side?: Side
  readonly order_filter?: OrderFilter
  readonly reduce_only?: boolean
}

/** What became of the orders of a batch, one by one. */
export type BatchOutcome = ReadonlyArray<Result.Result<OrderRef, OrderFailure>>

export type OrderFailure = DomainError | SubmitError | HistoryUnavailable

const noSubAccount = new DomainError("SubAccountNotFound")
const noSymbol = new DomainError("SymbolNotFound", { field: "symbol" })
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
    readonly create: (caller: Caller, order: OrderRequest) => Effect.Effect<OrderRef, OrderFailure>
    readonly amend: (caller: Caller, amend: AmendRequest) => Effect.Effect<OrderRef, OrderFailure>
    readonly cancel: (caller: Caller, cancel: OrderNameRequest) => Effect.Effect<OrderRef, OrderFailure>
    /** Each order as by itself, submitted in this order and at once; results in the same order. */
    readonly createBatch: (caller: Caller, orders: ReadonlyArray<OrderRequest>) => Effect.Effect<BatchOutcome>
    readonly cancelBatch: (caller: Caller, orders: ReadonlyArray<OrderNameRequest>) => Effect.Effect<BatchOutcome>
    /** Answers the orders taken into cancellation. */
    readonly cancelAll: (
      caller: Caller,
      cancel: CancelAllRequest
    ) => Effect.Effect<ReadonlyArray<OrderRef>, OrderFailure>
  }
>()("gateway/services/Orders") {
  static readonly layer: Layer.Layer<Orders, never, BackendAvailability | History | Ids | MarketView | Sequencer> =
    Layer.effect(
      Orders,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const now = () => clock.currentTimeMillisUnsafe()
        const gate = yield* BackendAvailability
        const history = yield* History
        const ids = yield* Ids
        const markets = yield* MarketView
        const sequencer = yield* Sequencer

        const submit = (
          caller: Caller,
          sub_account_address: string,
          command_id: string,
          body: CommandBody
        ): Effect.Effect<CommandAck, SubmitError> =>
          sequencer.submit({ command_id, user_id: caller.user_id, sub_account_address, body })

        const isForeign = (caller: Caller, address: string): boolean =>
          caller.bound_to !== undefined && !caller.bound_to.has(address)

        const refOf = (ack: CommandAck): OrderRef => ack.orders[0]!

        const create = (caller: Caller, asked: OrderRequest): Effect.Effect<OrderRef, OrderFailure> => {
          if (isForeign(caller, asked.sub_account_address)) return Effect.fail(noSubAccount)
          const instrument = markets.instrument(asked.symbol)
          if (instrument === undefined) return Effect.fail(markets.instruments().length === 0 ? notLoaded : noSymbol)
          const order = OrderForm.newOrder(rules(instrument), asked, now)
          if (OrderForm.isViolation(order)) return Effect.fail(violated(order))
          const body = { type: "place" as const, order }
          const link = asked.order_link_id
          const submitted =
            link === undefined
              ? Effect.flatMap(ids.uuid, (id) => submit(caller, asked.sub_account_address, id, body))
              : submit(caller, asked.sub_account_address, commandIdOf("place", asked.sub_account_address, link), body)
          return Effect.andThen(
            gate.sequencer,
            Effect.flatMap(submitted, (ack) =>
              // nothing here repeats a command by itself: a duplicate is the client's
              ack.duplicate
                ? Effect.fail(new DomainError("DuplicateOrderLinkId", { order_id: refOf(ack).order_id }))
                : Effect.succeed(refOf(ack))
            )
          )
        }

        const nameOf = (asked: OrderNameRequest): OrderName => ({
          order_id: asked.order_id,
          order_link_id: asked.order_link_id
        })

        /** An order that the sequencer has forgotten is still in the history, and final. */
        const explain = (caller: Caller, asked: OrderNameRequest) => (refusal: SubmitError) =>
          refusal instanceof CommandRefused && refusal.reason === "OrderNotFound"
            ? Effect.flatMap(
                history.order({
                  user_id: caller.user_id,
                  sub_account_address: asked.sub_account_address,
                  order_id: asked.order_id,
                  order_link_id: asked.order_id === undefined ? asked.order_link_id : undefined
                }),
                (order): Effect.Effect<never, OrderFailure> =>
                  order === undefined || order.symbol !== asked.symbol || !isFinal(order.order_status)
                    ? Effect.fail(refusal)
                    : asked.order_link_id !== undefined && order.order_link_id !== asked.order_link_id
                      ? Effect.fail(otherOrder)
                      : Effect.fail(new DomainError("OrderAlreadyClosed", { order_status: order.order_status }))
              )
            : Effect.fail(refusal)

        /** Submits a command on a named order. */
        const onOrder = (
          caller: Caller,
          asked: OrderNameRequest,
          body: CommandBody
        ): Effect.Effect<OrderRef, OrderFailure> =>
          Effect.flatMap(ids.uuid, (id) => submit(caller, asked.sub_account_address, id, body)).pipe(
            Effect.flatMap((ack) =>
              ack.refusal === undefined ? Effect.succeed(refOf(ack)) : Effect.fail(ack.refusal)
            ),
            Effect.catch(explain(caller, asked))
          )

        /** What is wrong with the naming of an order, before anything is asked of it. */
        const misnamed = (caller: Caller, asked: OrderNameRequest): DomainError | undefined => {
          if (asked.order_id === undefined && asked.order_link_id === undefined) return noOrderNamed
          if (isForeign(caller, asked.sub_account_address)) return noSubAccount
          if (markets.instrument(asked.symbol) === undefined && markets.instruments().length > 0) return noSymbol
          return undefined
        }

        const amend = (caller: Caller, asked: AmendRequest): Effect.Effect<OrderRef, OrderFailure> => {
          if ([asked.price, asked.qty, asked.trigger, asked.tpsl].every((part) => part === undefined))
            return Effect.fail(noChange)
          const wrong = misnamed(caller, asked)
          if (wrong !== undefined) return Effect.fail(wrong)
          const instrument = markets.instrument(asked.symbol)
          if (instrument === undefined) return Effect.fail(notLoaded)
          const made = OrderForm.amendment(rules(instrument), asked)
          if (OrderForm.isViolation(made)) return Effect.fail(violated(made))
          return Effect.andThen(gate.sequencer, onOrder(caller, asked, { type: "amend", amend: made }))
        }

        const cancel = (caller: Caller, asked: OrderNameRequest): Effect.Effect<OrderRef, OrderFailure> => {
          const wrong = misnamed(caller, asked)
          if (wrong !== undefined) return Effect.fail(wrong)
          return onOrder(caller, asked, { type: "cancel", cancel: { symbol: asked.symbol, order: nameOf(asked) } })
        }

        const cancelAll = (
          caller: Caller,
          asked: CancelAllRequest
        ): Effect.Effect<ReadonlyArray<OrderRef>, OrderFailure> => {
          if (isForeign(caller, asked.sub_account_address)) return Effect.fail(noSubAccount)
          if (asked.symbol !== undefined && markets.instrument(asked.symbol) === undefined) {
            return Effect.fail(markets.instruments().length === 0 ? notLoaded : noSymbol)
          }
          const cancel_all = {
            symbol: asked.symbol,
            side: asked.side,
            order_filter: asked.order_filter ?? ("All" as const),
            reduce_only: asked.reduce_only,
            cancel_type: "CancelByUser" as const
          }
          return Effect.flatMap(ids.uuid, (id) =>
            submit(caller, asked.sub_account_address, id, { type: "cancel_all", cancel_all })
          ).pipe(Effect.map((ack) => ack.orders))
        }

        // a fiber each, begun one after the other: none waits for anything before its command is submitted
        const each = <A>(asked: ReadonlyArray<A>, act: (asked: A) => Effect.Effect<OrderRef, OrderFailure>) =>
          Effect.forEach(asked, (one) => Effect.result(act(one)), { concurrency: "unbounded" })

        return Orders.of({
          create,
          amend,
          cancel,
          createBatch: (caller, orders) => each(orders, (asked) => create(caller, asked)),
          cancelBatch: (caller, orders) => each(orders, (asked) => cancel(caller, asked)),
          cancelAll
        })
      })
    )
}
