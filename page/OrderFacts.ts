/** The preview below the order form. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Instrument } from "../src/domain/Market.ts"
import { slippageOf } from "./BookFill.ts"
import { fact, h, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import type { Draft, ReadyOrder } from "./OrderDraft.ts"

const money = (value: bigint | undefined): string => (value === undefined ? "–" : Format.money(Decimal.format(value)))

/** How the order fills now: `60,020.3, slippage 0.014 %`; of a part: `1.2 of 3 at 60,020.3`. */
const fillText = ({ fill, price, qty }: ReadyOrder, { lot_size_filter, price_filter }: Instrument): string => {
  const at = Format.grouped(Decimal.format(price), Format.placesOf(price_filter.tick_size))
  if (fill === undefined || fill.qty === 0n) return at
  const slippage = Decimal.format(slippageOf(fill))
  if (fill.qty === qty) return `${at}, slippage ${Format.percent(slippage, 3)}`
  const places = Format.placesOf(lot_size_filter.qty_step)
  const parts = [fill.qty, qty].map((each) => Format.grouped(Decimal.format(each), places))
  return `only ${parts.join(" of ")} at ${at}`
}

const feeText = ({ fill, preview, qty }: ReadyOrder): string => {
  const role = fill === undefined || fill.qty === qty ? "taker" : fill.qty === 0n ? "maker" : "taker and maker"
  return preview === undefined ? "–" : `${money(preview.fee)} (${role})`
}

export const orderFacts = () => {
  const facts = {
    fill: fact("Fills at", "Average price in the order book now, and how much worse it is than the best price"),
    size: fact("Size"),
    value: fact("Order value"),
    margin: fact("Margin", "Margin that the order reserves while it is open"),
    fee: fact("Fee"),
    after: fact("Available after"),
    liquidation: fact(
      "Est. liquidation price",
      "Mark price at which the position would be liquidated after a complete fill"
    )
  }
  const element = h(
    "dl",
    { class: "preview", "aria-label": "Order preview" },
    ...Object.values(facts).map(({ element: each }) => each)
  )
  return {
    element,
    show: (
      draft: Draft,
      order: ReadyOrder | undefined,
      instrument: Instrument,
      available: string | undefined
    ): void => {
      const { base_asset, lot_size_filter, price_filter } = instrument
      const result = order?.preview
      facts.fill.element.hidden = draft.tab !== "Market"
      facts.size.element.hidden = draft.sizeIn === "base"
      setText(facts.fill.value, order === undefined ? "–" : fillText(order, instrument))
      setClass(facts.fill.value, "warning", order?.fill !== undefined && order.fill.qty < order.qty)
      const qty = order && Format.grouped(Decimal.format(order.qty), Format.placesOf(lot_size_filter.qty_step))
      setText(facts.size.value, qty === undefined ? "–" : `${qty} ${base_asset}`)
      setText(facts.value.value, money(result?.value))
      setText(
        facts.margin.value,
        draft.tab === "Conditional" && result !== undefined ? "none until it triggers" : money(result?.margin)
      )
      setText(facts.fee.value, order === undefined ? "–" : feeText(order))
      const rest = draft.tab === "Conditional" ? undefined : result?.availableAfter
      setText(facts.after.value, rest === undefined && available !== undefined ? Format.money(available) : money(rest))
      const places = Format.placesOf(price_filter.tick_size)
      const liquidation = result?.liquidation
      setText(
        facts.liquidation.value,
        liquidation === undefined ? "–" : Format.grouped(Decimal.format(liquidation), places)
      )
    }
  }
}
