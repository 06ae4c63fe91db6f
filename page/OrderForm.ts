/** Order entry: the form, its preview, and the request. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { TriggerBy } from "../src/domain/Enumerations.ts"
import { check, field, numberInput, segments, select, setValue } from "./Controls.ts"
import { h, place, setAttribute, setClass, setText } from "./Dom.ts"
import { exitFields, references } from "./ExitFields.ts"
import { drawn, Live } from "./Frame.ts"
import * as MarginDialog from "./MarginDialog.ts"
import type { Market } from "./Market.ts"
import { draftContext } from "./OrderContext.ts"
import {
  bodyOf,
  canBePostOnly,
  checkDraft,
  type Draft,
  emptyDraft,
  type Field,
  hasPrice,
  largestOf,
  orderTabs,
  type ReadyOrder,
  timesInForce
} from "./OrderDraft.ts"
import { orderFacts } from "./OrderFacts.ts"
import { reveal } from "./OrderSheet.ts"
import { percentOf, shareOf } from "./OrderSize.ts"
import { placeOnce } from "./RequestId.ts"
import { whileBusy } from "./Toasts.ts"
import type { Session } from "./Session.ts"

const HOUR_MS = 3_600_000
/** Life of a GTT order, in ms. */
const lives: ReadonlyArray<readonly [string, string]> = [
  [String(HOUR_MS / 12), "5 minutes"],
  [String(HOUR_MS), "1 hour"],
  [String(24 * HOUR_MS), "1 day"],
  [String(7 * 24 * HOUR_MS), "1 week"],
  [String(30 * 24 * HOUR_MS), "30 days"]
]

/** The controls of the form. Each writes its part of the draft. */
const controls = (change: (part: Partial<Draft>) => void) => {
  const tabs = segments("kind", "Order type", orderTabs, (tab) => change({ tab }))
  const sides = segments("side", "Side", ["Buy", "Sell"] as const, (side) => change({ side }))
  const trigger = numberInput("trigger", "verdict", (text) => change({ trigger: text }))
  const triggerBy = select<TriggerBy>({ "aria-label": "Trigger by" }, references, (by) => change({ triggerBy: by }))
  const condition = h("p", { class: "hint" })
  const places = segments(
    "places",
    "Then place",
    ["Market", "Limit"] as const,
    (kind) => change({ places: kind }),
    (kind) => (kind === "Market" ? "then Market" : "then Limit")
  )
  const price = numberInput("price", "verdict", (text) => change({ price: text }))
  const size = numberInput("qty", "verdict", (text) => change({ size: text }))
  const sizeIn = select<Draft["sizeIn"]>(
    { "aria-label": "Unit of the size" },
    [
      ["base", ""],
      ["quote", ""]
    ],
    (unit) => change({ sizeIn: unit, size: "" })
  )
  const share = h("input", {
    type: "range",
    id: "share",
    min: "0",
    max: "100",
    step: "1",
    "aria-label": "Share of what is available"
  })
  const shareText = h("output", { for: "share" })
  const reduceOnly = check("reduce-only", "Reduce only", (is) => change({ reduceOnly: is }))
  const postOnly = check("post-only", "Post only", (is) => change({ postOnly: is }))
  const tif = select<Draft["timeInForce"]>(
    { id: "tif" },
    timesInForce.map((name) => [name, name] as const),
    (timeInForce) => change({ timeInForce })
  )
  const life = select({ id: "life", "aria-label": "Expires after" }, lives, (ms) => change({ life_ms: Number(ms) }))
  return {
    tabs,
    sides,
    trigger,
    triggerBy,
    condition,
    places,
    price,
    size,
    sizeIn,
    share,
    shareText,
    reduceOnly,
    postOnly,
    tif,
    life
  }
}

/** What triggers a conditional order: `when the mark rises to 61000`. */
const conditionText = ({ triggerBy }: Draft, order: ReadyOrder | undefined): string => {
  if (order?.trigger === undefined) return ""
  const reference = references.find(([by]) => by === triggerBy)![1].toLowerCase()
  return `when the ${reference} price ${order.trigger.direction === "Up" ? "rises" : "falls"} to ${order.trigger.price}`
}

