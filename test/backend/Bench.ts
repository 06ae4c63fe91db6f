/** A test bench for the engine: short methods for commands, and access to their results and events. */
import { assert } from "@effect/vitest"
import * as Engine from "../../src/backend/engine/Engine.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { rootOfService, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"
import type { Command, CommandAck, CommandStatus, Event } from "../../src/proto/gateway/v1/sequencer.ts"
import {
  type Balance,
  CancelType,
  type Execution,
  type Order,
  OrderType,
  type Position,
  Side,
  SmpType,
  TimeInForce,
  type Tpsl,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../src/proto/gateway/v1/types.ts"

export const BUY = Side.SIDE_BUY
export const SELL = Side.SIDE_SELL
export const START = 1767225600000
export const BTC = "BTC-USDC"

export interface PlaceOptions {
  readonly symbol?: string
  readonly side: Side
  readonly qty: string
  /** absent: Market */
  readonly price?: string
  readonly tif?: TimeInForce
  readonly post_only?: boolean
  readonly reduce_only?: boolean
  readonly close_on_trigger?: boolean
  readonly link?: string
  readonly smp?: SmpType
  readonly expires?: number
  readonly trigger?: string
  readonly by?: TriggerBy
  readonly direction?: TriggerDirection
  readonly tpsl?: Exits
}

/** Take-profit and stop-loss, by default with the last price as reference. */
export interface Exits {
  readonly tp?: string
  readonly sl?: string
  readonly mode?: TpslMode
  readonly by?: TriggerBy
}

const tpslOf = ({ by, mode, sl, tp }: Exits): Tpsl => {
  const leg = (price: string | undefined) =>
    price === undefined ? undefined : { trigger_by: by ?? TriggerBy.TRIGGER_BY_UNSPECIFIED, trigger_price: price }
  return { mode: mode ?? TpslMode.TPSL_MODE_UNSPECIFIED, take_profit: leg(tp), stop_loss: leg(sl) }
}

export interface Trader {
  readonly user_id: string
  readonly root: string
  readonly address: string
}

export const trader = (name: string, index = 0): Trader => {
  const root = rootOfService(name)
  return { user_id: userIdOf(root), root, address: subAccountAddress(root, index) }
}

export const config = (overrides: Partial<Engine.EngineConfig> = {}): Engine.EngineConfig => ({
  markets: shippedMarkets,
  simMaker: false,
  indexSource: "manual",
  faucetDailyLimit: "100000",
  openOrdersMax: 1_000_000,
  poolBaseEquity: "1000000",
  epoch: "test",
  ...overrides
})

export class Bench {
  readonly state: Engine.State
  /** all inputs, and those that a journal stores: no refusals, and no Ticks without effect */
  readonly inputs: Array<Engine.Input> = []
  readonly journal: Array<Engine.Input> = []
  readonly events: Array<Event> = []
  now = START
  private commands = 0

  constructor(settings: Partial<Engine.EngineConfig> = {}) {
    this.state = Engine.initial(config(settings))
  }

  step(command: Command | undefined): Engine.Step {
    const input = { at_ms: this.now, command }
    this.inputs.push(input)
    const before = this.state.seq
    const matters = command !== undefined || Engine.tickMatters(this.state, this.now)
    const step = Engine.apply(this.state, input)
    if (matters && step.result?.outcome?.$case !== "status") this.journal.push(input)
    step.events.forEach((event, i) => assert.strictEqual(event.seq, before + i + 1, "seq has a gap"))
    this.events.push(...step.events)
    return step
  }

  tick(ms = 1000): Engine.Step {
    this.now += ms
    return this.step(undefined)
  }

  send(who: Trader, command: NonNullable<Command["command"]>): Engine.Step {
    this.now++
    return this.step({
      command_id: `c-${++this.commands}`,
      user_id: who.user_id,
      sub_account_address: who.address,
      issued_at_ms: this.now,
      command
    })
  }

  /** Creates a sub-account for a trader and deposits into its wallet. */
  open(who: Trader, amount?: string, index = 0): void {
    ackOf(this.send(who, { $case: "create_sub_account", value: { root_address: who.root, index } }))
    if (amount !== undefined) ackOf(this.deposit(who, amount))
  }

  deposit(who: Trader, amount: string, source = "rail"): Engine.Step {
    return this.send(who, {
      $case: "deposit_funds",
      value: { deposit_id: `d-${this.commands}`, asset: "USDC", amount, source }
    })
  }

  index(symbol: string, price?: string): Engine.Step {
    return this.send(trader("admin"), { $case: "set_index_price", value: { symbol, price } })
  }

  place(who: Trader, options: PlaceOptions): Engine.Step {
    const market = options.price === undefined
    return this.send(who, {
      $case: "place_order",
      value: {
        symbol: options.symbol ?? BTC,
        side: options.side,
        order_type: market ? OrderType.ORDER_TYPE_MARKET : OrderType.ORDER_TYPE_LIMIT,
        qty: options.qty,
        price: options.price,
        time_in_force: options.tif ?? TimeInForce.TIME_IN_FORCE_UNSPECIFIED,
        post_only: options.post_only ?? false,
        reduce_only: options.reduce_only ?? false,
        close_on_trigger: options.close_on_trigger ?? false,
        order_link_id: options.link,
        expire_time_ms: options.expires,
        trigger:
          options.trigger === undefined
            ? undefined
            : {
                trigger_by: options.by ?? TriggerBy.TRIGGER_BY_UNSPECIFIED,
                trigger_direction: options.direction ?? TriggerDirection.TRIGGER_DIRECTION_UNSPECIFIED,
                trigger_price: options.trigger
              },
        tpsl: options.tpsl === undefined ? undefined : tpslOf(options.tpsl),
        smp_type: options.smp ?? SmpType.SMP_TYPE_UNSPECIFIED
      }
    })
  }

  amend(
    who: Trader,
    order: { id?: string; link?: string },
    change: { price?: string; qty?: string; trigger?: string; tpsl?: Exits; version?: number; symbol?: string }
  ): Engine.Step {
    return this.send(who, {
      $case: "amend_order",
      value: {
        symbol: change.symbol ?? BTC,
        order: { order_id: order.id ?? "", order_link_id: order.link },
        price: change.price,
        qty: change.qty,
        trigger_price: change.trigger,
        tpsl: change.tpsl === undefined ? undefined : tpslOf(change.tpsl),
        expected_version: change.version ?? 0
      }
    })
  }

  cancel(who: Trader, order: { id?: string; link?: string }, symbol = BTC): Engine.Step {
    return this.send(who, {
      $case: "cancel_order",
      value: { symbol, order: { order_id: order.id ?? "", order_link_id: order.link } }
    })
  }

  stop(who: Trader, exits: Exits, sizes: { tp?: string; sl?: string } = {}, symbol = BTC): Engine.Step {
    return this.send(who, {
      $case: "set_trading_stop",
      value: { symbol, tpsl: tpslOf(exits), take_profit_size: sizes.tp, stop_loss_size: sizes.sl }
    })
  }

  cancelAll(
    who: Trader,
    filter: {
      symbol?: string
      side?: Side
      reduce_only?: boolean
      type?: CancelType
      order_filter?: 0 | 1 | 2 | 3
    } = {}
  ): Engine.Step {
    return this.send(who, {
      $case: "cancel_all",
      value: {
        symbol: filter.symbol,
        side: filter.side ?? Side.SIDE_UNSPECIFIED,
        order_filter: filter.order_filter ?? 0,
        reduce_only: filter.reduce_only,
        cancel_type: filter.type ?? CancelType.CANCEL_TYPE_UNSPECIFIED
      }
    })
  }
}

export const ackOf = (step: Engine.Step): CommandAck => {
  const outcome = step.result?.outcome
  if (outcome?.$case !== "ack") assert.fail(`refused: ${JSON.stringify(outcome?.value)}`)
  return outcome.value
}

export const statusOf = (step: Engine.Step): CommandStatus => {
  const outcome = step.result?.outcome
  if (outcome?.$case !== "status") assert.fail("was not refused")
  assert.strictEqual(step.events.length, 0, "a refusal has no events")
  return outcome.value
}

export const orderId = (step: Engine.Step): string => ackOf(step).orders[0]!.order_id

/** Event kinds of one user, in order. */
export const kinds = (step: Engine.Step, who?: Trader): Array<string> =>
  step.events
    .filter((event) => (who === undefined ? true : event.user_id === who.user_id))
    .map((event) => event.event!.$case)

export const orders = (step: Engine.Step, who?: Trader): Array<Order> =>
  step.events.flatMap(({ event }) =>
    event?.$case === "order_changed" && (who === undefined || event.value.order!.user_id === who.user_id)
      ? [event.value.order!]
      : []
  )

export const executions = (step: Engine.Step, who?: Trader): Array<Execution> =>
  step.events.flatMap(({ event }) =>
    event?.$case === "execution_created" && (who === undefined || event.value.execution!.user_id === who.user_id)
      ? [event.value.execution!]
      : []
  )

export const positions = (step: Engine.Step, who: Trader): Array<Position> =>
  step.events.flatMap(({ event }) =>
    event?.$case === "position_changed" && event.value.position!.user_id === who.user_id ? [event.value.position!] : []
  )

export const balances = (step: Engine.Step, who: Trader): Array<Balance> =>
  step.events.flatMap(({ event }) =>
    event?.$case === "balance_changed" && event.value.balance!.user_id === who.user_id ? [event.value.balance!] : []
  )
