/**
 * Commands of seeded users: makers, takers, over-leveraged ones, and an index price that walks and sometimes falls. A user
 * sees what a client sees, acknowledgements and some ids, and never the engine's state.
 */
import { rootOfService, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"
import type { Command, CommandResult } from "../../src/proto/gateway/v1/sequencer.ts"
import {
  MarginMode,
  OrderType,
  Side,
  SmpType,
  TimeInForce,
  type Tpsl,
  type TpslLeg,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../src/proto/gateway/v1/types.ts"
import { pick, type Random } from "./Random.ts"

export const BTC = "BTC-USDC"
export const START = 1767225600000

interface User {
  readonly user_id: string
  readonly root: string
  readonly address: string
  readonly careless: boolean
  /** ids of orders that were acknowledged, newest last */
  readonly orders: Array<string>
  readonly links: Array<string>
}

/** Prices are quoted in multiples of this. */
const GRID = 10

const ORDERS_KEPT = 20

/** How an index moves: the share of its moves that are jumps, and how far apart the ends of a jump may be. */
export interface Index {
  readonly jumps: number
  readonly width: number
}

const CALM: Index = { jumps: 0.1, width: 0.14 }

/** Falls far enough for deleveraging. */
export const WILD: Index = { jumps: 0.15, width: 0.24 }

export class Users {
  /** Unix ms; rises with every command. */
  now = START
  private readonly next: Random
  private readonly index: Index
  private readonly users: ReadonlyArray<User>
  private readonly opening: Array<Command>
  private commands = 0
  private price = 60_000
  private readonly asked = new Map<string, User>()

  constructor(next: Random, count = 6, index = CALM) {
    this.next = next
    this.index = index
    this.users = Array.from({ length: count }, (_, i) => {
      const root = rootOfService(`user-${i}`)
      const user_id = userIdOf(root)
      return { user_id, root, address: subAccountAddress(root, 0), careless: i % 3 === 2, orders: [], links: [] }
    })
    this.opening = this.users.flatMap((user) => {
      const { root } = user
      const amount = user.careless ? "800" : "100000"
      return [
        this.command(user, { $case: "create_sub_account", value: { root_address: root, index: 0 } }),
        this.command(user, {
          $case: "deposit_funds",
          value: { deposit_id: `first-${root}`, asset: "USDC", amount, source: "rail" }
        }),
        this.command(user, {
          $case: "set_leverage",
          value: { symbol: BTC, leverage: user.careless ? "50" : "10" }
        })
      ]
    })
  }

  private command(user: User, command: NonNullable<Command["command"]>): Command {
    this.now += 1 + Math.floor(this.next() * 40)
    const command_id = `c-${++this.commands}`
    this.asked.set(command_id, user)
    const { user_id, address } = user
    return { command_id, user_id, sub_account_address: address, issued_at_ms: this.now, command }
  }

  /** What somebody sends next. */
  one(): Command {
    const { next } = this
    const first = this.opening.shift()
    if (first !== undefined) return first
    const user = pick(next, this.users)
    const kind = next()
    const last = user.orders.length > 0 && next() < 0.95 ? pick(next, user.orders) : "none"
    const order =
      next() < 0.8 || user.links.length === 0
        ? { order_id: last }
        : { order_id: "", order_link_id: pick(next, user.links) }
    if (kind < 0.55) return this.place(user)
    if (kind < 0.7) return this.command(user, { $case: "cancel_order", value: { symbol: BTC, order } })
    if (kind < 0.85)
      return this.command(user, {
        $case: "amend_order",
        value: {
          symbol: BTC,
          order,
          price: next() < 0.6 ? this.quote(50) : undefined,
          qty: next() < 0.6 ? this.size(user) : undefined,
          tpsl: next() < 0.1 ? this.exits(next() < 0.5 ? Side.SIDE_BUY : Side.SIDE_SELL, 200) : undefined,
          expected_version: next() < 0.1 ? 1 : 0
        }
      })
    if (kind < 0.87)
      return this.command(user, {
        $case: "cancel_all",
        value: { symbol: BTC, side: Side.SIDE_UNSPECIFIED, order_filter: 0, reduce_only: undefined, cancel_type: 0 }
      })
    if (kind < 0.9)
      return this.command(user, {
        $case: "deposit_funds",
        value: {
          deposit_id: `d-${Math.floor(next() * 1000)}`,
          asset: "USDC",
          amount: pick(next, ["10", "0.000001", "333.333333", "900"]),
          source: "rail"
        }
      })
    if (kind < 0.94) return this.command(user, this.risky())
    if (kind < 0.96) return this.command(user, this.stop(user))
    // the index walks, and every now and then it falls or jumps
    const { jumps, width } = this.index
    this.price *= next() < jumps ? 1 + (next() - 0.5) * width : 0.999 + next() * 0.002
    this.price = Math.min(80_000, Math.max(40_000, this.price))
    return this.command(user, {
      $case: "set_index_price",
      value: { symbol: BTC, price: this.price.toFixed(1) }
    })
  }

  /** Applies the result that the client of a command received. */
  received(result: CommandResult): void {
    if (result.outcome?.$case !== "ack") return
    const { command_id, orders, duplicate } = result.outcome.value
    const user = this.asked.get(command_id)
    if (user === undefined || duplicate) return
    for (const { order_id } of orders) {
      user.orders.push(order_id)
      if (user.orders.length > ORDERS_KEPT) user.orders.shift()
    }
  }

  /** What a user does with money and margin; what the engine does not know it refuses. */
  private risky(): NonNullable<Command["command"]> {
    const { next } = this
    const kind = next()
    if (kind < 0.3)
      return { $case: "set_leverage", value: { symbol: BTC, leverage: pick(next, ["1", "2.5", "10", "50"]) } }
    if (kind < 0.55)
      return {
        $case: "set_margin_mode",
        value: {
          symbol: BTC,
          margin_mode: pick(next, [MarginMode.MARGIN_MODE_CROSS, MarginMode.MARGIN_MODE_ISOLATED]),
          leverage: undefined
        }
      }
    if (kind < 0.8) return { $case: "add_margin", value: { symbol: BTC, margin: pick(next, ["10", "-5", "0.000001"]) } }
    return {
      $case: "withdraw_funds",
      value: {
        withdrawal_id: `w-${this.commands}`,
        asset: "USDC",
        amount: pick(next, ["1", "12.345678"]),
        destination: "0x0"
      }
    }
  }

  /** Exits that lie on their sides of a price, most of the time; now and then the price has left them already. */
  private exits(side: Side, far: number): Tpsl {
    const { next } = this
    const leg = (above: boolean): TpslLeg | undefined =>
      next() < 0.2
        ? undefined
        : {
            trigger_by: pick(next, [
              TriggerBy.TRIGGER_BY_LAST_PRICE,
              TriggerBy.TRIGGER_BY_MARK_PRICE,
              TriggerBy.TRIGGER_BY_INDEX_PRICE
            ]),
            trigger_price: (Math.round((this.price + (above ? 1 : -1) * (20 + next() * far)) / GRID) * GRID).toFixed(1)
          }
    return {
      mode: pick(next, [TpslMode.TPSL_MODE_FULL, TpslMode.TPSL_MODE_PARTIAL]),
      take_profit: leg(side === Side.SIDE_BUY),
      stop_loss: leg(side !== Side.SIDE_BUY)
    }
  }

  /** Exits for a position, if there is one. */
  private stop(user: User): NonNullable<Command["command"]> {
    const { next } = this
    const part = next() < 0.5 ? this.size(user) : undefined
    const tpsl = this.exits(next() < 0.5 ? Side.SIDE_BUY : Side.SIDE_SELL, 300)
    return {
      $case: "set_trading_stop",
      value: { symbol: BTC, tpsl, take_profit_size: part, stop_loss_size: part }
    }
  }

  private quote(spread: number): string {
    // on a coarse grid, so that orders meet at a price
    return (Math.round((this.price + (this.next() - 0.5) * 2 * spread) / GRID) * GRID).toFixed(1)
  }

  private size(user: User): string {
    return ((1 + Math.floor(this.next() * (user.careless ? 300 : 100))) / 1000).toFixed(3)
  }

  private place(user: User): Command {
    const { next } = this
    const market = next() < 0.25
    let link: string | undefined
    if (next() < 0.4) {
      link = next() < 0.1 && user.links.length > 0 ? pick(next, user.links) : `l-${this.commands}`
      user.links.push(link)
      if (user.links.length > ORDERS_KEPT) user.links.shift()
    }
    const postOnly = !market && next() < 0.2
    const trigger =
      next() < 0.1
        ? {
            trigger_by: pick(next, [TriggerBy.TRIGGER_BY_LAST_PRICE, TriggerBy.TRIGGER_BY_MARK_PRICE]),
            trigger_direction: TriggerDirection.TRIGGER_DIRECTION_UNSPECIFIED,
            trigger_price: this.quote(100)
          }
        : undefined
    const side = next() < 0.5 ? Side.SIDE_BUY : Side.SIDE_SELL
    const expires = !market && !postOnly && next() < 0.06
    return this.command(user, {
      $case: "place_order",
      value: {
        symbol: BTC,
        side,
        order_type: market ? OrderType.ORDER_TYPE_MARKET : OrderType.ORDER_TYPE_LIMIT,
        qty: this.size(user),
        price: market ? undefined : this.quote(60),
        time_in_force: expires
          ? TimeInForce.TIME_IN_FORCE_GTT
          : market || postOnly
            ? TimeInForce.TIME_IN_FORCE_UNSPECIFIED
            : pick(next, [
                TimeInForce.TIME_IN_FORCE_GTC,
                TimeInForce.TIME_IN_FORCE_GTC,
                TimeInForce.TIME_IN_FORCE_GTC,
                TimeInForce.TIME_IN_FORCE_IOC,
                TimeInForce.TIME_IN_FORCE_FOK
              ]),
        expire_time_ms: expires ? this.now + 100 + Math.floor(next() * 10_000) : undefined,
        post_only: postOnly,
        reduce_only: !postOnly && next() < 0.15,
        close_on_trigger: false,
        order_link_id: link,
        trigger,
        tpsl: next() < 0.2 ? this.exits(side, 150) : undefined,
        smp_type: pick(next, [
          SmpType.SMP_TYPE_CANCEL_TAKER,
          SmpType.SMP_TYPE_CANCEL_MAKER,
          SmpType.SMP_TYPE_CANCEL_BOTH
        ])
      }
    })
  }
}
