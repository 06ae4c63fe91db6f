/** Take-profit and stop-loss of a position. They close the whole of it. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { TriggerBy } from "../src/domain/Enumerations.ts"
import type { Position } from "../src/domain/Position.ts"
import type { AccountView } from "./AccountView.ts"
import { select, setValue } from "./Controls.ts"
import { dialog } from "./Dialog.ts"
import { h, setText } from "./Dom.ts"
import { exitText, legField, references } from "./ExitFields.ts"
import { type ExitBasis, exitPrice, type ExitUnit, type Leg } from "./ExitPrice.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"

type Texts = Readonly<Record<Leg, string>>
type Units = Readonly<Record<Leg, ExitUnit>>

export const exitsDialog = ({ market, price, qty, session }: AccountView): ((position: Position) => void) => {
  const held = new Live<Position | undefined>(undefined)
  const texts = new Live<Texts>({ take_profit: "", stop_loss: "" })
  const units = new Live<Units>({ take_profit: "Price", stop_loss: "Price" })

  const basisOf = ({ avg_price, leverage, side, size, symbol }: Position): ExitBasis => ({
    side: side === "Sell" ? "Sell" : "Buy",
    entry: Decimal.parse(avg_price),
    qty: Decimal.parse(size),
    leverage: Decimal.parse(leverage),
    tick: Decimal.parse(market.instruments.find((each) => each.symbol === symbol)!.price_filter.tick_size)
  })
  /** The trigger price of a leg, 0 for none; `undefined`: no number. */
  const priceOf = (leg: Leg, position: Position): bigint | undefined => {
    const [text, unit] = [texts.value[leg], units.value[leg]]
    if (!Format.isDecimal(text)) return undefined
    return unit === "Price" ? Decimal.parse(text) : exitPrice(leg, Decimal.parse(text), unit, basisOf(position))
  }

  const fields = (["take_profit", "stop_loss"] as const).map((leg) =>
    legField(
      leg,
      `position-${leg.replace("_", "-")}`,
      "exits-dialog-error",
      (text) => texts.set({ ...texts.value, [leg]: text }),
      (unit) => {
        units.set({ ...units.value, [leg]: unit })
        texts.set({ ...texts.value, [leg]: "" })
      }
    )
  )
  const by = select<TriggerBy>({ id: "position-exits-by" }, references, () => {})
  const words = h("p", { class: "dim" })

  const send = async (): Promise<void> => {
    const position = held.value
    if (position === undefined) return
    const { sub_account_address, symbol } = position
    const changes: Partial<Record<Leg, string>> = {}
    for (const { input, leg, name } of fields) {
      const at = priceOf(leg, position)
      if (texts.value[leg] !== "" && at === undefined) {
        input.focus()
        throw new Error(`${Format.notDecimal(name)}.`)
      }
      const next = at === undefined || at === 0n ? "" : Decimal.format(at)
      // "0" removes an exit
      if (next !== position[leg]) changes[leg] = next === "" ? "0" : next
    }
    if (Object.keys(changes).length === 0) return
    const trigger = by.value as TriggerBy
    await session.api().tradingStop({
      sub_account_address,
      symbol,
      ...changes,
      ...(changes.take_profit === undefined ? {} : { tp_trigger_by: trigger }),
      ...(changes.stop_loss === undefined ? {} : { sl_trigger_by: trigger })
    })
  }
  const box = dialog(
    "exits-dialog",
    "Confirm",
    send,
    words,
    ...fields.map(({ element }) => element),
    h("p", { class: "inline" }, h("label", { for: "position-exits-by" }, "They trigger by"), by)
  )
  drawn([held, texts, units], () => {
    const position = held.value
    if (position === undefined) return
    const quote = market.instruments.find(({ symbol }) => symbol === position.symbol)!.quote_asset
    for (const { hint, input, leg, unit } of fields) {
      setValue(input, texts.value[leg])
      setValue(unit, units.value[leg])
      const at = priceOf(leg, position)
      const isNone = texts.value[leg] === "" || at === 0n
      setText(hint, isNone ? "none" : at === undefined ? "" : exitText(at, basisOf(position), quote))
    }
  })
  return (position) => {
    held.set(position)
    const { avg_price, side, size, stop_loss, symbol, take_profit } = position
    units.set({ take_profit: "Price", stop_loss: "Price" })
    texts.set({ take_profit, stop_loss })
    setText(box.title, `Take profit and stop loss in ${symbol}`)
    setText(
      words,
      `They close the whole ${side === "Buy" ? "long" : "short"}, ${qty(symbol, size)} entered at ${price(symbol, avg_price)}. An empty field removes one.`
    )
    box.open()
    fields[0]!.input.focus()
  }
}
