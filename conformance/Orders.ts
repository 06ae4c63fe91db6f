/** Orders of the cases: a limit order in lots and ticks, its changes, its fills. */
import { Effect } from "effect"
import type { Command, Event, PlaceOrder } from "../src/proto/gateway/v1/sequencer.ts"
import {
  type Execution,
  type Order,
  OrderStatus,
  OrderType,
  type Side,
  SmpType,
  TimeInForce
} from "../src/proto/gateway/v1/types.ts"
import { expectEqual, present } from "./Expect.ts"
import { pick } from "./Record.ts"
import { type Trader, World } from "./World.ts"

/** A limit order with a quantity in lots and a price in ticks from the mark at the start. */
export interface Limit {
  readonly side: Side
  readonly lots: number
  readonly ticks: number
  readonly more?: Partial<PlaceOrder>
}

type Asked = NonNullable<Command["command"]>

export const limit = ({ side, lots, ticks, more }: Limit): Effect.Effect<Asked, never, World> =>
  Effect.map(World, ({ rules, symbol }) => ({
    $case: "place_order",
    value: {
      symbol,
      side,
      order_type: OrderType.ORDER_TYPE_LIMIT,
      qty: rules.qty(lots),
      price: rules.price(ticks),
      time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
      expire_time_ms: undefined,
      post_only: false,
      reduce_only: false,
      close_on_trigger: false,
      order_link_id: undefined,
      trigger: undefined,
      tpsl: undefined,
      smp_type: SmpType.SMP_TYPE_UNSPECIFIED,
      ...more
    }
  }))

export interface Placed {
  readonly order_id: string
  /** Events of the command. */
  readonly events: ReadonlyArray<Event>
}

/** Places an order that must be accepted, and waits for its events. */
export const place = Effect.fnUntraced(function* (owner: Trader, asked: Limit) {
  const { done } = yield* World
  const { ack, events } = yield* done(owner, yield* limit(asked))
  const ref = yield* present("the order in the ack of place_order", ack.orders[0])
  return { order_id: ref.order_id, events } satisfies Placed
})

export const cancelOf = (symbol: string, order_id: string): Asked => ({
  $case: "cancel_order",
  value: { symbol, order: { order_id } }
})

/** Cancels an open order, and waits for the events. */
export const cancel = Effect.fnUntraced(function* (owner: Trader, order_id: string) {
  const { done, symbol } = yield* World
  return (yield* done(owner, cancelOf(symbol, order_id))).events
})

/** The records of one order, in their order. */
export const changesOf = (events: ReadonlyArray<Event>, order_id: string): ReadonlyArray<Order> =>
  pick(events, "order_changed").flatMap(({ order }) => (order?.order_id === order_id ? [order] : []))

export const executionsOf = (events: ReadonlyArray<Event>, order_id?: string): ReadonlyArray<Execution> =>
  pick(events, "execution_created").flatMap(({ execution }) =>
    execution !== undefined && (order_id === undefined || execution.order_id === order_id) ? [execution] : []
  )

/** The enum's name without its prefix: `ORDER_STATUS_NEW` is `NEW`. */
export const nameOf = (names: Readonly<Record<string, number>>, prefix: string, value: number | undefined): string =>
  Object.keys(names)
    .find((name) => names[name] === value)
    ?.replace(prefix, "") ?? `${value}`

export const statusName = (status: OrderStatus | undefined): string => nameOf(OrderStatus, "ORDER_STATUS_", status)

/** The statuses that an order went through in these events. */
export const expectStatuses = (events: ReadonlyArray<Event>, order_id: string, expected: ReadonlyArray<OrderStatus>) =>
  expectEqual(
    `the statuses of order ${order_id}`,
    changesOf(events, order_id).map(({ order_status }) => statusName(order_status)),
    expected.map(statusName)
  )

/** The last record of an order in these events. */
export const lastOf = (events: ReadonlyArray<Event>, order_id: string) =>
  present(`a record of order ${order_id}`, changesOf(events, order_id).at(-1))
