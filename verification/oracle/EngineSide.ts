/** The engine behind the same requests and the same lines as the model. */
import * as Engine from "../../src/backend/engine/Engine.ts"
import * as Reads from "../../src/backend/engine/Reads.ts"
import * as Pools from "../../src/backend/engine/referee/Pools.ts"
import { Schema } from "effect"
import type { Command, Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { OrderCause } from "../../src/proto/gateway/v1/sequencer.ts"
import {
  AdlMode,
  AdlTriggerReason,
  BalanceReason,
  CancelType,
  CreateType,
  ExecType,
  type Execution,
  MarginMode,
  type Order,
  OrderFilter,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  SmpType,
  StopOrderType,
  TimeInForce,
  type Tpsl,
  TpslMode,
  TransferStatus,
  TriggerBy,
  TriggerDirection
} from "../../src/proto/gateway/v1/types.ts"
import type { Options } from "./Exchange.ts"
import type { MarketRow } from "./MarketTable.ts"
import type { Body, Leg, Named, Request, TpslRequest } from "./Requests.ts"
import { Market } from "../../src/backend/markets/File.ts"
import { restingOrders } from "../../src/backend/engine/state/RestingOrders.ts"

type Table = Readonly<Record<string, number>>

const pascal = (upper: string): string =>
  upper
    .split("_")
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join("")

const words = new Map<Table, ReadonlyArray<readonly [word: string, value: number]>>()

/** The words of a wire enumeration: its keys without their prefix. */
const wordsOf = (table: Table, prefix: string) => {
  const known = words.get(table)
  if (known !== undefined) return known
  const made = Object.entries(table).map(([key, value]) => [pascal(key.slice(prefix.length + 1)), value] as const)
  words.set(table, made)
  return made
}

/** The word of a value; "" for unspecified. */
const word = (table: Table, prefix: string, value: number): string =>
  value === 0 ? "" : wordsOf(table, prefix).find((entry) => entry[1] === value)![0]

/** The value of a word; 0 for none. Abbreviations such as GTC are words in lower case here. */
const value = <T extends Table>(table: T, prefix: string, text: string | undefined): T[keyof T] =>
  (text === undefined
    ? 0
    : wordsOf(table, prefix).find(([name]) => name.toLowerCase() === text.toLowerCase())![1]) as T[keyof T]

const marketOf = (row: MarketRow) => {
  const [base, quote] = row.symbol.split("-")
  const { tiers, ...rest } = row
  return Schema.decodeUnknownSync(Market)({
    ...rest,
    base_asset: base,
    quote_asset: quote,
    min_order_qty: row.qty_step,
    risk_tiers: tiers.map(([risk_limit_value, initial_margin_rate, maintenance_margin_rate]) => ({
      risk_limit_value,
      initial_margin_rate,
      maintenance_margin_rate
    }))
  })
}

export interface EngineOutcome {
  readonly refused?: string | undefined
  /** an amend had its turn and was refused there */
  readonly amendRefused?: string | undefined
  readonly orders: ReadonlyArray<number>
  readonly version: number | undefined
  readonly lines: ReadonlyArray<string>
}

export class EngineSide {
  readonly state: Engine.State
  /** ids by number − 1, in the order in which the stream first named them */
  private readonly ids: Array<string> = []
  private readonly numbers = new Map<string, number>()
  /** the last position event of each position that has ever had a result */
  private readonly announced = new Map<string, { readonly address: string; readonly fact: string }>()
  /** by symbol, that of the last fill or funding record, and whether the maker of that fill is still to come */
  private readonly sequences = new Map<string, { readonly seq: number; readonly open: boolean }>()
  private commands = 0

  constructor(options: Options) {
    this.state = Engine.initial({
      markets: options.markets.map(marketOf),
      simMaker: false,
      indexSource: options.simulatedIndex ? "simulated" : "manual",
      faucetDailyLimit: options.faucetLimit,
      poolBaseEquity: options.poolBase,
      openOrdersMax: options.openOrdersMax,
      epoch: "oracle"
    })
  }

  apply(request: Request): EngineOutcome {
    const command = request.body.kind === "tick" ? undefined : this.command(request, request.body)
    const { events, result } = Engine.apply(this.state, { at_ms: request.at, command })
    const lines = events.flatMap((event) => this.line(event))
    if (result === undefined) return { lines, orders: [], version: undefined }
    const outcome = result.outcome!
    if (outcome.$case === "status") return { refused: outcome.value.reason, lines, orders: [], version: undefined }
    return {
      amendRefused: outcome.value.refusal?.reason,
      lines,
      orders: outcome.value.orders.map(({ order_id }) => this.numberOf(order_id)),
      version: outcome.value.version
    }
  }

  private numberOf(id: string): number {
    const known = this.numbers.get(id)
    if (known !== undefined) return known
    const number = this.ids.push(id)
    this.numbers.set(id, number)
    return number
  }

  // Requests

  private ref({ link, order }: Named) {
    return { order_id: order === undefined ? "" : (this.ids[order - 1] ?? "none"), order_link_id: link }
  }

  private tpsl(request: TpslRequest | undefined): Tpsl | undefined {
    if (request === undefined) return undefined
    const leg = (asked: Leg | undefined) =>
      asked === undefined
        ? undefined
        : {
            trigger_by: asked.by === undefined ? 0 : value(TriggerBy, "TRIGGER_BY", asked.by),
            trigger_price: asked.price
          }
    return {
      mode: value(TpslMode, "TPSL_MODE", request.mode),
      take_profit: leg(request.takeProfit),
      stop_loss: leg(request.stopLoss)
    }
  }

  private command(request: Request, body: Exclude<Body, { kind: "tick" }>): Command {
    return {
      command_id: `c-${++this.commands}`,
      user_id: request.user,
      sub_account_address: request.account,
      issued_at_ms: request.at,
      command: this.payload(body)
    }
  }

  private payload(body: Exclude<Body, { kind: "tick" }>): NonNullable<Command["command"]> {
    const asset = "USDC"
    switch (body.kind) {
      case "place":
        return {
          $case: "place_order",
          value: {
            symbol: body.symbol,
            side: value(Side, "SIDE", body.side),
            order_type: value(OrderType, "ORDER_TYPE", body.type),
            qty: body.qty,
            price: body.price,
            time_in_force: value(TimeInForce, "TIME_IN_FORCE", body.timeInForce),
            expire_time_ms: body.expireMs,
            post_only: body.postOnly ?? false,
            reduce_only: body.reduceOnly ?? false,
            close_on_trigger: body.closeOnTrigger ?? false,
            order_link_id: body.link,
            trigger:
              body.trigger === undefined
                ? undefined
                : {
                    trigger_by: value(TriggerBy, "TRIGGER_BY", body.trigger.by),
                    trigger_direction: value(TriggerDirection, "TRIGGER_DIRECTION", body.trigger.direction),
                    trigger_price: body.trigger.price
                  },
            tpsl: this.tpsl(body.tpsl),
            smp_type: value(SmpType, "SMP_TYPE", body.smp)
          }
        }
      case "amend":
        return {
          $case: "amend_order",
          value: {
            symbol: body.symbol,
            order: this.ref(body),
            price: body.price,
            qty: body.qty,
            trigger_price: body.triggerPrice,
            tpsl: this.tpsl(body.tpsl),
            expected_version: body.version
          }
        }
      case "cancel":
        return { $case: "cancel_order", value: { symbol: body.symbol, order: this.ref(body) } }
      case "cancelAll":
        return {
          $case: "cancel_all",
          value: {
            symbol: body.symbol,
            side: value(Side, "SIDE", body.side),
            order_filter: value(OrderFilter, "ORDER_FILTER", body.filter),
            reduce_only: body.reduceOnly,
            cancel_type: body.dcp ? CancelType.CANCEL_TYPE_CANCEL_BY_DCP : 0
          }
        }
      case "tradingStop":
        return {
          $case: "set_trading_stop",
          value: {
            symbol: body.symbol,
            tpsl: this.tpsl(body.tpsl),
            take_profit_size: body.takeProfitSize,
            stop_loss_size: body.stopLossSize
          }
        }
      case "index":
        return { $case: "set_index_price", value: { symbol: body.symbol, price: body.price } }
      case "leverage":
        return { $case: "set_leverage", value: { symbol: body.symbol, leverage: body.leverage } }
      case "marginMode":
        return {
          $case: "set_margin_mode",
          value: {
            symbol: body.symbol,
            margin_mode: body.isolated ? MarginMode.MARGIN_MODE_ISOLATED : MarginMode.MARGIN_MODE_CROSS,
            leverage: body.leverage
          }
        }
      case "addMargin":
        return { $case: "add_margin", value: { symbol: body.symbol, margin: body.margin } }
      case "createSubAccount":
        return { $case: "create_sub_account", value: { root_address: body.root, index: body.index } }
      case "freeze":
        return { $case: "set_sub_account", value: { frozen: body.frozen } }
      case "deleteSubAccount":
        return { $case: "delete_sub_account", value: {} }
      case "deposit":
        return {
          $case: "deposit_funds",
          value: { deposit_id: body.id, asset, amount: body.amount, source: body.source }
        }
      case "withdraw":
        return {
          $case: "withdraw_funds",
          value: { withdrawal_id: body.id, asset, amount: body.amount, destination: body.destination }
        }
      case "transfer":
        return {
          $case: "transfer_funds",
          value: { transfer_id: body.id, to_sub_account_address: body.to, asset, amount: body.amount }
        }
      case "credit":
        return { $case: "credit_reward", value: { reward_id: body.id, asset, amount: body.amount } }
    }
  }

  // Events

  private orderLine(order: Order, cause: string): string {
    const { trigger } = order
    const parts = [
      `order #${this.numberOf(order.order_id)} ${cause} ${word(OrderStatus, "ORDER_STATUS", order.order_status)}` +
        ` ${word(Side, "SIDE", order.side)} ${word(OrderType, "ORDER_TYPE", order.order_type)} ${order.symbol}`,
      `qty ${order.qty} price ${order.price} leaves ${order.leaves_qty}`,
      `filled ${order.cum_exec_qty} value ${order.cum_exec_value} fee ${order.cum_exec_fee} v${order.version}` +
        ` ${word(RejectReason, "REJECT_REASON", order.reject_reason)}`
    ]
    if (order.cancel_type !== 0) parts.push(word(CancelType, "CANCEL_TYPE", order.cancel_type))
    if (order.closed_pnl !== undefined) parts.push(`pnl ${order.closed_pnl}`)
    if (order.reduce_only) parts.push("reduce-only")
    if (order.stop_order_type !== 0) parts.push(word(StopOrderType, "STOP_ORDER_TYPE", order.stop_order_type))
    if (trigger !== undefined)
      parts.push(
        `${word(TriggerBy, "TRIGGER_BY", trigger.trigger_by)} ` +
          `${word(TriggerDirection, "TRIGGER_DIRECTION", trigger.trigger_direction)} ${trigger.trigger_price}`
      )
    if (order.parent_order_id !== undefined) parts.push(`of #${this.numberOf(order.parent_order_id)}`)
    parts.push(word(CreateType, "CREATE_TYPE", order.create_type))
    return parts.join(" ")
  }

  /** Whether market_seq rises with each fill and funding record, and both sides of a fill share it; a pool's side is not shown. */
  private inSequence({ exec_type, is_maker, market_seq, symbol }: Execution): string {
    const last = this.sequences.get(symbol) ?? { seq: 0, open: false }
    const open = !is_maker && exec_type === ExecType.EXEC_TYPE_TRADE
    this.sequences.set(symbol, { seq: market_seq, open })
    const right = is_maker && last.open ? market_seq === last.seq : market_seq > last.seq
    return right ? "in sequence" : `seq ${market_seq} after ${last.seq}`
  }

  private line({ event, sub_account_address: address }: Event): Array<string> {
    switch (event?.$case) {
      case "order_changed":
        return [this.orderLine(event.value.order!, word(OrderCause, "ORDER_CAUSE", event.value.cause))]
      case "execution_created": {
        const x = event.value.execution!
        if (x.exec_type === ExecType.EXEC_TYPE_FUNDING)
          return [`paid ${address} ${x.symbol} ${x.exec_qty} fee ${x.base_fee} ${this.inSequence(x)}`]
        const reduced =
          x.closed_size === undefined
            ? "-"
            : `${x.closed_size}/${x.closed_entry_value}/${x.closed_open_fee}/${x.realised_pnl}`
        return [
          `exec #${this.numberOf(x.order_id)} ${word(ExecType, "EXEC_TYPE", x.exec_type)} ${x.is_maker ? "maker" : "taker"}` +
            ` ${word(Side, "SIDE", x.side)} ${x.exec_qty} at ${x.exec_price} fee ${x.base_fee} closed ${reduced} leverage ${x.leverage} ${this.inSequence(x)}`
        ]
      }
      case "balance_changed": {
        const { amount, fee, realised_pnl, reason } = event.value
        const said = word(BalanceReason, "BALANCE_REASON", reason)
        if (said === "Order" || said === "Mark" || (said === "Margin" && amount === "0")) return []
        return [`wallet ${address} ${said} ${amount} fee ${fee} pnl ${realised_pnl}`]
      }
      case "position_changed": {
        const p = event.value.position!
        const fact =
          `${p.size} entry ${p.entry_value} isolated ${p.isolated_margin ?? "-"} current ${p.cur_realised_pnl} realised ${p.cum_realised_pnl}` +
          ` liquidation fee ${p.liquidation_fee}`
        const key = `announced ${p.sub_account_address} ${p.symbol}`
        if (p.size === "0" && p.cum_realised_pnl === "0" && p.liquidation_fee === "0") this.announced.delete(key)
        else this.announced.set(key, { address: p.sub_account_address, fact })
        return []
      }
      case "liquidation_started": {
        const { bust_price, side, size, symbol } = event.value
        return [`liquidation ${address} ${symbol} ${word(Side, "SIDE", side)} ${size} at ${bust_price}`]
      }
      case "funding_settled": {
        const { funding_index, funding_rate, mark_price, symbol } = event.value.funding!
        return [`funding ${symbol} ${funding_rate} mark ${mark_price} index ${funding_index}`]
      }
      case "transfer_changed": {
        const { amount, status, transfer_id } = event.value.transfer!
        return [`transfer ${transfer_id} ${amount} ${word(TransferStatus, "TRANSFER_STATUS", status)}`]
      }
      default:
        return []
    }
  }

  // State

  /** The state, a line a fact, under the names that the model gives them: all of it, or that of some symbols and accounts. */
  facts(isDue: (name: string) => boolean): Map<string, string> {
    const { state } = this
    const facts = new Map<string, string>()
    facts.set("fee account", fromScaled(state.fees))
    for (const market of state.markets) if (isDue(market.market.symbol)) this.marketFacts(market, facts)
    for (const { address } of state.accounts) if (isDue(address)) this.accountFacts(address, facts)
    for (const [key, { address, fact }] of this.announced)
      if (isDue(address) && state.accountOf.has(address)) facts.set(key, fact)
    return facts
  }

  private marketFacts(market: Engine.State["markets"][number], facts: Map<string, string>): void {
    const { state } = this
    const { symbol } = market.market
    const [prices] = Reads.prices(state, [symbol])
    facts.set(
      `prices ${symbol}`,
      `index ${prices!.index_price} mark ${prices!.mark_price} last ${prices!.last_price ?? "-"} rate ${prices!.funding_rate} open ${prices!.open_interest}`
    )
    facts.set(
      `book ${symbol}`,
      restingOrders(state, market)
        .map((order) => this.numberOf(order.id))
        .join(" ")
    )
    const book = Reads.orderBook(state, symbol, 0)!
    facts.set(`levels ${symbol}`, [...book.bids, ...book.asks].map(({ price, qty }) => `${price}:${qty}`).join(" "))
    const pool = Pools.record(state.pools[market.index]!)
    const [inventory] = pool.inventory
    facts.set(
      `pool ${symbol}`,
      `cash ${pool.cash_balance} realised ${pool.realized_pnl_cum} equity ${pool.equity} in ${pool.group_redistribution_in} out ${pool.group_redistribution_out}` +
        ` obligation ${pool.group_adl_obligation} ${word(AdlMode, "ADL_MODE", pool.adl_mode)} ${word(AdlTriggerReason, "ADL_TRIGGER_REASON", pool.adl_trigger_reason)}` +
        ` ratio ${pool.latest_pnl_ratio} inventory ${inventory === undefined ? "-" : `${word(Side, "SIDE", inventory.side)} ${inventory.size} pnl ${inventory.unrealized_pnl}`}`
    )
  }

  private accountFacts(address: string, facts: Map<string, string>): void {
    const { state } = this
    const account = Reads.account(state, address)
    if (account === undefined) return
    for (const order of Reads.openOrders(state, { sub_account_address: address }))
      facts.set(`open #${this.numberOf(order.order_id)}`, this.orderLine(order, ""))
    const [b] = account.balances
    facts.set(
      `balance ${address}`,
      `wallet ${b!.wallet_balance} equity ${b!.equity} available ${b!.available_balance} used ${b!.margin_used} orders ${b!.order_margin}` +
        ` maintenance ${b!.maintenance_margin} pnl ${b!.unrealised_pnl} isolated ${b!.isolated_margin} withdrawable ${b!.withdrawable}`
    )
    for (const p of account.positions)
      facts.set(
        `position ${address} ${p.symbol}`,
        `${word(Side, "SIDE", p.side)} ${p.size} avg ${p.avg_price} entry ${p.entry_value} value ${p.position_value} leverage ${p.leverage}` +
          ` im ${p.position_im} mm ${p.position_mm} isolated ${p.isolated_margin ?? "-"} liq ${p.liq_price} bust ${p.bust_price} pnl ${p.unrealised_pnl}` +
          ` current ${p.cur_realised_pnl} realised ${p.cum_realised_pnl} fee ${p.liquidation_fee} tp ${p.take_profit} sl ${p.stop_loss} tier ${p.risk_tier} even ${p.break_even_price} rank ${p.adl_rank_indicator}`
      )
  }
}

const fromScaled = (amount: bigint): string => {
  const text = (amount < 0n ? -amount : amount).toString().padStart(19, "0")
  const places = text.slice(-18).replace(/0+$/u, "")
  return `${amount < 0n ? "-" : ""}${text.slice(0, -18)}${places === "" ? "" : `.${places}`}`
}
