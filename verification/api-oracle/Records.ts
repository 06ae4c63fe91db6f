/** Records of the API, written from the backend's messages by the contract's tables: docs/contract/orders.md#order-record and others. */
import { createHash } from "node:crypto"
import * as Wire from "../../src/proto/gateway/v1/types.ts"

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = Record<string, any>

type Table = Readonly<Record<string, number | string>>

/** Spellings that are not one capital letter a word. */
const SPELLINGS: Readonly<Record<string, string>> = { Gtc: "GTC", Ioc: "IOC", Fok: "FOK", Gtt: "GTT" }

const word = (table: Table, prefix: string, value: number): string | undefined => {
  if (value === 0) return undefined
  const key = Object.keys(table).find((name) => table[name] === value)!
  const pascal = key
    .slice(prefix.length + 1)
    .split("_")
    .map((part) => part.slice(0, 1) + part.slice(1).toLowerCase())
    .join("")
  return SPELLINGS[pascal] ?? pascal
}

/** Without the fields that are absent. */
const present = (record: Json): Json => {
  for (const key of Object.keys(record)) if (record[key] === undefined) delete record[key]
  return record
}

const optionalTime = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : String(ms))

const leg = (from: Wire.TpslLeg | undefined) =>
  from && {
    market: {
      trigger_by: word(Wire.TriggerBy, "TRIGGER_BY", from.trigger_by),
      trigger_price: from.trigger_price
    }
  }

export const orderRecord = (o: Wire.Order): Json =>
  present({
    avg_price: o.avg_price,
    cancel_type: word(Wire.CancelType, "CANCEL_TYPE", o.cancel_type),
    close_on_trigger: o.close_on_trigger,
    closed_pnl: o.closed_pnl,
    create_type: word(Wire.CreateType, "CREATE_TYPE", o.create_type),
    created_time: String(o.created_time_ms),
    cum_exec_fee: o.cum_exec_fee,
    cum_exec_qty: o.cum_exec_qty,
    cum_exec_value: o.cum_exec_value,
    expire_time: optionalTime(o.expire_time_ms),
    last_price_on_created: o.last_price_on_created,
    leaves_qty: o.leaves_qty,
    leaves_value: o.leaves_value,
    margin_mode: word(Wire.MarginMode, "MARGIN_MODE", o.margin_mode),
    order_id: o.order_id,
    order_link_id: o.order_link_id,
    order_status: word(Wire.OrderStatus, "ORDER_STATUS", o.order_status),
    order_type: word(Wire.OrderType, "ORDER_TYPE", o.order_type),
    parent_order_id: o.parent_order_id,
    post_only: o.post_only,
    price: o.price,
    qty: o.qty,
    reduce_only: o.reduce_only,
    reject_message: o.reject_message,
    reject_reason: word(Wire.RejectReason, "REJECT_REASON", o.reject_reason),
    side: word(Wire.Side, "SIDE", o.side),
    smp_type: word(Wire.SmpType, "SMP_TYPE", o.smp_type),
    stop_order_type: word(Wire.StopOrderType, "STOP_ORDER_TYPE", o.stop_order_type),
    sub_account_address: o.sub_account_address,
    symbol: o.symbol,
    time_in_force: word(Wire.TimeInForce, "TIME_IN_FORCE", o.time_in_force),
    tpsl:
      o.tpsl &&
      present({
        mode: word(Wire.TpslMode, "TPSL_MODE", o.tpsl.mode),
        take_profit: leg(o.tpsl.take_profit),
        stop_loss: leg(o.tpsl.stop_loss)
      }),
    trigger: o.trigger && {
      trigger_by: word(Wire.TriggerBy, "TRIGGER_BY", o.trigger.trigger_by),
      trigger_direction: word(Wire.TriggerDirection, "TRIGGER_DIRECTION", o.trigger.trigger_direction),
      trigger_price: o.trigger.trigger_price
    },
    updated_time: String(o.updated_time_ms),
    version: o.version
  })

