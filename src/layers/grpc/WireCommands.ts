/** Converts commands to the messages of the gRPC boundary, and their acknowledgements back. */
import type { CancelAll, Exit, Exits, NewOrder, NewTrigger, OrderName } from "../../domain/Order.ts"
import type * as SequencerProto from "../../proto/gateway/v1/sequencer.ts"
import * as Types from "../../proto/gateway/v1/types.ts"
import type { Command, CommandAck } from "../../services/Sequencer.ts"
import {
  cancelType,
  marginMode,
  orderFilter,
  orderType,
  side,
  smpType,
  timeInForce,
  toNumber,
  tpslMode,
  triggerBy,
  triggerDirection
} from "./Enums.ts"
import { toMovement, toOrderRef, toPosition, toPrices, toSubAccount } from "./WireRecords.ts"

const fromName = (name: OrderName): Types.OrderRef => ({
  order_id: name.order_id ?? "",
  order_link_id: name.order_link_id
})

const fromTrigger = (trigger: NewTrigger): Types.Trigger => ({
  trigger_by: toNumber(triggerBy, trigger.trigger_by),
  trigger_direction:
    trigger.trigger_direction === undefined ? 0 : toNumber(triggerDirection, trigger.trigger_direction),
  trigger_price: trigger.trigger_price
})

const fromExit = (exit: Exit | undefined): Types.TpslLeg | undefined =>
  exit && {
    trigger_by: exit.trigger_by === undefined ? 0 : toNumber(triggerBy, exit.trigger_by),
    trigger_price: exit.trigger_price
  }

const fromExits = ({ mode, take_profit, stop_loss }: Exits): Types.Tpsl => ({
  mode: mode === undefined ? 0 : toNumber(tpslMode, mode),
  take_profit: fromExit(take_profit),
  stop_loss: fromExit(stop_loss)
})

const fromNewOrder = (order: NewOrder): SequencerProto.PlaceOrder => ({
  symbol: order.symbol,
  side: toNumber(side, order.side),
  order_type: toNumber(orderType, order.order_type),
  qty: order.qty,
  price: order.price,
  time_in_force: toNumber(timeInForce, order.time_in_force),
  expire_time_ms: order.expire_time,
  post_only: order.post_only,
  reduce_only: order.reduce_only,
  close_on_trigger: order.close_on_trigger,
  order_link_id: order.order_link_id,
  trigger: order.trigger && fromTrigger(order.trigger),
  tpsl: order.tpsl && fromExits(order.tpsl),
  smp_type: toNumber(smpType, order.smp_type)
})

const fromCancelAll = (from: CancelAll): SequencerProto.CancelAll => ({
  symbol: from.symbol,
  side: from.side === undefined ? 0 : toNumber(side, from.side),
  order_filter: toNumber(orderFilter, from.order_filter),
  reduce_only: from.reduce_only,
  cancel_type: toNumber(cancelType, from.cancel_type)
})

const fromBody = (body: Command["body"]): SequencerProto.Command["command"] => {
  switch (body.type) {
    case "place":
      return { $case: "place_order", value: fromNewOrder(body.order) }
    case "amend":
      return {
        $case: "amend_order",
        value: {
          symbol: body.amend.symbol,
          order: fromName(body.amend.order),
          price: body.amend.price,
          qty: body.amend.qty,
          trigger_price: body.amend.trigger_price,
          tpsl: body.amend.tpsl && fromExits(body.amend.tpsl),
          expected_version: body.amend.order_iv
        }
      }
    case "cancel":
      return {
        $case: "cancel_order",
        value: { symbol: body.cancel.symbol, order: fromName(body.cancel.order) }
      }
    case "cancel_all":
      return { $case: "cancel_all", value: fromCancelAll(body.cancel_all) }
    case "create_sub_account":
      return { $case: "create_sub_account", value: { root_address: body.root_address, index: body.index } }
    case "set_sub_account":
      return { $case: "set_sub_account", value: { frozen: body.frozen } }
    case "delete_sub_account":
      return { $case: "delete_sub_account", value: {} }
    case "set_leverage":
      return { $case: "set_leverage", value: { symbol: body.symbol, leverage: body.leverage } }
    case "set_margin_mode":
      return {
        $case: "set_margin_mode",
        value: {
          symbol: body.symbol,
          margin_mode: toNumber(marginMode, body.margin_mode),
          leverage: body.leverage
        }
      }
    case "add_margin":
      return { $case: "add_margin", value: { symbol: body.symbol, margin: body.margin } }
    case "set_trading_stop":
      return {
        $case: "set_trading_stop",
        value: {
          symbol: body.symbol,
          tpsl: fromExits(body.tpsl),
          take_profit_size: body.take_profit_size,
          stop_loss_size: body.stop_loss_size
        }
      }
    case "transfer":
      return {
        $case: "transfer_funds",
        value: {
          transfer_id: body.transfer_id,
          to_sub_account_address: body.to_sub_account_address,
          asset: body.asset,
          amount: body.amount
        }
      }
    case "deposit":
      return {
        $case: "deposit_funds",
        value: { deposit_id: body.deposit_id, asset: body.asset, amount: body.amount, source: body.source }
      }
    case "withdraw":
      return {
        $case: "withdraw_funds",
        value: {
          withdrawal_id: body.withdrawal_id,
          asset: body.asset,
          amount: body.amount,
          destination: body.destination
        }
      }
    case "credit":
      return {
        $case: "credit_reward",
        value: { reward_id: body.reward_id, asset: body.asset, amount: body.amount }
      }
    case "set_index_price":
      return { $case: "set_index_price", value: { symbol: body.symbol, price: body.price } }
  }
}

export const fromCommand = (command: Command, issued_at_ms: number): SequencerProto.Command => ({
  command_id: command.command_id,
  user_id: command.user_id,
  sub_account_address: command.sub_account_address,
  issued_at_ms,
  command: fromBody(command.body)
})

const toResult = (result: SequencerProto.CommandAck["result"]): CommandAck["result"] => {
  switch (result?.$case) {
    case "sub_account":
      return { type: "sub_account", sub_account: toSubAccount(result.value) }
    case "transfer":
      return { type: "movement", movement: toMovement(result.value) }
    case "position":
      return { type: "position", position: toPosition(result.value) }
    case "prices":
      return { type: "prices", prices: toPrices(result.value) }
    default:
      return undefined
  }
}

export const toAck = (ack: SequencerProto.CommandAck): CommandAck => ({
  seq: ack.seq,
  accepted_at_ms: ack.accepted_at_ms,
  orders: ack.orders.map(toOrderRef),
  duplicate: ack.duplicate,
  version: ack.version,
  result: toResult(ack.result)
})
