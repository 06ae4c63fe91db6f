/**
 * Policy: the order desk. Refuses what is sure without the sequence, gives each command its id and submits the rest.
 *
 * An acknowledgement says that the order has its place in the sequence; what became of it arrives on the event stream.
 * The read model may lag, so what it does not know is never refused here but forwarded; where the sequencer does not
 * know an order any more, the history still tells what became of it. Source: contract 2.1, 2.4, 3.4, 8.3, 8.4.
 */
import { Context, Effect, Layer } from "effect"
import type { OrderFilter, OrderType, Side, SmpType } from "../domain/Enumerations.ts"
import type { Instrument } from "../domain/Market.ts"
import { isFinal, type OrderName, type OrderRef } from "../domain/Order.ts"
import * as OrderRules from "../domain/OrderRules.ts"
import type { Caller } from "../domain/User.ts"
import { Gate } from "./Gate.ts"
import { History, type HistoryUnavailable } from "./History.ts"
import { commandIdOf, Ids } from "./Ids.ts"
import { MarketView } from "./MarketView.ts"
import { Refused } from "./Refused.ts"
import { type CommandAck, type CommandBody, CommandRefused, Sequencer, type SubmitError } from "./Sequencer.ts"

/** An order as it is asked for; absent fields have the defaults of contract 2.1. */
export interface OrderAsked {
  readonly sub_account_address: string
  readonly symbol: string
  readonly side: Side
  readonly order_type: OrderType
  readonly qty: string
  readonly price?: string
  readonly time_in_force?: "GTC" | "IOC" | "FOK" | "PostOnly"
  readonly post_only?: boolean
  readonly reduce_only?: boolean
  readonly close_on_trigger?: boolean
  readonly order_link_id?: string
  readonly smp_type?: SmpType
}
export interface CancelAsked {
  readonly sub_account_address: string
  readonly symbol: string
  readonly order_id?: string
  readonly order_link_id?: string
}
export interface AmendAsked extends CancelAsked {
  readonly price?: string
  readonly qty?: string
  readonly order_iv?: number
}
export interface CancelAllAsked {
  readonly sub_account_address: string
  readonly symbol?: string
  readonly side?: Side
  readonly order_filter?: OrderFilter
  readonly reduce_only?: boolean
}

export type OrderFailure = Refused | SubmitError | HistoryUnavailable

const noSubAccount = new Refused("SubAccountNotFound")
const noSymbol = new Refused("SymbolNotFound", { field: "symbol" })
const notLoaded = new Refused("BackendUnavailable")
const noOrderNamed = new Refused("MissingField", { field: "order_id" }, "order_id or order_link_id is required")
const noChange = new Refused("MissingField", { field: "price" }, "at least one of price and qty is required")
const otherOrder = new Refused(
  "InvalidField",
  { field: "order_link_id" },
  "order_id and order_link_id name different orders"
)

const rulesOf = new WeakMap<Instrument, OrderRules.OrderRules>()
const rules = (instrument: Instrument): OrderRules.OrderRules => {
  let made = rulesOf.get(instrument)
  if (made === undefined) {
    made = OrderRules.make({ ...instrument.price_filter, ...instrument.lot_size_filter })
    rulesOf.set(instrument, made)
  }
  return made
}

const violated = ({ reason, field, message, min, max, step }: OrderRules.Violation): Refused =>
  new Refused(
    reason,
    {
      field,
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(step === undefined ? {} : { step })
    },
    message
  )

export class Orders extends Context.Service<
  Orders,
  {
    readonly create: (caller: Caller, order: OrderAsked) => Effect.Effect<OrderRef, OrderFailure>
    readonly amend: (caller: Caller, amend: AmendAsked) => Effect.Effect<OrderRef, OrderFailure>
    readonly cancel: (caller: Caller, cancel: CancelAsked) => Effect.Effect<OrderRef, OrderFailure>
    /** Answers the orders taken into cancellation. */
    readonly cancelAll: (caller: Caller, cancel: CancelAllAsked) => Effect.Effect<ReadonlyArray<OrderRef>, OrderFailure>
  }
