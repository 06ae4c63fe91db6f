/**
 * Own orders and the position as lines in the chart. Each has a label at its right end; dragging the label of an order
 * changes its price or trigger price. Labels that would cover each other are one label with their number. The table of
 * open orders offers the same to the keyboard.
 */
import { type IChartApi, type IPriceLine, type ISeriesApi, LineStyle } from "lightweight-charts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"
import { amendOrder } from "./AmendOrder.ts"
import { h, setClass, setText } from "./Dom.ts"
import { onFrame } from "./Frame.ts"
import * as Format from "./Format.ts"
import type { Market } from "./Market.ts"
import { isExit, kindOf } from "../src/domain/OrderWords.ts"
import type { Session } from "./Session.ts"
import { colour } from "./Theme.ts"
import { toastError } from "./Toasts.ts"

/** Height of a label, in pixels: labels closer than this become one. */
const LABEL = 17
/** Distance that distinguishes a drag from a click, in pixels. */
const DRAG_MIN = 3

interface Level {
  readonly text: string
  readonly price: string
  readonly buy: boolean
  readonly style: LineStyle
  /** Changes the price of the order; absent where it cannot change. */
  readonly move?: (price: string) => Promise<unknown>
}

interface Drawn extends Level {
  readonly line: IPriceLine
  readonly label: HTMLElement
  /** Price during a drag. */
  dragged: string | undefined
}

/** The line of an order: at its trigger price until it triggers, then at its price; none for a market order. */
const levelOf = (session: Session, order: Order): Level | undefined => {
  const waits = order.order_status === "Untriggered"
  if (!waits && order.order_type === "Market") return undefined
  const { leaves_qty, price, side, trigger } = order
  const name = isExit(order) || waits ? kindOf(order) : side
  return {
    text: `${name} ${leaves_qty}`,
    price: waits ? (trigger?.trigger_price ?? price) : price,
    buy: side === "Buy",
    style: waits ? LineStyle.Dotted : LineStyle.Dashed,
    ...(order.order_status === "CancelRequested"
      ? {}
      : { move: (to) => amendOrder(session, order, waits ? { trigger: { trigger_price: to } } : { price: to }) })
  }
}

const levelOfPosition = ({ avg_price, side, size }: Position): Level => ({
  text: `${side === "Buy" ? "Long" : "Short"} ${size}`,
  price: avg_price,
  buy: side === "Buy",
  style: LineStyle.Solid
})

export const orderLines = (
  market: Market,
  session: Session,
  chart: IChartApi,
  series: ISeriesApi<"Candlestick">,
  container: HTMLElement
) => {
  const layer = h("div", { class: "order-labels", "aria-hidden": "true" })
  container.append(layer)
  let drawn: ReadonlyArray<Drawn> = []
  let dragging = false

  /** Places the labels; hides those out of view, and collects those that are too close. */
  const arrange = (): void => {
    layer.style.right = `${chart.priceScale("right").width()}px`
    const height = layer.clientHeight
    const placed = drawn
      .map((each) => {
        const y = series.priceToCoordinate(Number(each.dragged ?? each.price))
        // a label that is dragged out of view stays at the edge
        return { ...each, y: y === null || each.dragged === undefined ? y : Math.min(Math.max(0, y), height) }
      })
      .filter(({ y, label }) => {
        const inView = y !== null && y >= 0 && y <= height
        label.hidden = !inView
        return inView
      })
      .sort((a, b) => a.y! - b.y!)
    let above: (typeof placed)[number] | undefined
    let covered = 0
    for (const each of placed) {
      const isCovered = above !== undefined && each.y! - above.y! < LABEL && each.dragged === undefined
      each.label.hidden = isCovered
      covered = isCovered ? covered + 1 : 0
      if (isCovered) setText(above!.label, `${above!.text}  +${covered}`)
      else {
        above = each
        setText(each.label, each.dragged === undefined ? each.text : `${each.text} → ${each.dragged}`)
        each.label.style.transform = `translateY(${Math.round(each.y! - LABEL / 2)}px)`
      }
    }
  }

  /** The price at a height, on the grid of the market. */
  const priceAt = (y: number): string | undefined => {
    const price = series.coordinateToPrice(y)
    if (price === null) return undefined
    const { tick_size } = market.instrument.value.price_filter
    const ticks = Math.max(1, Math.round(price / Number(tick_size)))
    return (ticks * Number(tick_size)).toFixed(Format.placesOf(tick_size))
  }

  const draggable = (each: Drawn): void => {
    const { label, line, move } = each
    if (move === undefined) return
    setClass(label, "draggable", true)
    label.addEventListener("pointerdown", (down) => {
      if (down.button !== 0) return
      down.preventDefault()
      label.setPointerCapture(down.pointerId)
      dragging = true
      const top = layer.getBoundingClientRect().top
      const end = (): void => {
        dragging = false
        each.dragged = undefined
        for (const [name, listener] of Object.entries(listeners)) label.removeEventListener(name, listener)
        document.removeEventListener("keydown", escape)
        draw()
      }
      const at = (event: Event): void => {
        const { clientY } = event as PointerEvent
        if (each.dragged === undefined && Math.abs(clientY - down.clientY) < DRAG_MIN) return
        each.dragged = priceAt(clientY - top) ?? each.dragged
        if (each.dragged !== undefined) line.applyOptions({ price: Number(each.dragged), axisLabelVisible: true })
        onFrame(arrange)
      }
      const drop = (): void => {
        const to = each.dragged
        // the label stays where it was dropped until the exchange has decided
        if (to === undefined || to === each.price) return end()
        label.removeEventListener("pointermove", at)
        move(to).catch(toastError).finally(end)
      }
      const escape = ({ key }: KeyboardEvent): void => {
        if (key === "Escape") end()
      }
      const listeners = { pointermove: at, pointerup: drop, pointercancel: end }
      for (const [name, listener] of Object.entries(listeners)) label.addEventListener(name, listener)
      document.addEventListener("keydown", escape)
    })
  }

  const draw = (): void => {
    if (dragging) return
    for (const { label, line } of drawn) {
      label.remove()
      series.removePriceLine(line)
    }
    const { account } = session
    const here = <A extends { readonly symbol: string }>({ symbol }: A): boolean => symbol === market.symbol
    const levels = [
      ...session.own(account.value.positions).filter(here).map(levelOfPosition),
      ...session
        .own(account.value.orders)
        .filter(here)
        .map((order) => levelOf(session, order))
        .filter((level) => level !== undefined)
    ]
    drawn = levels.map((level) => {
      const { buy, price, style } = level
      const line = series.createPriceLine({
        price: Number(price),
        color: colour(buy ? "--up" : "--down"),
        lineWidth: 1,
        lineStyle: style,
        axisLabelVisible: false,
        title: ""
      })
      const label = h("span", { class: buy ? "buy" : "sell", "data-price": price }, level.text)
      layer.append(label)
      return { ...level, line, label, dragged: undefined }
    })
    for (const each of drawn) draggable(each)
    // without it the labels are at the top until the next frame
    arrange()
  }

  // called for each change of the view, before the chart has its new scale
  series.attachPrimitive({ updateAllViews: () => onFrame(arrange) })
  return draw
}
