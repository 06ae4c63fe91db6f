/**
 * The order in the form: as typed, checked against the rules of the market, previewed against the account, and as the request that
 * it becomes. Pure; quantities and prices are decimals scaled by 10^18.
 */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import type { Side, TriggerBy } from "../src/domain/Enumerations.ts"
import type * as Margin from "../src/domain/Margin.ts"
import type { Instrument, Level, Ticker } from "../src/domain/Market.ts"
import * as OrderRules from "../src/domain/OrderRules.ts"
import type { CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import { averageOf, type BookFill, fillOf, qtyForValue } from "./BookFill.ts"
import { type ExitBasis, exitPrice, type ExitUnit, isOnWrongSide, type Leg } from "./ExitPrice.ts"
import * as Format from "./Format.ts"
import { type AccountState, preview, type Preview, protectivePrice } from "./OrderPreview.ts"
import { largestQty, toLots } from "./OrderSize.ts"

export const orderTabs = ["Limit", "Market", "Conditional"] as const
export type OrderTab = (typeof orderTabs)[number]
export const timesInForce = ["GTC", "GTT", "IOC", "FOK"] as const

/** A take-profit or stop-loss as typed; empty: none. */
export interface ExitText {
  readonly text: string
  readonly unit: ExitUnit
}

export interface Draft {
  readonly side: Side
  readonly tab: OrderTab
  /** Texts as typed. */
  readonly price: string
  readonly trigger: string
  readonly size: string
  readonly sizeIn: "base" | "quote"
  readonly triggerBy: TriggerBy
  /** What a conditional order places when it triggers. */
  readonly places: "Limit" | "Market"
  readonly reduceOnly: boolean
  readonly postOnly: boolean
  readonly timeInForce: (typeof timesInForce)[number]
  /** With GTT: time until the order expires, in ms. */
  readonly life_ms: number
  readonly hasExits: boolean
  readonly take_profit: ExitText
  readonly stop_loss: ExitText
  /** Reference price of both exits. */
  readonly exitsBy: TriggerBy
}

const DAY_MS = 86_400_000

export const emptyDraft: Draft = {
  side: "Buy",
  tab: "Limit",
  price: "",
  trigger: "",
  size: "",
  sizeIn: "base",
  triggerBy: "MarkPrice",
  places: "Market",
  reduceOnly: false,
  postOnly: false,
  timeInForce: "GTC",
  life_ms: DAY_MS,
  hasExits: false,
  take_profit: { text: "", unit: "Price" },
  stop_loss: { text: "", unit: "Price" },
  exitsBy: "MarkPrice"
}

/** The market and the account at the time of the check. */
export interface DraftContext {
  readonly instrument: Instrument
  readonly tiers: Margin.RiskTiers
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
  readonly ticker: Ticker | undefined
  /** `undefined`: signed out, or not loaded yet. */
  readonly account: AccountState | undefined
}

export type Field = "trigger" | "price" | "size" | Leg

/** Why a draft cannot be sent, and the field to change. */
export interface Fault {
  readonly field: Field
  readonly message: string
}

/** A draft with all numbers worked out. */
export interface ReadyOrder {
  readonly qty: Scaled
  /** Expected average price. */
  readonly price: Scaled
  readonly trigger: { readonly price: string; readonly direction: "Up" | "Down" } | undefined
  /** What it takes from the book at once; of a conditional order nothing is known. */
  readonly fill: BookFill | undefined
  readonly exits: Readonly<Record<Leg, Scaled | undefined>>
  readonly basis: ExitBasis
  /** `undefined` until the account has loaded. */
  readonly preview: Preview | undefined
}

/** The result of a check; `undefined`: the draft is incomplete. `order` is also there if only the money does not suffice. */
export interface DraftCheck {
  readonly fault: Fault | undefined
  readonly order: ReadyOrder | undefined
}

/** Whether the order of a draft has a limit price. */
export const hasPrice = ({ places, tab }: Draft): boolean =>
  tab === "Limit" || (tab === "Conditional" && places === "Limit")
/** Whether the order can rest, so that it may be post-only. */
export const canBePostOnly = (draft: Draft): boolean =>
  hasPrice(draft) && (draft.timeInForce === "GTC" || draft.timeInForce === "GTT")

const rulesOf = ({ lot_size_filter, price_filter }: Instrument): OrderRules.OrderRules =>
  OrderRules.make({ ...price_filter, ...lot_size_filter })

const wrong = (field: Field, message: string): DraftCheck => ({ fault: { field, message }, order: undefined })

const referenceOf = (by: TriggerBy, { index_price, last_price, mark_price }: Ticker): string =>
  ({ IndexPrice: index_price, LastPrice: last_price, MarkPrice: mark_price })[by]

/** Quantity of a draft whose size is a value in the quote asset: from the book for a Market order, else at its price. */
const qtyOf = (draft: Draft, context: DraftContext, at: Scaled | undefined): Scaled => {
  const amount = Decimal.parse(draft.size)
  if (draft.sizeIn === "base") return amount
  const levels = draft.side === "Buy" ? context.asks : context.bids
  const qty =
    draft.tab === "Market" ? qtyForValue(levels, amount) : at === undefined ? 0n : Decimal.div(amount, at, "down")
  return toLots(context.instrument, qty)
}

/** The first error of a price that the draft has. */
const errorOfPrice = (rules: OrderRules.OrderRules, field: Field, word: string, text: string): Fault | undefined => {
  const message = Format.errorOfUnsigned(word, text)
  if (message !== undefined) return { field, message }
  const ticks = OrderRules.checkPrice(rules, text, word)
  return typeof ticks === "object" ? { field, message: ticks.message } : undefined
}

const errorOfSize = (draft: Draft, rules: OrderRules.OrderRules, qty: Scaled, price: Scaled): Fault | undefined => {
  const name = draft.sizeIn === "base" ? "size" : "the size for this value"
  const lots = OrderRules.checkQty(rules, Decimal.format(qty), !hasPrice(draft), false, name)
  if (typeof lots === "object") return { field: "size", message: lots.message }
  if (draft.reduceOnly) return undefined
  const ticks = Number(price / rules.price.step)
  const violation = OrderRules.checkNotional(rules, ticks, lots)
  return violation && { field: "size", message: `the order value must be at least ${violation.min}` }
}

/** The price band: a Buy limit at most that far above the mark, a Sell limit at most that far below. */
const errorOfBand = ({ side }: Draft, { instrument }: DraftContext, mark: Scaled, price: Scaled): Fault | undefined => {
  const bound = protectivePrice(instrument, mark, side)
  if (side === "Buy" ? price <= bound : price >= bound) return undefined
  const limit = Decimal.format(bound)
  return {
    field: "price",
    message: `the price band ends at ${limit}: a ${side === "Buy" ? "higher" : "lower"} limit is rejected`
  }
}

const legs: ReadonlyArray<readonly [Leg, string]> = [
  ["take_profit", "take-profit"],
  ["stop_loss", "stop-loss"]
]

/** The trigger prices of the exits, or the first error. */
const exitsOf = (
  draft: Draft,
  rules: OrderRules.OrderRules,
  basis: ExitBasis
): { readonly exits: ReadyOrder["exits"] } | { readonly fault: Fault } => {
  const exits: Record<Leg, Scaled | undefined> = { take_profit: undefined, stop_loss: undefined }
  if (!draft.hasExits || draft.reduceOnly) return { exits }
  for (const [leg, name] of legs) {
    const { text, unit } = draft[leg]
    if (text === "") continue
    if (!Format.isDecimal(text)) return { fault: { field: leg, message: Format.notDecimal(name) } }
    const price = unit === "Price" ? Decimal.parse(text) : exitPrice(leg, Decimal.parse(text), unit, basis)
    const error = errorOfPrice(rules, leg, name, Decimal.format(price))
    if (error !== undefined) return { fault: error }
    if (isOnWrongSide(leg, price, basis)) {
      const where = (draft.side === "Buy") === (leg === "take_profit") ? "above" : "below"
      return {
        fault: {
          field: leg,
          message: `the ${name} of a ${draft.side === "Buy" ? "long" : "short"} must lie ${where} the entry`
        }
      }
    }
    exits[leg] = price
  }
  return { exits }
}

/** Texts that must be filled in, and the prices among them. */
const isIncomplete = (draft: Draft): boolean =>
  draft.size === "" || (hasPrice(draft) && draft.price === "") || (draft.tab === "Conditional" && draft.trigger === "")

const triggerOf = (draft: Draft, ticker: Ticker): ReadyOrder["trigger"] | Fault => {
  if (draft.tab !== "Conditional") return undefined
  const [price, reference] = [Decimal.parse(draft.trigger), Decimal.parse(referenceOf(draft.triggerBy, ticker))]
  if (price === reference) return { field: "trigger", message: "the trigger price is met already" }
  return { price: Decimal.format(price), direction: price > reference ? "Up" : "Down" }
}

/** The error of the typed prices; `undefined`: none. */
const errorOfPrices = (draft: Draft, rules: OrderRules.OrderRules): Fault | undefined =>
  (draft.tab === "Conditional" && draft.trigger !== ""
    ? errorOfPrice(rules, "trigger", "trigger price", draft.trigger)
    : undefined) ??
  (hasPrice(draft) && draft.price !== "" ? errorOfPrice(rules, "price", "price", draft.price) : undefined)

/** The expected price of one unit before the size is known; `undefined`: the book is empty. */
const unitPrice = (draft: Draft, { asks, bids }: DraftContext): Scaled | undefined => {
  if (hasPrice(draft)) return Decimal.parse(draft.price)
  if (draft.tab === "Conditional") return Decimal.parse(draft.trigger)
  const best = (draft.side === "Buy" ? asks : bids)[0]
  return best === undefined ? undefined : Decimal.parse(best[0])
}

/** The worst price of an order: margin is reserved at it. */
const boundOf = (draft: Draft, { instrument }: DraftContext, mark: Scaled, unit: Scaled): Scaled =>
  hasPrice(draft) ? unit : protectivePrice(instrument, draft.tab === "Market" ? mark : unit, draft.side)

/** Checks a draft; `undefined` while it is incomplete. */
export const checkDraft = (draft: Draft, context: DraftContext): DraftCheck | undefined => {
  const { account, instrument, ticker, tiers } = context
  const rules = rulesOf(instrument)
  const typed = errorOfPrices(draft, rules)
  if (typed !== undefined) return { fault: typed, order: undefined }
  if (isIncomplete(draft) || ticker === undefined) return undefined
  const badSize = Format.errorOfUnsigned("size", draft.size)
  if (badSize !== undefined) return wrong("size", badSize)
  const unit = unitPrice(draft, context)
  if (unit === undefined) return wrong("size", `nobody ${draft.side === "Buy" ? "sells" : "buys"} at the moment`)
  const [mark, tick] = [Decimal.parse(ticker.mark_price), Decimal.parse(instrument.price_filter.tick_size)]
  const qty = qtyOf(draft, context, unit)
  const bad = errorOfSize(draft, rules, qty, unit)
  if (bad !== undefined) return { fault: bad, order: undefined }
  const trigger = triggerOf(draft, ticker)
  if (trigger !== undefined && "field" in trigger) return { fault: trigger, order: undefined }
  const bound = boundOf(draft, context, mark, unit)
  const band = draft.tab === "Limit" ? errorOfBand(draft, context, mark, unit) : undefined
  if (band !== undefined) return { fault: band, order: undefined }
  const fill =
    draft.tab === "Conditional"
      ? undefined
      : fillOf(draft.side === "Buy" ? context.asks : context.bids, qty, draft.side, bound)
  if (draft.tab === "Market" && fill?.qty === 0n) return wrong("size", "the book has nothing within the price band")
  const price = draft.tab === "Market" ? averageOf(fill!, draft.side, tick)! : unit
  const basis: ExitBasis = { side: draft.side, entry: price, qty, leverage: account?.leverage ?? Decimal.ONE, tick }
  const exits = exitsOf(draft, rules, basis)
  if ("fault" in exits) return { fault: exits.fault, order: undefined }
  const taken = fill?.qty ?? (hasPrice(draft) ? 0n : qty)
  const input = { side: draft.side, price, bound, qty, taken, reduceOnly: draft.reduceOnly }
  const result = account && preview(instrument, tiers, account, input)
  return {
    fault: faultOf(draft, result),
    order: { qty, price, trigger, fill, exits: exits.exits, basis, preview: result }
  }
}

/** What keeps the account from placing the order. A conditional order is checked when it triggers. */
const faultOf = ({ tab }: Draft, result: Preview | undefined): Fault | undefined => {
  if (result === undefined || tab === "Conditional") return undefined
  if (!result.isWithinRiskLimit)
    return { field: "size", message: "the position would exceed the risk limit of the market" }
  return result.isAffordable ? undefined : { field: "size", message: "not enough available margin" }
}

/** The largest quantity of a draft, whatever its size; `undefined`: a price or the account is missing. */
export const largestOf = (draft: Draft, context: DraftContext): Scaled | undefined => {
  const { account, instrument, ticker, tiers } = context
  if (account === undefined || ticker === undefined) return undefined
  if (isIncomplete({ ...draft, size: "1" }) || errorOfPrices(draft, rulesOf(instrument)) !== undefined) return undefined
  const unit = unitPrice(draft, context)
  if (unit === undefined) return undefined
  const bound = boundOf(draft, context, Decimal.parse(ticker.mark_price), unit)
  const order = { side: draft.side, price: unit, bound, reduceOnly: draft.reduceOnly }
  return largestQty(instrument, tiers, account, order, !hasPrice(draft))
}

/** The request of a checked draft, without its `order_link_id`. */
export const bodyOf = (
  draft: Draft,
  { exits, qty, trigger }: ReadyOrder,
  to: {
    readonly sub_account_address: string
    readonly symbol: string
    readonly now_ms: number
  }
): Omit<CreateOrderBody, "order_link_id"> => {
  const isLimit = hasPrice(draft)
  const exit = (price: Scaled | undefined) =>
    price === undefined ? undefined : { market: { trigger_price: Decimal.format(price), trigger_by: draft.exitsBy } }
  const [takeProfit, stopLoss] = [exit(exits.take_profit), exit(exits.stop_loss)]
  return {
    sub_account_address: to.sub_account_address,
    symbol: to.symbol,
    side: draft.side,
    order_type: isLimit ? "Limit" : "Market",
    qty: Decimal.format(qty),
    ...(isLimit ? { price: draft.price, time_in_force: draft.timeInForce } : {}),
    ...(isLimit && draft.timeInForce === "GTT" ? { expire_time: to.now_ms + draft.life_ms } : {}),
    ...(draft.postOnly && canBePostOnly(draft) ? { post_only: true } : {}),
    ...(draft.reduceOnly ? { reduce_only: true } : {}),
    ...(trigger === undefined
      ? {}
      : {
          trigger: {
            trigger_price: trigger.price,
            trigger_by: draft.triggerBy,
            trigger_direction: trigger.direction
          }
        }),
    ...(takeProfit === undefined && stopLoss === undefined
      ? {}
      : {
          tpsl: {
            ...(takeProfit === undefined ? {} : { take_profit: takeProfit }),
            ...(stopLoss === undefined ? {} : { stop_loss: stopLoss })
          }
        })
  }
}
