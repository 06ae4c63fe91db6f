/** Take-profit and stop-loss of a position. They close the whole of it. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { TriggerBy } from "../src/domain/Enumerations.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"
import type { TradingStopBody } from "../src/http/api/PositionApi.ts"
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
/** Reference prices of the exits; `undefined`: the exit is not set. */
type References = Readonly<Record<Leg, TriggerBy | undefined>>

const exitTypes = { take_profit: "TakeProfit", stop_loss: "StopLoss" } as const
const legs = ["take_profit", "stop_loss"] as const

/** The reference prices of a position's exits, from the open orders of its sub-account. */
export const referencesOf = (orders: ReadonlyArray<Order>, { symbol }: Position): References => {
  const of = (leg: Leg): TriggerBy | undefined =>
    orders.find((order) => order.symbol === symbol && order.stop_order_type === exitTypes[leg])?.trigger?.trigger_by
  return { take_profit: of("take_profit"), stop_loss: of("stop_loss") }
}

/**
 * The part of the request that changes the exits: new prices, `""` for none, and the reference price where the user chose another
 * than `shown`. An exit that keeps its reference is sent with it. Source: docs/contract/rest-trading.md#positions.
 */
export const changesOf = (
  before: Texts,
  next: Texts,
  set: References,
  { chosen, shown }: Readonly<Record<"chosen" | "shown", TriggerBy>>
): Partial<TradingStopBody> => {
  const changed = legs.filter((leg) => next[leg] !== before[leg] || (next[leg] !== "" && chosen !== shown))
  const by = (leg: Leg): TriggerBy => (chosen === shown ? (set[leg] ?? chosen) : chosen)
  return {
    // "0" removes an exit
    ...Object.fromEntries(changed.map((leg) => [leg, next[leg] === "" ? "0" : next[leg]])),
    ...(changed.includes("take_profit") ? { tp_trigger_by: by("take_profit") } : {}),
    ...(changed.includes("stop_loss") ? { sl_trigger_by: by("stop_loss") } : {})
  }
}

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

  const fields = legs.map((leg) =>
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
  /** The reference price when the dialog opened. */
  let shown: TriggerBy = "MarkPrice"
  const words = h("p", { class: "dim" })
  const setOf = (position: Position): References => referencesOf(session.own(session.account.value.orders), position)

  const send = async (): Promise<void> => {
    const position = held.value
    if (position === undefined) return
    const { sub_account_address, symbol } = position
    const next: Record<Leg, string> = { take_profit: "", stop_loss: "" }
    for (const { input, leg, name } of fields) {
      const at = priceOf(leg, position)
      if (texts.value[leg] !== "" && at === undefined) {
        input.focus()
        throw new Error(`${Format.notDecimal(name)}.`)
      }
      if (at !== undefined && at !== 0n) next[leg] = Decimal.format(at)
    }
    const changes = changesOf(position, next, setOf(position), { chosen: by.value as TriggerBy, shown })
    if (Object.keys(changes).length === 0) return
    await session.api().tradingStop({ sub_account_address, symbol, ...changes })
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
    const set = setOf(position)
    shown = set.take_profit ?? set.stop_loss ?? "MarkPrice"
    setValue(by, shown)
    setText(box.title, `Take profit and stop loss in ${symbol}`)
    setText(
      words,
      `They close the whole ${side === "Buy" ? "long" : "short"}, ${qty(symbol, size)} entered at ${price(symbol, avg_price)}. An empty field removes one.`
    )
    box.open()
    fields[0]!.input.focus()
  }
}
