/**
 * Records of the API as JSON text: fields in schema order, canonical decimals, absent fields omitted.
 *
 * A record is encoded once, when its event arrives. Database, lists and sockets use the same text.
 * Source: docs/contract/conventions.md#decimals, docs/contract/orders.md#order-record,
 * docs/contract/rest-trading.md#executions, #positions, docs/contract/rest-account.md.
 */
import type { BalanceState } from "./Account.ts"
import * as Decimal from "./Decimal.ts"
import type { BalanceReason } from "./Enumerations.ts"
import type { Execution } from "./Execution.ts"
import type { PublicTrade } from "./Market.ts"
import type { Order, Tpsl, Trigger } from "./Order.ts"
import type { PositionState } from "./Position.ts"

const POINT = "."
const ZERO = "0"

/** Canonical decimal text; nearly every input is canonical already. `""` means no value and is unchanged. */
export const decimal = (text: string): string =>
  text.endsWith(ZERO) && text.includes(POINT) ? Decimal.canonical(text) : text
const optional = (text: string | undefined): string | undefined => (text === undefined ? undefined : decimal(text))

const triggerOf = (trigger: typeof Trigger.Type | undefined) =>
  trigger && {
    trigger_by: trigger.trigger_by,
    trigger_direction: trigger.trigger_direction,
    trigger_price: decimal(trigger.trigger_price)
  }

type Leg = NonNullable<(typeof Tpsl.Type)["take_profit"]>
const legOf = (leg: Leg | undefined) =>
  leg && { market: { trigger_by: leg.market.trigger_by, trigger_price: decimal(leg.market.trigger_price) } }
const tpslOf = (tpsl: typeof Tpsl.Type | undefined) =>
  tpsl && { mode: tpsl.mode, take_profit: legOf(tpsl.take_profit), stop_loss: legOf(tpsl.stop_loss) }

export const order = (o: Order): string =>
  JSON.stringify({
    avg_price: decimal(o.avg_price),
    close_on_trigger: o.close_on_trigger,
    created_time: o.created_time,
    cum_exec_fee: decimal(o.cum_exec_fee),
    cum_exec_qty: decimal(o.cum_exec_qty),
    cum_exec_value: decimal(o.cum_exec_value),
    last_price_on_created: decimal(o.last_price_on_created),
    leaves_qty: decimal(o.leaves_qty),
    leaves_value: decimal(o.leaves_value),
    margin_mode: o.margin_mode,
    order_id: o.order_id,
    order_status: o.order_status,
    order_type: o.order_type,
    post_only: o.post_only,
    price: decimal(o.price),
    qty: decimal(o.qty),
    reduce_only: o.reduce_only,
    side: o.side,
    sub_account_address: o.sub_account_address,
    symbol: o.symbol,
    time_in_force: o.time_in_force,
    updated_time: o.updated_time,
    cancel_type: o.cancel_type,
    closed_pnl: optional(o.closed_pnl),
    create_type: o.create_type,
    expire_time: o.expire_time,
    order_link_id: o.order_link_id,
    reject_reason: o.reject_reason,
    stop_order_type: o.stop_order_type,
    tpsl: tpslOf(o.tpsl),
    trigger: triggerOf(o.trigger),
    version: o.version,
    smp_type: o.smp_type,
    parent_order_id: o.parent_order_id,
    reject_message: o.reject_message
  } satisfies { [K in keyof Order]-?: unknown })

export const execution = (e: Execution): string =>
  JSON.stringify({
    base_fee: decimal(e.base_fee),
    exec_id: e.exec_id,
    exec_price: decimal(e.exec_price),
    exec_qty: decimal(e.exec_qty),
    exec_time: e.exec_time,
    exec_type: e.exec_type,
    exec_value: decimal(e.exec_value),
    fee_rate: decimal(e.fee_rate),
    index_price: decimal(e.index_price),
    is_maker: e.is_maker,
    leaves_qty: decimal(e.leaves_qty),
    mark_price: decimal(e.mark_price),
    order_id: e.order_id,
    order_price: decimal(e.order_price),
    order_qty: decimal(e.order_qty),
    order_type: e.order_type,
    seq: e.seq,
    side: e.side,
    sub_account_address: e.sub_account_address,
    symbol: e.symbol,
    closed_size: optional(e.closed_size),
    create_type: e.create_type,
    order_link_id: e.order_link_id,
    stop_order_type: e.stop_order_type
  } satisfies { [K in keyof Execution]-?: unknown })

export const position = (p: PositionState, seq: number): string =>
  JSON.stringify({
    symbol: p.symbol,
    sub_account_address: p.sub_account_address,
    side: p.side,
    size: decimal(p.size),
    avg_price: decimal(p.avg_price),
    position_value: decimal(p.position_value),
    mark_price: decimal(p.mark_price),
    leverage: decimal(p.leverage),
    margin_mode: p.margin_mode,
    position_mode: p.position_mode,
    position_status: p.position_status,
    position_im: decimal(p.position_im),
    position_mm: decimal(p.position_mm),
    isolated_margin: optional(p.isolated_margin),
    liq_price: decimal(p.liq_price),
    bust_price: decimal(p.bust_price),
    unrealised_pnl: decimal(p.unrealised_pnl),
    cur_realised_pnl: decimal(p.cur_realised_pnl),
    cum_realised_pnl: decimal(p.cum_realised_pnl),
    liquidation_fee: decimal(p.liquidation_fee),
    take_profit: decimal(p.take_profit),
    stop_loss: decimal(p.stop_loss),
    tpsl_mode: p.tpsl_mode,
    adl_rank_indicator: p.adl_rank_indicator,
    risk_tier: p.risk_tier,
    break_even_price: decimal(p.break_even_price),
    created_time: p.created_time,
    updated_time: p.updated_time,
    seq
  } satisfies { [K in keyof PositionState | "seq"]-?: unknown })

/** A balance as the `account_balance` topic sends it, with the reason of the event. */
export const balance = (b: BalanceState, seq: number, reason: BalanceReason): string =>
  JSON.stringify({
    sub_account_address: b.sub_account_address,
    asset: b.asset,
    asset_addr: b.asset_addr,
    wallet_balance: decimal(b.wallet_balance),
    equity: decimal(b.equity),
    available_balance: decimal(b.available_balance),
    margin_used: decimal(b.margin_used),
    order_margin: decimal(b.order_margin),
    maintenance_margin: decimal(b.maintenance_margin),
    unrealised_pnl: decimal(b.unrealised_pnl),
    isolated_margin: decimal(b.isolated_margin),
    withdrawable: decimal(b.withdrawable),
    updated_time: b.updated_time,
    seq,
    reason
  } satisfies { [K in keyof BalanceState | "seq" | "reason"]-?: unknown })

/** A public trade with canonical decimals. */
export const publicTrade = (t: PublicTrade): PublicTrade => ({
  trade_id: t.trade_id,
  symbol: t.symbol,
  price: decimal(t.price),
  qty: decimal(t.qty),
  side: t.side,
  seq: t.seq,
  timestamp: t.timestamp,
  agg_id: t.agg_id,
  is_liquidation: t.is_liquidation
})
