/** Order entry: the form, the preview of the order, and the request. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import { type Draft, checkDraft, type DraftCheck, type Kind, kinds } from "./OrderDraft.ts"
import { fact, h, place, setAttribute, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import type { Market } from "./Market.ts"
import { whileBusy, toast } from "./Toasts.ts"
import type { Preview } from "./OrderPreview.ts"
import type { Session } from "./Session.ts"

export const mount = (market: Market, session: Session): { readonly setPrice: (price: string) => void } => {
  const draft = new Live<Draft>({ side: "Buy", kind: "Limit", price: "", qty: "", reduceOnly: false })
  const change = (part: Partial<Draft>): void => draft.set({ ...draft.value, ...part })
  /** Leverage set in each market. */
  const leverages = new Live<ReadonlyMap<string, string>>(new Map())

  // ---- state

  const leverageHere = (): string | undefined => {
    const { symbol } = market
    const position = session.own(session.account.value.positions).find((each) => each.symbol === symbol)
    return position?.leverage ?? leverages.value.get(symbol)
  }
  const readLeverage = async (): Promise<void> => {
    const { symbol } = market
    if (session.user.value === undefined || leverages.value.has(symbol)) return
    const { list } = await session.api().positions(symbol)
    const found = list.find((each) => each.sub_account_address === session.user.value?.address)
    if (found !== undefined) leverages.set(new Map([...leverages.value, [symbol, found.leverage]]))
  }

  const checked = (): DraftCheck | undefined => checkDraft(draft.value, market, session, leverageHere())

  // ---- elements

  const radio = (name: string, value: string, label: string, act: () => void) =>
    h(
      "label",
      { class: `radio ${value.toLowerCase()}` },
      h("input", { type: "radio", name, value, onchange: act }),
      h("span", {}, label)
    )
  const sides = (["Buy", "Sell"] as const).map((side) => radio("side", side, side, () => change({ side })))
  const kind = h(
    "select",
    { id: "kind", onchange: () => change({ kind: kind.value as Kind }) },
    ...Object.keys(kinds).map((name) => h("option", {}, name))
  )
  const number = (id: string, act: (text: string) => void) => {
    const input = h("input", {
      id,
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": "verdict"
    })
    input.addEventListener("input", () => act(input.value.trim()))
    return input
  }
  const price = number("price", (text) => change({ price: text }))
  const qty = number("qty", (text) => change({ qty: text }))
  const reduceOnly = h("input", {
    type: "checkbox",
    id: "reduce-only",
    onchange: () => change({ reduceOnly: reduceOnly.checked })
  })
  const leverage = h("input", { id: "leverage", type: "text", inputmode: "decimal", autocomplete: "off" })
  const setLeverage = h(
    "button",
    { type: "button", class: "quiet", onclick: () => whileBusy(setLeverage, changeLeverage) },
    "Set"
  )
  const [priceUnit, qtyUnit] = [h("span", { class: "unit" }), h("span", { class: "unit" })]
  const field = (label: string, id: string, ...inputs: ReadonlyArray<HTMLElement>) =>
    h("div", { class: "field" }, h("label", { for: id }, label), h("div", { class: "input" }, ...inputs))
  const priceField = field("Price", "price", price, priceUnit)
  const facts = {
    value: fact("Order value"),
    margin: fact("Margin", "Margin that the order reserves while it is open"),
    fee: fact("Taker fee"),
    after: fact("Available after"),
    liquidation: fact(
      "Est. liquidation price",
      "Mark price at which the position would be liquidated after a complete fill"
    )
  }
  const verdict = h("p", { id: "verdict", class: "verdict", "aria-live": "polite" })
  const submit = h("button", { type: "submit", class: "submit" })
  const form = h(
    "form",
    { novalidate: true },
    h("fieldset", { class: "sides" }, h("legend", { class: "hidden" }, "Side"), ...sides),
    h("div", { class: "pair" }, field("Type", "kind", kind), field("Leverage", "leverage", leverage, setLeverage)),
    priceField,
    field("Size", "qty", qty, qtyUnit),
    h("label", { class: "check" }, reduceOnly, "Reduce only: closes, never opens a position"),
    h("dl", { class: "preview", "aria-label": "Order preview" }, ...Object.values(facts).map(({ element }) => element)),
    verdict,
    submit
  )
  sides[0]!.querySelector("input")!.checked = true
  place("order").append(h("h2", {}, "Order"), form)

  // ---- requests

  const changeLeverage = async (): Promise<void> => {
    const { user } = session
    if (user.value === undefined) throw new Error("sign in first")
    const { symbol } = market
    const set = await session
      .api()
      .setLeverage({ sub_account_address: user.value.address, symbol, leverage: leverage.value.trim() })
    leverages.set(new Map([...leverages.value, [symbol, set.leverage]]))
    toast("good", `Leverage of ${symbol} is ${set.leverage}`)
  }

  const send = async (): Promise<void> => {
    const input = draft.value
    const { user } = session
    if (user.value === undefined) return session.signIn()
    const verdict = checked()
    if (verdict === undefined) throw new Error(input.kind === "Market" ? "enter a size" : "enter a price and a size")
    if ("wrong" in verdict) throw new Error(verdict.wrong)
    const body: CreateOrderBody = {
      sub_account_address: user.value.address,
      symbol: market.symbol,
      side: input.side,
      qty: input.qty,
      ...kinds[input.kind],
      ...(input.kind === "Market" ? {} : { price: input.price }),
      ...(input.reduceOnly ? { reduce_only: true } : {}),
      // a retry of the same request never places a second order
      order_link_id: crypto.randomUUID()
    }
    await session.api().create(body)
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    whileBusy(submit, send)
  })

  // ---- drawing

  drawn([market.instrument], () => {
    const { base_asset, quote_asset } = market.instrument.value
    setText(priceUnit, quote_asset)
    setText(qtyUnit, base_asset)
    price.value = ""
    change({ price: "" })
  })
  drawn([market.instrument, session.user], () => {
    readLeverage().catch(() => {})
  })
  drawn([leverages, market.instrument, session.user], () => {
    leverage.value = leverageHere() ?? ""
  })
  drawn([draft, market.instrument, market.book, market.tickers, session.account, session.user, leverages], () => {
    const { kind, side } = draft.value
    const now = checked()
    const shown = now !== undefined && "preview" in now ? now.preview : undefined
    const money = (of: (preview: Preview) => bigint): string =>
      shown === undefined ? "–" : Format.money(Decimal.format(of(shown)))
    priceField.hidden = kind === "Market"
    setText(
      facts.value.value,
      money(({ value }) => value)
    )
    setText(
      facts.margin.value,
      money(({ margin }) => margin)
    )
    setText(
      facts.fee.value,
      money(({ fee }) => fee)
    )
    setText(
      facts.after.value,
      shown === undefined ? available(session.balance()?.available_balance) : money((p) => p.availableAfter)
    )
    const liquidation = shown?.liquidation
    const places = Format.placesOf(market.instrument.value.price_filter.tick_size)
    setText(
      facts.liquidation.value,
      liquidation === undefined ? "–" : Format.grouped(Decimal.format(liquidation), places)
    )
    const wrong = now !== undefined && "wrong" in now ? now.wrong : undefined
    setText(verdict, wrong ?? (shown?.isAffordable === false ? "not enough available margin" : ""))
    setAttribute(qty, "aria-invalid", String(wrong !== undefined && qty.value !== ""))
    const isIn = session.user.value !== undefined
    setText(submit, isIn ? `${side} ${market.instrument.value.base_asset}` : "Sign in to trade")
    setClass(submit, "buy", isIn && side === "Buy")
    setClass(submit, "sell", isIn && side === "Sell")
    setLeverage.disabled = !isIn
  })

  return {
    setPrice: (text) => {
      if (draft.value.kind === "Market") {
        kind.value = "Limit"
        change({ kind: "Limit" })
      }
      price.value = text
      change({ price: text })
      qty.focus()
    }
  }
}

const available = (balance: string | undefined): string => (balance === undefined ? "–" : Format.money(balance))
