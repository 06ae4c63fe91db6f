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
/** Levels beyond this multiple of the median distance are not drawn. */
const OUTLIER = 3

interface Step {
  readonly price: number
  readonly sum: number
}

/** Numbers are exact enough for a drawing. */
const stepsOf = (levels: ReadonlyArray<Level>): ReadonlyArray<Step> => {
  let sum = 0
  return levels.map(([price, qty]) => ({ price: Number(price), sum: (sum += Number(qty)) }))
}

/**
 * The distance from the centre that is drawn: that of the farthest level within {@link OUTLIER} times the median distance,
 * so that one far order does not flatten the rest.
 */
export const reachOf = (centre: number, prices: ReadonlyArray<number>): number => {
  const distances = prices.map((price) => Math.abs(price - centre)).sort((a, b) => a - b)
  const most = OUTLIER * (distances[Math.floor(distances.length / 2)] ?? 0)
  return distances.findLast((distance) => distance <= most) || 1
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
    const all = [stepsOf(book?.bids() ?? []), stepsOf(book?.asks() ?? [])] as const
    const [bid, ask] = [all[0][0], all[1][0]]
    if (bid === undefined || ask === undefined) {
      for (const area of [bidArea, askArea]) setAttribute(area, "d", "")
      for (const label of [low, middle, high]) setText(label, "")
      return
    }
    const centre = (bid.price + ask.price) / 2
    const reach = reachOf(
      centre,
      all.flat().map(({ price }) => price)
    )
    const within = (steps: ReadonlyArray<Step>) => steps.filter(({ price }) => Math.abs(price - centre) <= reach)
    const [bids, asks] = [within(all[0]), within(all[1])]
    const most = Math.max(bids.at(-1)?.sum ?? 0, asks.at(-1)?.sum ?? 0)
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
