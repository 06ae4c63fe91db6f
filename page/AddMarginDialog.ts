/** Adds margin to an isolated position, or takes some out. */
import type { Position } from "../src/domain/Position.ts"
import type { AccountView } from "./AccountView.ts"
import { field, numberInput, segments } from "./Controls.ts"
import { dialog } from "./Dialog.ts"
import { fact, h, setText } from "./Dom.ts"
import * as Format from "./Format.ts"

const directions = ["Add", "Take out"] as const
type Direction = (typeof directions)[number]

/** The `margin` of the request: negative takes out. Throws where the amount, as typed, is not a number without a sign. */
export const marginOf = (way: Direction, typed: string): string => {
  const text = typed.trim()
  const error = Format.errorOfUnsigned("Amount", text)
  if (error !== undefined) throw new Error(error)
  return way === "Add" ? text : `-${text}`
}

export const marginDialog = ({ price, session }: AccountView): ((position: Position) => void) => {
  let held: Position | undefined
  let way: Direction = "Add"
  const ways = segments("margin-way", "Add or take out", directions, (chosen) => {
    way = chosen
  })
  const amount = numberInput("margin-amount", "add-margin-error", () => {})
  const facts = {
    now: fact("Margin of the position"),
    available: fact("Available"),
    liquidation: fact("Liquidation price now")
  }
  const send = async (): Promise<void> => {
    if (held === undefined) return
    const { sub_account_address, symbol } = held
    await session.api().addMargin({ sub_account_address, symbol, margin: marginOf(way, amount.value) })
  }
  const box = dialog(
    "add-margin",
    "Confirm",
    send,
    ways.element,
    field("Amount", "margin-amount", amount, h("span", { class: "unit" }, "USDC")),
    h("dl", { class: "preview" }, ...Object.values(facts).map(({ element }) => element))
  )
  return (position) => {
    held = position
    way = "Add"
    ways.show(way)
    amount.value = ""
    setText(box.title, `Margin of ${position.symbol}`)
    setText(facts.now.value, Format.money(position.isolated_margin ?? "0"))
    setText(facts.available.value, Format.money(session.balance()?.available_balance ?? ""))
    setText(facts.liquidation.value, price(position.symbol, position.liq_price))
    box.open()
    amount.focus()
  }
}