>()("gateway/services/Orders") {
  static readonly layer: Layer.Layer<Orders, never, Gate | History | Ids | MarketView | Sequencer> = Layer.effect(
    Orders,
    Effect.gen(function* () {
      const gate = yield* Gate
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

      const create = (caller: Caller, asked: OrderAsked): Effect.Effect<OrderRef, OrderFailure> => {
        if (isForeign(caller, asked.sub_account_address)) return Effect.fail(noSubAccount)
        const instrument = markets.instrument(asked.symbol)
        if (instrument === undefined) return Effect.fail(markets.instruments().length === 0 ? notLoaded : noSymbol)
        const market = asked.order_type === "Market"
        const postOnly = asked.time_in_force === "PostOnly"
        const order = {
          symbol: asked.symbol,
          side: asked.side,
          order_type: asked.order_type,
          qty: asked.qty,
          price: market ? undefined : asked.price,
          time_in_force: postOnly
            ? ("GTC" as const)
            : ((asked.time_in_force as "GTC" | "IOC" | "FOK" | undefined) ?? (market ? "IOC" : "GTC")),
          post_only: postOnly || asked.post_only === true,
          reduce_only: asked.reduce_only === true,
          close_on_trigger: asked.close_on_trigger === true,
          order_link_id: asked.order_link_id,
          smp_type: asked.smp_type ?? ("CancelTaker" as const)
        }
        // the least value of a Market order hangs on the mark at its turn: the sequencer decides
        const counts = OrderRules.checkOrder(rules(instrument), { ...order, market })
        if (OrderRules.isViolation(counts)) return Effect.fail(violated(counts))
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
              ? Effect.fail(new Refused("DuplicateOrderLinkId", { order_id: refOf(ack).order_id }))
              : Effect.succeed(refOf(ack))
          )
        )
      }

      const nameOf = (asked: CancelAsked): OrderName => ({
        order_id: asked.order_id,
        order_link_id: asked.order_link_id
      })

      /** An order that the sequencer has forgotten is still in the history, and final. */
      const explain = (asked: CancelAsked) => (refusal: SubmitError) =>
        refusal instanceof CommandRefused && refusal.reason === "OrderNotFound"
          ? Effect.flatMap(
              history.order({
                sub_account_address: asked.sub_account_address,
                order_id: asked.order_id,
                order_link_id: asked.order_id === undefined ? asked.order_link_id : undefined
              }),
              (order): Effect.Effect<never, OrderFailure> =>
                order === undefined || order.symbol !== asked.symbol || !isFinal(order.order_status)
                  ? Effect.fail(refusal)
                  : asked.order_link_id !== undefined && order.order_link_id !== asked.order_link_id
                    ? Effect.fail(otherOrder)
                    : Effect.fail(new Refused("OrderAlreadyClosed", { order_status: order.order_status }))
            )
          : Effect.fail(refusal)

      /** Submits a command on a named order. */
      const onOrder = (caller: Caller, asked: CancelAsked, body: CommandBody): Effect.Effect<OrderRef, OrderFailure> =>
        Effect.flatMap(ids.uuid, (id) => submit(caller, asked.sub_account_address, id, body)).pipe(
          Effect.map(refOf),
          Effect.catch(explain(asked))
        )

      /** What is wrong with the naming of an order, before anything is asked of it. */
      const misnamed = (caller: Caller, asked: CancelAsked): Refused | undefined => {
        if (asked.order_id === undefined && asked.order_link_id === undefined) return noOrderNamed
        if (isForeign(caller, asked.sub_account_address)) return noSubAccount
        if (markets.instrument(asked.symbol) === undefined && markets.instruments().length > 0) return noSymbol
        return undefined
      }

      const amend = (caller: Caller, asked: AmendAsked): Effect.Effect<OrderRef, OrderFailure> => {
        if (asked.price === undefined && asked.qty === undefined) return Effect.fail(noChange)
        const wrong = misnamed(caller, asked)
        if (wrong !== undefined) return Effect.fail(wrong)
        const instrument = markets.instrument(asked.symbol)
        if (instrument === undefined) return Effect.fail(notLoaded)
        if (asked.price !== undefined) {
          const ticks = OrderRules.checkPrice(rules(instrument), asked.price)
          if (typeof ticks !== "number") return Effect.fail(violated(ticks))
        }
        if (asked.qty !== undefined) {
          const lots = OrderRules.checkQty(rules(instrument), asked.qty, false, false)
          if (typeof lots !== "number") return Effect.fail(violated(lots))
        }
        const { symbol, price, qty } = asked
        const command = { symbol, order: nameOf(asked), price, qty, order_iv: asked.order_iv ?? 0 }
        return Effect.andThen(gate.sequencer, onOrder(caller, asked, { type: "amend", amend: command }))
      }

      const cancel = (caller: Caller, asked: CancelAsked): Effect.Effect<OrderRef, OrderFailure> => {
        const wrong = misnamed(caller, asked)
        if (wrong !== undefined) return Effect.fail(wrong)
        return onOrder(caller, asked, { type: "cancel", cancel: { symbol: asked.symbol, order: nameOf(asked) } })
      }

      const cancelAll = (
        caller: Caller,
        asked: CancelAllAsked
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

      return Orders.of({ create, amend, cancel, cancelAll })
    })
  )
}
