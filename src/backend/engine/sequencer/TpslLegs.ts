/**
 * Reads the take-profit and stop-loss legs of a request and checks them against prices. Source:
 * docs/contract/orders.md#take-profit-and-stop-loss.
 */
import * as Grid from "../../../domain/Grid.ts"
import * as OrderRules from "../../../domain/OrderRules.ts"
import { Side, TpslMode, TriggerBy, type Tpsl as TpslRequest, type TpslLeg } from "../../../proto/gateway/v1/types.ts"
import type { MarketState, Leg, Tpsl } from "../state/State.ts"
import * as TriggerQueues from "../state/TriggerQueues.ts"

const { TPSL_MODE_FULL: FULL, TPSL_MODE_PARTIAL: PARTIAL } = TpslMode

export type Kind = "takeProfit" | "stopLoss"
export const KINDS: ReadonlyArray<Kind> = ["takeProfit", "stopLoss"]

/** `before`: the leg that an amend changes, whose reference price stays where the request has none. */
export const readLeg = (
  market: MarketState,
  leg: TpslLeg | undefined,
  field: string,
  before?: Leg
): Leg | OrderRules.Violation | undefined => {
  if (leg === undefined) return undefined
  const ticks = OrderRules.checkPrice(market.rules, leg.trigger_price, field)
  if (typeof ticks !== "number") return ticks
  const by = leg.trigger_by > 0 || before === undefined ? TriggerQueues.triggerBy(leg.trigger_by) : before.by
  return { by, ticks }
}

/** Field paths of the legs: in an order, and in a trading stop of a position. */
export type Paths = Readonly<Record<Kind, string>>
const OF_ORDER: Paths = {
  takeProfit: "tpsl.take_profit.market.trigger_price",
  stopLoss: "tpsl.stop_loss.market.trigger_price"
}
export const OF_POSITION: Paths = { takeProfit: "take_profit", stopLoss: "stop_loss" }
export const SIZES: Paths = { takeProfit: "tp_size", stopLoss: "sl_size" }

export const modeOf = (mode: TpslMode): TpslMode => (mode === PARTIAL ? PARTIAL : FULL)

/** Reads the take-profit and stop-loss of a new order. */
export const read = (market: MarketState, request: TpslRequest): Tpsl | OrderRules.Violation => {
  const takeProfit = readLeg(market, request.take_profit, OF_ORDER.takeProfit)
  if (takeProfit !== undefined && "reason" in takeProfit) return takeProfit
  const stopLoss = readLeg(market, request.stop_loss, OF_ORDER.stopLoss)
  if (stopLoss !== undefined && "reason" in stopLoss) return stopLoss
  if (takeProfit === undefined && stopLoss === undefined)
    return { reason: "MissingField", field: "tpsl.take_profit", message: "take_profit or stop_loss must be given" }
  return { mode: modeOf(request.mode), takeProfit, stopLoss }
}

export const isRemoval = (leg: TpslLeg | undefined): boolean =>
  leg !== undefined && /^0(?:\.0+)?$/u.test(leg.trigger_price)

const sameLeg = (a: Leg | undefined, b: Leg | undefined): boolean => a?.by === b?.by && a?.ticks === b?.ticks

/**
 * The legs of an order after an amend: a price of 0 removes a leg, an absent leg stays. Returns the same object where
 * nothing changes.
 */
export const amended = (
  market: MarketState,
  before: Tpsl | undefined,
  request: TpslRequest
): Tpsl | OrderRules.Violation | undefined => {
  const leg = (requested: TpslLeg | undefined, current: Leg | undefined, field: string) =>
    requested === undefined ? current : isRemoval(requested) ? undefined : readLeg(market, requested, field, current)
  const takeProfit = leg(request.take_profit, before?.takeProfit, OF_ORDER.takeProfit)
  if (takeProfit !== undefined && "reason" in takeProfit) return takeProfit
  const stopLoss = leg(request.stop_loss, before?.stopLoss, OF_ORDER.stopLoss)
  if (stopLoss !== undefined && "reason" in stopLoss) return stopLoss
  const mode = request.mode > 0 || before === undefined ? modeOf(request.mode) : before.mode
  if (takeProfit === undefined && stopLoss === undefined) return undefined
  return before !== undefined &&
    before.mode === mode &&
    sameLeg(before.takeProfit, takeProfit) &&
    sameLeg(before.stopLoss, stopLoss)
    ? before
    : { mode, takeProfit, stopLoss }
}

/** Checks that the legs of a position opened by `side` are on the correct sides of a price. */
export const checkSides = (
  { stopLoss, takeProfit }: Pick<Tpsl, "stopLoss" | "takeProfit">,
  side: Side,
  ticks: number,
  of: string,
  paths: Paths = OF_ORDER
): OrderRules.Violation | undefined => {
  const sign = side === Side.SIDE_BUY ? 1 : -1
  const wrong = (kind: Kind, word: string): OrderRules.Violation => ({
    reason: "OutOfRange",
    field: paths[kind],
    message: `${OF_POSITION[kind]} must lie ${word} ${of}`
  })
  const [gain, loss] = side === Side.SIDE_BUY ? (["above", "below"] as const) : (["below", "above"] as const)
  if (takeProfit !== undefined && sign * (takeProfit.ticks - ticks) <= 0) return wrong("takeProfit", gain)
  if (stopLoss !== undefined && sign * (stopLoss.ticks - ticks) >= 0) return wrong("stopLoss", loss)
  return undefined
}

/** Names of the reference prices in messages. */
const REFERENCE: Readonly<Record<number, string>> = {
  [TriggerBy.TRIGGER_BY_LAST_PRICE]: "the last price",
  [TriggerBy.TRIGGER_BY_INDEX_PRICE]: "the index price",
  [TriggerBy.TRIGGER_BY_MARK_PRICE]: "the mark price"
}

/**
 * Describes a leg of a Market order whose reference price is at or beyond its trigger, so that it cannot be attached.
 * `undefined`: both legs can. Source: docs/contract/orders.md#take-profit-and-stop-loss.
 */
export const describeMetLeg = (market: MarketState, { stopLoss, takeProfit }: Tpsl, side: Side): string | undefined => {
  const legs = { takeProfit, stopLoss }
  for (const kind of KINDS) {
    const leg = legs[kind]
    if (leg === undefined) continue
    const above = (kind === "takeProfit") === (side === Side.SIDE_BUY)
    const reference = TriggerQueues.reference(market, leg.by)
    if (above ? leg.ticks > reference : leg.ticks < reference) continue
    const price = (ticks: number) => Grid.text(market.rules.price, ticks)
    return (
      `${OF_POSITION[kind]} ${price(leg.ticks)} must lie ${above ? "above" : "below"} ` +
      `${REFERENCE[leg.by]} ${price(reference)}`
    )
  }
  return undefined
}
