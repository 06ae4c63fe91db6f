/** Conditional orders and orders with an expiry. */
import { Effect } from "effect"
import { SequencerService } from "../../src/proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  OrderStatus,
  Side,
  TimeInForce,
  TriggerBy,
  TriggerDirection
} from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import { cancel, changesOf, expectStatuses, lastOf, place } from "../Orders.ts"
import { World } from "../World.ts"
import { expectEqual } from "../Expect.ts"

const { SIDE_BUY, SIDE_SELL } = Side

const conditional: Case = {
  name: "conditional-order",
  level: "full",
  clause:
    "docs/contract/orders.md#transitions-on-acceptance, #transitions-on-a-trigger, docs/contract/exchange.md#matching",
  claim: "a conditional order waits, triggers when the last price reaches it, and is Deactivated when it is canceled",
  run: Effect.gen(function* () {
    const { record, rules, trader } = yield* World
    const [owner, seller, buyer] = [yield* trader, yield* trader, yield* trader]
    const tradeAt = Effect.fnUntraced(function* (ticks: number) {
      yield* place(seller, { side: SIDE_SELL, lots: 1, ticks })
      return yield* place(buyer, { side: SIDE_BUY, lots: 1, ticks })
    })
    yield* tradeAt(0)
    const trigger = {
      trigger_by: TriggerBy.TRIGGER_BY_LAST_PRICE,
      trigger_direction: TriggerDirection.TRIGGER_DIRECTION_UNSPECIFIED,
      trigger_price: rules.price(8)
    }
    const more = { trigger }
    const waiting = yield* place(owner, { side: SIDE_BUY, lots: 1, ticks: -20, more })
    yield* expectStatuses(waiting.events, waiting.order_id, [OrderStatus.ORDER_STATUS_UNTRIGGERED])
    const derived = (yield* lastOf(waiting.events, waiting.order_id)).trigger
    yield* expectEqual("the direction", derived?.trigger_direction, TriggerDirection.TRIGGER_DIRECTION_UP)
    const other = yield* place(owner, { side: SIDE_BUY, lots: 1, ticks: -21, more })
    const ended = yield* cancel(owner, other.order_id)
    yield* expectStatuses(ended, other.order_id, [OrderStatus.ORDER_STATUS_DEACTIVATED])
    yield* tradeAt(8)
    const seen = () => changesOf(record.events, waiting.order_id)
    yield* record.until("the triggered order", () => seen().length >= 3)
    yield* expectStatuses(record.events, waiting.order_id, [
      OrderStatus.ORDER_STATUS_UNTRIGGERED,
      OrderStatus.ORDER_STATUS_TRIGGERED,
      OrderStatus.ORDER_STATUS_NEW
    ])
    const fired = yield* cancel(owner, waiting.order_id)
    yield* expectStatuses(fired, waiting.order_id, [
      OrderStatus.ORDER_STATUS_CANCEL_REQUESTED,
      OrderStatus.ORDER_STATUS_CANCELED
    ])
  })
}

/** Time until the expiry of a GTT order, in ms. */
const LIFE_MS = 1500

const expiry: Case = {
  name: "expiry",
  level: "full",
  clause: "docs/contract/orders.md#transitions-on-expiry, #time-in-force",
  claim: "a GTT order expires at its time, never before",
  run: Effect.gen(function* () {
    const { ask, record, trader } = yield* World
    const owner = yield* trader
    const { server_ts_ms } = yield* ask.sequencer(SequencerService.getHead, {})
    const expire_time_ms = server_ts_ms + LIFE_MS
    const more = { time_in_force: TimeInForce.TIME_IN_FORCE_GTT, expire_time_ms }
    const { order_id } = yield* place(owner, { side: SIDE_BUY, lots: 1, ticks: -5, more })
    const last = () => changesOf(record.events, order_id).at(-1)
    yield* record.until("the expired order", () => last()?.order_status === OrderStatus.ORDER_STATUS_EXPIRED)
    yield* expectEqual("cancel_type", last()?.cancel_type, CancelType.CANCEL_TYPE_CANCEL_BY_EXPIRY)
    yield* expectEqual("whether it expired early", last()!.updated_time_ms < expire_time_ms, false)
  })
}

export const cases: ReadonlyArray<Case> = [conditional, expiry]
