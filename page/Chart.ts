/**
 * The chart: candles of trades, or of the mark price before the first trade; own fills as arrows, own orders and the position as
 * lines. Prices become numbers only in this file and in Depth.ts, because they are only drawn.
 */
import { HashMap } from "effect"
import {
  type CandlestickData,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  type IPriceLine,
  LineStyle,
  type SeriesMarker,
  type Time,
  type UTCTimestamp
} from "lightweight-charts"
import type { Candle, PriceCandle, Ticker } from "../src/domain/Market.ts"
import { h, place, setAttribute, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import { intervals, type Market } from "./Market.ts"
import { toastError } from "./Toasts.ts"
import * as Rest from "./Rest.ts"
import type { Session } from "./Session.ts"
import { colour, theme } from "./Theme.ts"

const names: Record<(typeof intervals)[number], string> = {
  "1": "1 m",
  "5": "5 m",
  "15": "15 m",
  "60": "1 h",
  "240": "4 h",
  D: "1 d"
}
const SECOND_MS = 1_000
/** Pause before a retry of a failed candle request, in ms. */
const RETRY_MS = 2_000

const timeOf = (ms: number): UTCTimestamp => Math.floor(ms / SECOND_MS) as UTCTimestamp
const barOf = ({ close, high, low, open, start_time }: PriceCandle): CandlestickData<UTCTimestamp> => ({
  time: timeOf(start_time),
  open: Number(open),
  high: Number(high),
  low: Number(low),
  close: Number(close)
})
const volumeOf = (candle: Candle) => ({
  time: timeOf(candle.start_time),
  value: Number(candle.volume),
  color: colour(Number(candle.close) < Number(candle.open) ? "--down-soft" : "--up-soft")
})

/** Creates the chart, in the colours of the theme. */
const picture = (container: HTMLElement) => {
  // the attribution is a link in the footer: the library's logo needs an inline style, which the page's CSP forbids
  const chart = createChart(container, { autoSize: true, layout: { attributionLogo: false } })
  const candles = chart.addSeries(CandlestickSeries, { borderVisible: false })
  const volume = chart.addSeries(HistogramSeries, {
    priceScaleId: "volume",
    priceFormat: { type: "volume" },
    lastValueVisible: false,
    priceLineVisible: false
  })
  chart.priceScale("volume").applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } })
  const markers = createSeriesMarkers<Time>(candles, [])
  const paint = (): void => {
    const [line, up, down] = [colour("--line"), colour("--up"), colour("--down")]
    chart.applyOptions({
      layout: {
        background: { type: ColorType.Solid, color: colour("--panel") },
        textColor: colour("--dim"),
        fontFamily: colour("--font"),
        fontSize: 11
      },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      rightPriceScale: { borderColor: line },
      timeScale: { borderColor: line, timeVisible: true, secondsVisible: false, rightOffset: 6, barSpacing: 10 }
    })
    candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down })
  }
  return { chart, candles, volume, markers, paint }
}

