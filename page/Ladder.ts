/** The order book as a ladder: asks above, bids below, cumulative sizes as bars. A click on a level fills the price of the order form. */
import { HashMap } from "effect"
import * as Decimal from "../src/domain/Decimal.ts"
import type { Level } from "../src/domain/Market.ts"
import { select } from "./Controls.ts"
import { h, place, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import { groupLevels, type Multiple, multiples, ownGroups, stepOf } from "./Grouping.ts"
import type { Market } from "./Market.ts"
import type { Session } from "./Session.ts"

/** Levels shown per side. */
const LEVELS = 10

interface Rung {
  readonly element: HTMLElement
  readonly price: HTMLElement
  readonly qty: HTMLElement
  readonly sum: HTMLElement
  readonly bar: HTMLElement
}

const rung = (side: "ask" | "bid"): Rung => {
  const [price, qty, sum] = [h("span", { class: "price" }), h("span"), h("span")]
  const bar = h("i", { "aria-hidden": "true" })
  const element = h(
    "div",
    { class: `rung ${side}`, role: "option", tabindex: "-1", "aria-selected": "false" },
    bar,
    price,
    qty,
    sum
  )
  return { element, price, qty, sum, bar }
}

/** Cumulative quantity at each level, scaled. */
const sumsOf = (levels: ReadonlyArray<Level>): ReadonlyArray<bigint> => {
  let sum = 0n
  return levels.map(([, qty]) => (sum += Decimal.parse(qty)))
}

const partOf = (sum: bigint, most: bigint): string => (most === 0n ? "0%" : `${Number((sum * 1_000n) / most) / 10}%`)

/** Keyboard control: the arrow keys move over the levels, Enter selects one. Only one level is a Tab stop. */
const withKeyboard = (list: HTMLElement, rungs: ReadonlyArray<Rung>, take: (rung: Rung) => void): void => {
  const enter = (to: Rung | undefined): void => {
    if (to === undefined || to.price.textContent === "") return
    for (const each of rungs) each.element.tabIndex = each === to ? 0 : -1
    to.element.focus()
  }
  const at = (target: EventTarget | null): number =>
    rungs.findIndex(({ element }) => target instanceof Node && element.contains(target))
  list.addEventListener("keydown", (event) => {
    const index = at(event.target)
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (step !== undefined) enter(rungs[index + step])
    else if ((event.key === "Enter" || event.key === " ") && index !== -1) take(rungs[index]!)
    else return
    event.preventDefault()
  })
  list.addEventListener("click", (event) => {
    const index = at(event.target)
    if (index !== -1) take(rungs[index]!)
  })
}

export const mount = (market: Market, session: Session, onPrice: (price: string) => void): void => {
  const asks = Array.from({ length: LEVELS }, () => rung("ask"))
  const bids = Array.from({ length: LEVELS }, () => rung("bid"))
  const middle = h("div", { class: "middle", role: "presentation" })
  const downwards = [...asks.toReversed(), ...bids]
  const list = h(
    "div",
    { class: "ladder", role: "listbox", "aria-label": "Price levels: Enter selects the price" },
    ...asks.toReversed().map(({ element }) => element),
    middle,
    ...bids.map(({ element }) => element)
  )
  bids[0]!.element.tabIndex = 0
  const units = h("div", { class: "rung head" }, h("span", {}, "Price"), h("span", {}, "Size"), h("span", {}, "Total"))
  const multiple = new Live<Multiple>("1")
  const grouping = select<Multiple>(
    { id: "grouping", "aria-label": "Price step of the order book" },
    multiples.map((each) => [each, each] as const),
    (chosen) => multiple.set(chosen)
  )
  place("book").append(h("div", { class: "head-row" }, h("h2", {}, "Order book"), grouping), units, list)
  withKeyboard(list, downwards, ({ price }) => {
    if (price.textContent !== "") onPrice(Decimal.canonical(price.textContent!.replaceAll(",", "")))
  })

  drawn([market.instrument], () => {
    const { tick_size } = market.instrument.value.price_filter
    for (const [i, each] of multiples.entries()) setText(grouping.options[i]!, stepOf(tick_size, each))
  })
  drawn([market.book, market.instrument, session.account, multiple], () => {
    const { lot_size_filter, price_filter, symbol } = market.instrument.value
    const step = stepOf(price_filter.tick_size, multiple.value)
    const [pricePlaces, qtyPlaces] = [
      Format.placesOf(price_filter.tick_size),
      Format.placesOf(lot_size_filter.qty_step)
    ]
    const own = ownGroups([...HashMap.values(session.account.value.orders)], symbol, step)
    const book = market.book.value
    const sides = [
      [asks, groupLevels(book?.asks() ?? [], step, false).slice(0, LEVELS)],
      [bids, groupLevels(book?.bids() ?? [], step, true).slice(0, LEVELS)]
    ] as const
    const sums = sides.map(([, levels]) => sumsOf(levels))
    const most = Decimal.max(sums[0]!.at(-1) ?? 0n, sums[1]!.at(-1) ?? 0n)
    for (const [i, [rungs, levels]] of sides.entries()) {
      for (const [k, { bar, element, price, qty, sum }] of rungs.entries()) {
        const level = levels[k]
        const total = sums[i]![k] ?? 0n
        setText(price, level === undefined ? "" : Format.grouped(level[0], pricePlaces))
        setText(qty, level === undefined ? "" : Format.grouped(level[1], qtyPlaces))
        setText(sum, level === undefined ? "" : Format.grouped(Decimal.format(total), qtyPlaces))
        bar.style.setProperty("--part", partOf(total, most))
        setClass(element, "vacant", level === undefined)
        setClass(element, "own", level !== undefined && own.has(level[0]))
      }
    }
    // the spread is that of the market, also between groups
    const [ask, bid] = [book?.asks(1)[0], book?.bids(1)[0]]
    const spread = ask === undefined || bid === undefined ? undefined : Decimal.parse(ask[0]) - Decimal.parse(bid[0])
    setText(
      middle,
      spread === undefined ? "one side is empty" : `spread ${Format.grouped(Decimal.format(spread), pricePlaces)}`
    )
  })
}
