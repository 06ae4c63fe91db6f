/** Order entry: what is written is checked by the market's own rules, and what it would ask of the account is shown before it is sent. */
import { HashMap } from "effect"
import * as Decimal from "../src/domain/Decimal.ts"
import * as OrderRules from "../src/domain/OrderRules.ts"
import type { Position } from "../src/domain/Position.ts"
import type { CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import { fact, h, place, setAttribute, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import type { Market } from "./Market.ts"
import { doing, note } from "./Notes.ts"
import { preview, type Preview, priceWithin, protectivePrice, tiersOf } from "./Preview.ts"
import type { Session } from "./Session.ts"

type Side = "Buy" | "Sell"
/** How an order meets the book: words of the trade, each with what is sent for it. */
const kinds = {
  Limit: { order_type: "Limit", time_in_force: "GTC" },
  Market: { order_type: "Market", time_in_force: "IOC" },
  "Post only": { order_type: "Limit", time_in_force: "PostOnly" },
  IOC: { order_type: "Limit", time_in_force: "IOC" },
  FOK: { order_type: "Limit", time_in_force: "FOK" }
} as const
type Kind = keyof typeof kinds

interface Draft {
  readonly side: Side
  readonly kind: Kind
  readonly price: string
  readonly qty: string
  readonly reduceOnly: boolean
}

const USDC = "USDC"

/** Either what is wrong with what was written, or what it would come to. */
type Judged = { readonly wrong: string } | { readonly preview: Preview | undefined }

export const mount = (market: Market, session: Session): { readonly setPrice: (price: string) => void } => {
  const draft = new Live<Draft>({ side: "Buy", kind: "Limit", price: "", qty: "", reduceOnly: false })
  const change = (part: Partial<Draft>): void => draft.set({ ...draft.value, ...part })
  /** Leverage that is set in each market. */
  const leverages = new Live<ReadonlyMap<string, string>>(new Map())

  // ---- what is known

  /** Of the records of the account, those of the sub-account that the page trades with. */
  const own = <A extends { readonly sub_account_address: string }>(
    records: HashMap.HashMap<string, A>
  ): ReadonlyArray<A> =>
    [...HashMap.values(records)].filter(({ sub_account_address }) => sub_account_address === session.who.value?.address)
  const positionHere = (): Position | undefined =>
    own(session.account.value.positions).find((position) => position.symbol === market.symbol)
  const leverageHere = (): string | undefined => positionHere()?.leverage ?? leverages.value.get(market.symbol)
  const balanceHere = () => own(session.account.value.balances).find(({ asset }) => asset === USDC)

  const readLeverage = async (): Promise<void> => {
    const { symbol } = market
    if (session.who.value === undefined || leverages.value.has(symbol)) return
    const { list } = await session.ask().positions(symbol)
    const found = list.find((each) => each.sub_account_address === session.who.value?.address)
    if (found !== undefined) leverages.set(new Map([...leverages.value, [symbol, found.leverage]]))
  }

  /** The price that the order is judged at: its own, or what the book would give. */
  const priceOf = ({ kind, price, side }: Draft, qty: bigint): bigint | undefined => {
    if (kind !== "Market") return Decimal.parse(price)
    const book = market.book.value
    const levels = side === "Buy" ? book?.asks() : book?.bids()
    return priceWithin(levels ?? [], qty, side, Decimal.parse(market.instrument.value.price_filter.tick_size))
  }

  const judge = (asked: Draft): Judged | undefined => {
    const { kind, price, qty, reduceOnly, side } = asked
    if (qty === "" || (kind !== "Market" && price === "")) return undefined
    const instrument = market.instrument.value
    const rules = OrderRules.make({ ...instrument.price_filter, ...instrument.lot_size_filter })
    const isMarket = kind === "Market"
    const ticks = isMarket ? undefined : OrderRules.checkPrice(rules, price)
    if (typeof ticks === "object") return { wrong: ticks.message }
    const lots = OrderRules.checkQty(rules, qty, isMarket, false)
    if (typeof lots === "object") return { wrong: lots.message }
    const small = ticks === undefined || reduceOnly ? undefined : OrderRules.checkNotional(rules, ticks, lots)
    if (small !== undefined) return { wrong: small.message }
    const [scaledQty, balance, ticker, leverage] = [Decimal.parse(qty), balanceHere(), market.ticker, leverageHere()]
    const scaledPrice = priceOf(asked, scaledQty)
    if (scaledPrice === undefined) return { wrong: "the book does not hold this much" }
    if (balance === undefined || ticker === undefined || leverage === undefined) return { preview: undefined }
    const { orders, positions } = session.account.value
    const standing = {
      available: Decimal.parse(balance.available_balance),
      wallet: Decimal.parse(balance.wallet_balance),
      positions: own(positions),
      orders: own(orders),
      leverage: Decimal.parse(leverage),
      mark: Decimal.parse(ticker.mark_price)
    }
    const tiers = tiersOf(market.tiers.filter((tier) => tier.symbol === instrument.symbol))
    const bound = isMarket ? protectivePrice(instrument, standing.mark, side) : scaledPrice
    const order = { side, price: scaledPrice, bound, qty: scaledQty, reduceOnly }
    return { preview: preview(instrument, tiers, standing, order) }
  }

  // ---- what is seen

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
    { type: "button", class: "quiet", onclick: () => doing(setLeverage, changeLeverage) },
    "Set"
  )
  const [priceUnit, qtyUnit] = [h("span", { class: "unit" }), h("span", { class: "unit" })]
  const field = (label: string, id: string, ...inputs: ReadonlyArray<HTMLElement>) =>
    h("div", { class: "field" }, h("label", { for: id }, label), h("div", { class: "input" }, ...inputs))
  const priceField = field("Price", "price", price, priceUnit)
  const facts = {
    value: fact("Order value"),
    margin: fact("Margin", "What the order binds while it is open"),
    fee: fact("Fee if it takes"),
    after: fact("Available after"),
    liquidation: fact(
      "Liquidation near",
      "Mark price at which the position would be liquidated if this is filled whole"
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
    h("label", { class: "check" }, reduceOnly, "Reduce only: never opens a position"),
    h(
      "dl",
      { class: "preview", "aria-label": "What the order asks of your account" },
      ...Object.values(facts).map(({ element }) => element)
    ),
    verdict,
    submit
  )
  sides[0]!.querySelector("input")!.checked = true
  place("order").append(h("h2", {}, "Order"), form)

  // ---- what is done

  const changeLeverage = async (): Promise<void> => {
    const { who } = session
    if (who.value === undefined) throw new Error("sign in first")
    const { symbol } = market
    const set = await session
      .ask()
      .setLeverage({ sub_account_address: who.value.address, symbol, leverage: leverage.value.trim() })
    leverages.set(new Map([...leverages.value, [symbol, set.leverage]]))
    note("good", `Leverage of ${symbol} is ${set.leverage}`)
  }

  const send = async (): Promise<void> => {
    const asked = draft.value
    const { who } = session
    if (who.value === undefined) return session.signIn()
    const judged = judge(asked)
    if (judged === undefined) throw new Error(asked.kind === "Market" ? "write a size" : "write a price and a size")
    if ("wrong" in judged) throw new Error(judged.wrong)
    const body: CreateOrderBody = {
      sub_account_address: who.value.address,
      symbol: market.symbol,
      side: asked.side,
      qty: asked.qty,
      ...kinds[asked.kind],
      ...(asked.kind === "Market" ? {} : { price: asked.price }),
      ...(asked.reduceOnly ? { reduce_only: true } : {}),
      // a repetition of the same request can never be a second order
      order_link_id: crypto.randomUUID()
    }
    await session.ask().create(body)
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    doing(submit, send)
  })

  // ---- drawing

  drawn([market.instrument], () => {
    const { base_asset, quote_asset } = market.instrument.value
    setText(priceUnit, quote_asset)
    setText(qtyUnit, base_asset)
    price.value = ""
    change({ price: "" })
  })
  drawn([market.instrument, session.who], () => {
    readLeverage().catch(() => {})
  })
  drawn([leverages, market.instrument, session.who], () => {
    leverage.value = leverageHere() ?? ""
  })
  drawn([draft, market.instrument, market.book, market.tickers, session.account, session.who, leverages], () => {
    const { kind, side } = draft.value
    const judged = judge(draft.value)
    const shown = judged !== undefined && "preview" in judged ? judged.preview : undefined
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
      shown === undefined ? available(balanceHere()?.available_balance) : money((p) => p.availableAfter)
    )
    const liquidation = shown?.liquidation
    const places = Format.placesOf(market.instrument.value.price_filter.tick_size)
    setText(
      facts.liquidation.value,
      liquidation === undefined ? "–" : Format.grouped(Decimal.format(liquidation), places)
    )
    const wrong = judged !== undefined && "wrong" in judged ? judged.wrong : undefined
    setText(verdict, wrong ?? (shown?.isAffordable === false ? "more margin than is available" : ""))
    setAttribute(qty, "aria-invalid", String(wrong !== undefined && qty.value !== ""))
    const isIn = session.who.value !== undefined
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