export const mount = (market: Market, session: Session): void => {
  const container = h("div", { class: "canvas", role: "img", "aria-label": "Candles" })
  const source = h("span", { class: "dim clipped" })
  const choices = intervals.map((interval) =>
    h("button", { type: "button", class: "choice", onclick: () => market.chooseInterval(interval) }, names[interval])
  )
  place("chart").append(
    h(
      "div",
      { class: "bar" },
      h("div", { class: "choices", role: "group", "aria-label": "Candles" }, ...choices),
      source
    ),
    container
  )
  const { candles, chart, markers, paint, volume } = picture(container)

  /** The shown bars by time; the newest is replaced while it grows. */
  let shown = new Map<UTCTimestamp, CandlestickData<UTCTimestamp>>()
  let traded = new Map<number, Candle>()
  let newest: CandlestickData<UTCTimestamp> | undefined
  let ofTrades = true
  /** Counts requests, so that a late response of an older one is ignored. */
  let requests = 0
  let lines: ReadonlyArray<IPriceLine> = []

  const put = (bar: CandlestickData<UTCTimestamp>): void => {
    if (newest !== undefined && bar.time < newest.time) return
    newest = bar
    shown.set(bar.time, bar)
    candles.update(bar)
  }

  const load = async (): Promise<void> => {
    const request = ++requests
    const { symbol } = market
    const interval = market.interval.value
    const { list: trades } = await Rest.candles(symbol, interval)
    const list: ReadonlyArray<PriceCandle> =
      trades.length > 0 ? trades : (await Rest.markCandles(symbol, interval)).list
    if (request !== requests) return
    ofTrades = trades.length > 0
    const bars = list.toReversed().map(barOf)
    shown = new Map(bars.map((bar) => [bar.time, bar]))
    newest = bars.at(-1)
    const { tick_size } = market.instrument.value.price_filter
    candles.applyOptions({
      priceFormat: { type: "price", precision: Format.placesOf(tick_size), minMove: Number(tick_size) }
    })
    candles.setData(bars)
    traded = new Map(trades.toReversed().map((candle) => [candle.start_time, candle]))
    drawVolume()
    chart.timeScale().scrollToRealTime()
    setText(source, ofTrades ? "trades, UTC" : "mark price, UTC (no trades yet)")
    setAttribute(container, "aria-label", `Candles of ${symbol}, ${names[interval as keyof typeof names]}`)
    drawFills()
  }
  const reload = (): void => {
    load().catch((error: unknown) => {
      const isAway = error instanceof Rest.ApiFailure && (error.status === 0 || error.status === 503)
      if (isAway) setTimeout(reload, RETRY_MS)
      else toastError(error)
    })
  }

  const drawFills = (): void => {
    const marks: Array<SeriesMarker<UTCTimestamp>> = []
    const times = [...shown.keys()]
    for (const fill of session.fills.value.toReversed()) {
      if (fill.symbol !== market.symbol || fill.exec_type !== "Trade") continue
      const at = timeOf(Number(fill.exec_time))
      const time = times.findLast((start) => start <= at)
      if (time === undefined) continue
      const buy = fill.side === "Buy"
      marks.push({
        time,
        position: buy ? "belowBar" : "aboveBar",
        shape: buy ? "arrowUp" : "arrowDown",
        color: colour(buy ? "--up" : "--down")
      })
    }
    markers.setMarkers(marks)
    setAttribute(container, "data-fills", String(marks.length))
  }

  const drawVolume = (): void => volume.setData([...traded.values()].map(volumeOf))

  const drawLines = (): void => {
    for (const line of lines) candles.removePriceLine(line)
    const { orders, positions } = session.account.value
    const { symbol } = market
    const line = (price: string, side: string, title: string, lineStyle: LineStyle): IPriceLine =>
      candles.createPriceLine({
        price: Number(price),
        color: colour(side === "Buy" ? "--up" : "--down"),
        lineWidth: 1,
        lineStyle,
        title
      })
    lines = [
      ...[...HashMap.values(orders)]
        .filter((order) => order.symbol === symbol && order.order_type === "Limit")
        .map(({ leaves_qty, price, side }) =>
          line(price, side, `${side === "Buy" ? "buy" : "sell"} ${leaves_qty}`, LineStyle.Dashed)
        ),
      ...[...HashMap.values(positions)]
        .filter((position) => position.symbol === symbol)
        .map(({ avg_price, side, size }) =>
          line(avg_price, side, `${side === "Buy" ? "long" : "short"} ${size}`, LineStyle.Solid)
        )
    ]
  }

  /** There is no candle feed of the mark price: the ticker updates its open candle. */
  const followMark = (ticker: Ticker | undefined): void => {
    if (ofTrades || ticker === undefined || newest === undefined) return
    const price = Number(ticker.mark_price)
    const interval = market.interval.value
    const length = interval === "D" ? 86_400 : Number(interval) * 60
    const time = (Math.floor(ticker.ts / SECOND_MS / length) * length) as UTCTimestamp
    const { high, low, open } = newest.time === time ? newest : { high: price, low: price, open: price }
    put({ time, open, high: Math.max(high, price), low: Math.min(low, price), close: price })
  }

  market.onCandles = ({ interval, list }) => {
    if (interval !== market.interval.value) return
    if (!ofTrades) return list.some(({ trade_count }) => trade_count > 0) ? reload() : undefined
    for (const candle of list) {
      put(barOf(candle))
      if (newest?.time !== timeOf(candle.start_time)) continue
      traded.set(candle.start_time, candle)
      volume.update(volumeOf(candle))
    }
  }
  drawn([theme], () => {
    paint()
    drawVolume()
    drawFills()
    drawLines()
  })
  drawn([market.instrument, market.interval], () => {
    for (const [i, interval] of intervals.entries())
      setAttribute(choices[i]!, "aria-pressed", String(interval === market.interval.value))
    reload()
  })
  drawn([market.tickers], () => followMark(market.ticker))
  // candles that closed during a disconnection are not sent again
  let wasLive = true
  drawn([market.status], () => {
    const isLive = market.status.value.state.type === "live"
    if (isLive && !wasLive && market.status.value.returned) reload()
    wasLive = isLive
  })
  drawn([session.fills], drawFills)
  drawn([session.account, market.instrument], drawLines)
}
