/** The depth chart: cumulative quantity at each price. */
import { h, place, setAttribute, setText } from "./Dom.ts"
import { drawn } from "./Frame.ts"
import type { Level } from "../src/domain/Market.ts"
import type { Market } from "./Market.ts"
import * as Format from "./Format.ts"

const SVG = "http://www.w3.org/2000/svg"
/** Size of the view box; the browser stretches it. */
const WIDTH = 600
const HEIGHT = 100

interface Step {
  readonly price: number
  readonly sum: number
}

/** Numbers are exact enough for a drawing. */
const stepsOf = (levels: ReadonlyArray<Level>): ReadonlyArray<Step> => {
  let sum = 0
  return levels.map(([price, qty]) => ({ price: Number(price), sum: (sum += Number(qty)) }))
}

const outline = (steps: ReadonlyArray<Step>, x: (price: number) => number, y: (sum: number) => number): string => {
  const [first, last] = [steps[0], steps.at(-1)]
  if (first === undefined || last === undefined) return ""
  const parts = [`M${x(first.price)},${HEIGHT}`]
  for (const { price, sum } of steps) parts.push(`H${x(price)}`, `V${y(sum)}`)
  parts.push(`H${x(last.price) < WIDTH / 2 ? 0 : WIDTH}`, `V${HEIGHT}`, "Z")
  return parts.join("")
}

const path = (name: string): SVGPathElement => {
  const element = document.createElementNS(SVG, "path")
  element.setAttribute("class", name)
  return element
}

export const mount = (market: Market): void => {
  const picture = document.createElementNS(SVG, "svg")
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
  picture.setAttribute("preserveAspectRatio", "none")
  picture.setAttribute("role", "img")
  const [bidArea, askArea] = [path("bids"), path("asks")]
  picture.append(bidArea, askArea)
  const [low, middle, high] = [h("span"), h("span"), h("span")]
  place("depth").append(h("h2", {}, "Depth"), picture, h("div", { class: "axis" }, low, middle, high))

  drawn([market.book, market.instrument], () => {
    const book = market.book.value
    const [bids, asks] = [stepsOf(book?.bids() ?? []), stepsOf(book?.asks() ?? [])]
    const [bid, ask] = [bids[0], asks[0]]
    if (bid === undefined || ask === undefined) {
      for (const area of [bidArea, askArea]) setAttribute(area, "d", "")
      for (const label of [low, middle, high]) setText(label, "")
      return
    }
    const centre = (bid.price + ask.price) / 2
    const reach = Math.max(centre - bids.at(-1)!.price, asks.at(-1)!.price - centre) || 1
    const most = Math.max(bids.at(-1)!.sum, asks.at(-1)!.sum)
    const x = (price: number): number => Math.round(((price - centre + reach) / (2 * reach)) * WIDTH * 10) / 10
    const y = (sum: number): number => Math.round((1 - (0.95 * sum) / most) * HEIGHT * 10) / 10
    setAttribute(bidArea, "d", outline(bids, x, y))
    setAttribute(askArea, "d", outline(asks, x, y))
    const places = Format.placesOf(market.instrument.value.price_filter.tick_size)
    const text = (price: number): string => Format.grouped(price.toFixed(places), places)
    setText(low, text(centre - reach))
    setText(middle, text(centre))
    setText(high, text(centre + reach))
    setAttribute(picture, "aria-label", `Depth from ${text(centre - reach)} to ${text(centre + reach)}`)
  })
}