export const mount = (market: Market, session: Session): { readonly setPrice: (price: string) => void } => {
  const draft = new Live<Draft>(emptyDraft)
  const change = (part: Partial<Draft>): void => draft.set({ ...draft.value, ...part })
  const form = controls(change)
  const exits = exitFields(change, () => draft.value)
  const facts = orderFacts()
  const inputs: Record<Field, HTMLInputElement> = {
    trigger: form.trigger,
    price: form.price,
    size: form.size,
    ...exits.inputs
  }
  const verdict = h("p", { id: "verdict", class: "verdict", "aria-live": "polite" })
  const submit = h("button", { type: "submit", class: "submit" })
  const [priceUnit, triggerUnit] = [h("span", { class: "unit" }), h("span", { class: "choice-unit" }, form.triggerBy)]
  const triggerField = h(
    "div",
    { class: "stack" },
    field("Trigger price", "trigger", form.trigger, triggerUnit),
    form.condition,
    form.places.element
  )
  const priceField = field("Price", "price", form.price, priceUnit)
  const tifField = h("p", { class: "inline" }, h("label", { for: "tif" }, "Time in force"), form.tif, form.life)
  const element = h(
    "form",
    { novalidate: true },
    form.tabs.element,
    form.sides.element,
    triggerField,
    priceField,
    h(
      "div",
      { class: "stack" },
      field("Size", "qty", form.size, h("span", { class: "choice-unit" }, form.sizeIn)),
      h("div", { class: "share" }, form.share, form.shareText)
    ),
    ...exits.elements,
    h("div", { class: "checks" }, form.reduceOnly.element, form.postOnly.element),
    tifField,
    facts.element,
    verdict,
    submit
  )
  place("order").append(h("div", { class: "head" }, h("h2", {}, "Order"), MarginDialog.mount(market, session)), element)

  const context = () => draftContext(market, session)

  form.share.addEventListener("input", () => {
    const whole = largestOf(draft.value, context())
    if (whole === undefined) return
    const qty = shareOf(market.instrument.value, whole, Number(form.share.value))
    // a share is given in the base asset: a value would be rounded twice
    change({ sizeIn: "base", size: qty === 0n ? "" : Decimal.format(qty) })
  })

  const send = async (): Promise<void> => {
    const { user } = session
    if (user.value === undefined) return session.signIn()
    const confirmed = draft.value
    const result = checkDraft(confirmed, context())
    if (result === undefined) throw new Error(hasPrice(confirmed) ? "Enter a price and a size." : "Enter a size.")
    const { fault, order } = result
    if (order === undefined) {
      inputs[fault!.field].focus()
      throw new Error(fault!.message)
    }
    const to = { sub_account_address: user.value.address, symbol: market.symbol, now_ms: market.now() }
    await placeOnce(session, confirmed, bodyOf(confirmed, order, to))
  }
  element.addEventListener("submit", (event) => {
    event.preventDefault()
    // an order that was changed is another one, which need not wait for the answer to the last
    whileBusy(submit, send, draft.value)
  })

  // ---- drawing

  drawn([market.instrument], () => {
    const { base_asset, quote_asset } = market.instrument.value
    setText(priceUnit, quote_asset)
    for (const [i, asset] of [base_asset, quote_asset].entries()) setText(form.sizeIn.options[i]!, asset)
    // prices and sizes of another market mean nothing here
    const { sizeIn, side, tab } = draft.value
    draft.set({ ...emptyDraft, sizeIn, side, tab })
  })
  /** The controls follow the draft. */
  drawn([draft], () => {
    const now = draft.value
    form.tabs.show(now.tab)
    form.sides.show(now.side)
    form.places.show(now.places)
    setValue(form.trigger, now.trigger)
    setValue(form.triggerBy, now.triggerBy)
    setValue(form.price, now.price)
    setValue(form.size, now.size)
    setValue(form.sizeIn, now.sizeIn)
    setValue(form.tif, now.timeInForce)
    setValue(form.life, String(now.life_ms))
    form.reduceOnly.box.checked = now.reduceOnly
    form.postOnly.box.checked = now.postOnly && canBePostOnly(now)
    form.postOnly.box.disabled = !canBePostOnly(now)
    triggerField.hidden = now.tab !== "Conditional"
    priceField.hidden = !hasPrice(now)
    tifField.hidden = !hasPrice(now)
    form.life.hidden = now.timeInForce !== "GTT"
  })
  drawn(
    [draft, market.instrument, market.book, market.tickers, session.account, session.user, session.settings],
    () => {
      const now = draft.value
      const at = context()
      const { base_asset, quote_asset } = at.instrument
      const result = checkDraft(now, at)
      const order = result?.order
      facts.show(now, order, at.instrument, session.balance()?.available_balance)
      exits.show(now, order, quote_asset)
      setText(form.condition, conditionText(now, order))
      const whole = largestOf(now, at)
      const percent = whole === undefined || order === undefined ? 0 : percentOf(order.qty, whole)
      form.share.disabled = whole === undefined || whole === 0n
      // a share is rounded down to the step of the size: while it is set, it stays where it is put
      if (document.activeElement !== form.share) setValue(form.share, String(percent))
      setText(form.shareText, `${form.share.value} %`)
      const fault = result?.fault
      setText(verdict, fault?.message ?? "")
      for (const [name, input] of Object.entries(inputs))
        setAttribute(input, "aria-invalid", String(fault?.field === name))
      const isIn = session.user.value !== undefined
      setText(submit, isIn ? `${now.side} ${base_asset}` : "Sign in to trade")
      setClass(submit, "buy", isIn && now.side === "Buy")
      setClass(submit, "sell", isIn && now.side === "Sell")
    }
  )

  return {
    setPrice: (text) => {
      // a level of the book is a limit price, or the price of a limit order behind a trigger
      change(draft.value.tab === "Conditional" ? { places: "Limit", price: text } : { tab: "Limit", price: text })
      reveal()
      form.size.focus()
    }
  }
}
