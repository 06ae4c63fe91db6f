/** Closes a position, or a share of it, by a market or a limit order. */
import { HashMap, Option } from "effect"
import { keyOf } from "../src/client/Account.ts"
import * as Decimal from "../src/domain/Decimal.ts"
import type { Position } from "../src/domain/Position.ts"
import type { CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import type { AccountView } from "./AccountView.ts"
import { averageOf, fillOf } from "./BookFill.ts"
import { field, numberInput, plainButton, segments, setValue } from "./Controls.ts"
import { dialog } from "./Dialog.ts"
import { fact, h, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import { protectivePrice } from "./OrderPreview.ts"
import { shareOf } from "./OrderSize.ts"
import { isUnanswered, placeOnce } from "./RequestId.ts"

interface Closing {
  readonly position: Position | undefined
  readonly kind: "Market" | "Limit"
  readonly price: string
  readonly percent: number
}

/** Whether both are states of one position: a new one in the same market has another creation time. */
const isSame = (one: Position, other: Position): boolean =>
  keyOf(one) === keyOf(other) && one.created_time === other.created_time

export const closeDialog = (view: AccountView): ((position: Position) => void) => {
  const { market, session } = view
  const state = new Live<Closing>({ position: undefined, kind: "Market", price: "", percent: 100 })
  const change = (part: Partial<Closing>): void => state.set({ ...state.value, ...part })
  const instrumentOf = (symbol: string) => market.instruments.find((each) => each.symbol === symbol)!
  const kinds = segments("close-kind", "Close by", ["Market", "Limit"] as const, (kind) => change({ kind }))
  const price = numberInput("close-price", "close-error", (text) => change({ price: text }))
  const priceField = field("Price", "close-price", price)
  const slider = h("input", {
    type: "range",
    id: "close-share",
    min: "1",
    max: "100",
    step: "1",
    "aria-label": "Share of the position"
  })
  slider.addEventListener("input", () => change({ percent: Number(slider.value) }))
  const steps = h(
    "div",
    { class: "steps" },
    ...[25, 50, 75, 100].map((percent) => plainButton(`${percent} %`, { class: "quiet" }, () => change({ percent })))
  )
  const facts = {
    size: fact("Closes"),
    at: fact("At about"),
    pnl: fact("Realised PnL, before the fee"),
    rest: fact("Remains")
  }

  const why = h("p", { class: "hint", role: "status" })

  /** The position as it is now: fills of other orders change its size while the dialog is open. */
  const currentOf = (position: Position): Position | undefined => {
    const now = Option.getOrUndefined(HashMap.get(session.account.value.positions, keyOf(position)))
    return now !== undefined && isSame(now, position) ? now : undefined
  }
  /** Quantity that is closed. */
  const qtyOf = ({ size, symbol }: Position, percent: number): bigint =>
    shareOf(instrumentOf(symbol), Decimal.parse(size), percent)

  const send = async (): Promise<void> => {
    const confirmed = state.value
    const { kind, percent, position, price: limit } = confirmed
    if (position === undefined) return
    const { side, sub_account_address, symbol } = position
    const order = {
      sub_account_address,
      symbol,
      side: side === "Buy" ? "Sell" : "Buy",
      reduce_only: true
    } as const
    const now = currentOf(position)
    if (now === undefined) throw new Error("The position is closed already.")
    const qty = qtyOf(now, percent)
    if (qty === 0n) throw new Error("This share is less than the smallest size.")
    const place = (body: Pick<CreateOrderBody, "order_type" | "qty" | "price" | "close_on_trigger">): Promise<void> =>
      placeOnce(session, confirmed, { ...order, ...body })
    if (kind === "Market" && percent === 100)
      // 0 closes the whole position, whatever its size is at execution
      await place({ order_type: "Market", qty: "0", close_on_trigger: true })
    else if (kind === "Market") await place({ order_type: "Market", qty: Decimal.format(qty) })
    else await place({ order_type: "Limit", qty: Decimal.format(qty), price: limit })
  }
  const box = dialog(
    "close",
    "Close",
    send,
    kinds.element,
    priceField,
    h("div", { class: "share" }, slider, h("output", { for: "close-share" })),
    steps,
    h("dl", { class: "preview" }, ...Object.values(facts).map(({ element }) => element)),
    why
  )
  const output = box.element.querySelector("output")!

  drawn([state, session.account, market.book, market.tickers], () => {
    const { kind, percent, position: shown, price: limit } = state.value
    if (shown === undefined || !box.element.open) return
    const position = currentOf(shown) ?? { ...shown, size: "0" }
    const { symbol } = position
    const isLong = position.side === "Buy"
    kinds.show(kind)
    setValue(price, limit)
    priceField.hidden = kind === "Market"
    setValue(slider, String(percent))
    setText(output, `${percent} %`)
    setText(box.title, `Close the ${isLong ? "long" : "short"} in ${symbol}`)
    const qty = qtyOf(position, percent)
    const side = isLong ? "Sell" : "Buy"
    const levels =
      symbol !== market.symbol ? [] : ((isLong ? market.book.value?.bids() : market.book.value?.asks()) ?? [])
    const mark = Decimal.parse(view.markOf(symbol) ?? position.mark_price)
    const fill = fillOf(levels, qty, side, protectivePrice(instrumentOf(symbol), mark, side))
    // what a market order leaves in a thin book
    const isThin = kind === "Market" && symbol === market.symbol && fill.qty < qty
    const tick = Decimal.parse(instrumentOf(symbol).price_filter.tick_size)
    const known =
      kind === "Limit" ? (Format.isDecimal(limit) ? Decimal.parse(limit) : undefined) : averageOf(fill, side, tick)
    // of another market only the mark price is known
    const at = known ?? (kind === "Market" ? mark : undefined)
    const entry = Decimal.parse(position.avg_price)
    const text = (amount: bigint): string => view.qty(symbol, Decimal.format(amount))
    const done = isThin ? fill.qty : qty
    setText(facts.size.value, isThin ? `only ${text(done)} of ${text(qty)}` : text(qty))
    setClass(facts.size.value, "warning", isThin)
    setText(facts.at.value, at === undefined ? "–" : view.price(symbol, Decimal.format(at)))
    setText(
      facts.pnl.value,
      at === undefined ? "–" : Format.gain(Decimal.format(Decimal.mul(isLong ? at - entry : entry - at, done, "down")))
    )
    const rest = Decimal.parse(position.size) - done
    setText(facts.rest.value, rest === 0n ? "nothing" : text(rest))
    const [orders, verb] = isLong ? ["bids", "sells"] : ["asks", "buys"]
    setText(
      why,
      isThin
        ? `A market order ${verb} at most ${text(done)} now: the book has no more ${orders} within the price band. The rest stays open.`
        : ""
    )
  })
  return (position) => {
    const held = state.value.position
    // a close without an answer is confirmed again as it was: under its id it acts once
    if (held === undefined || !isSame(held, position) || !isUnanswered(state.value)) {
      const mark = view.markOf(position.symbol) ?? position.mark_price
      state.set({ position, kind: "Market", price: mark, percent: 100 })
    } else state.touch()
    box.open()
    box.confirm.focus()
  }
}