export const executionRecord = (x: Wire.Execution): Json =>
  present({
    base_fee: x.base_fee,
    closed_size: x.closed_size,
    create_type: word(Wire.CreateType, "CREATE_TYPE", x.create_type),
    exec_id: x.exec_id,
    exec_price: x.exec_price,
    exec_qty: x.exec_qty,
    exec_time: String(x.exec_time_ms),
    exec_type: word(Wire.ExecType, "EXEC_TYPE", x.exec_type),
    exec_value: x.exec_value,
    fee_rate: x.fee_rate,
    index_price: x.index_price,
    is_maker: x.is_maker,
    leaves_qty: x.leaves_qty,
    mark_price: x.mark_price,
    order_id: x.order_id,
    order_link_id: x.order_link_id,
    order_price: x.order_price,
    order_qty: x.order_qty,
    order_type: word(Wire.OrderType, "ORDER_TYPE", x.order_type),
    seq: x.market_seq,
    side: word(Wire.Side, "SIDE", x.side),
    stop_order_type: word(Wire.StopOrderType, "STOP_ORDER_TYPE", x.stop_order_type),
    sub_account_address: x.sub_account_address,
    symbol: x.symbol
  })

/** Without `seq`, which is the place in the user's stream. */
export const positionRecord = (p: Wire.Position): Json =>
  present({
    adl_rank_indicator: p.adl_rank_indicator,
    avg_price: p.avg_price,
    break_even_price: p.break_even_price,
    bust_price: p.bust_price,
    created_time: p.created_time_ms,
    cum_realised_pnl: p.cum_realised_pnl,
    cur_realised_pnl: p.cur_realised_pnl,
    isolated_margin: p.isolated_margin,
    leverage: p.leverage,
    liq_price: p.liq_price,
    liquidation_fee: p.liquidation_fee,
    margin_mode: word(Wire.MarginMode, "MARGIN_MODE", p.margin_mode),
    mark_price: p.mark_price,
    position_im: p.position_im,
    position_mm: p.position_mm,
    position_mode: word(Wire.PositionMode, "POSITION_MODE", p.position_mode),
    position_status: word(Wire.PositionStatus, "POSITION_STATUS", p.position_status),
    position_value: p.position_value,
    risk_tier: p.risk_tier,
    side: word(Wire.Side, "SIDE", p.side) ?? "",
    size: p.size,
    stop_loss: p.stop_loss,
    sub_account_address: p.sub_account_address,
    symbol: p.symbol,
    take_profit: p.take_profit,
    tpsl_mode: word(Wire.TpslMode, "TPSL_MODE", p.tpsl_mode) ?? "Full",
    unrealised_pnl: p.unrealised_pnl,
    updated_time: p.updated_time_ms
  })

/** docs/contract/conventions.md#derivations */
const assetAddress = (asset: string): string => {
  const one = Buffer.alloc(32)
  one[31] = 1
  return `0x${createHash("sha3-256")
    .update(Buffer.concat([one, Buffer.from(`asset:${asset}`), Buffer.from([0xfe])]))
    .digest("hex")}`
}

/** Without `seq`, which is the place in the user's stream. */
export const balanceRecord = (b: Wire.Balance, reason: number): Json => ({
  asset: b.asset,
  asset_addr: assetAddress(b.asset),
  available_balance: b.available_balance,
  equity: b.equity,
  isolated_margin: b.isolated_margin,
  maintenance_margin: b.maintenance_margin,
  margin_used: b.margin_used,
  order_margin: b.order_margin,
  reason: Object.entries(Wire.BalanceReason)
    .find(([, value]) => value === reason)![0]
    .slice("BALANCE_REASON_".length)
    .toLowerCase(),
  sub_account_address: b.sub_account_address,
  unrealised_pnl: b.unrealised_pnl,
  updated_time: b.updated_time_ms,
  wallet_balance: b.wallet_balance,
  withdrawable: b.withdrawable
})
