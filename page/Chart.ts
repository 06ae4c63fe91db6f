/**
 * The chart: candles of trades over those of the mark price, indicators, own fills as arrows, and own orders and the position
 * as lines. Older candles are loaded when they come into view.
 */
import {
  CandlestickSeries,
  type CandlestickData,
  ColorType,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  LineSeries,
  type LineData,
  type SeriesMarker,
  type Time,
  type UTCTimestamp,
  type WhitespaceData
} from "lightweight-charts"
import type { Ticker } from "../src/domain/Market.ts"
import { type Bar, CandleStore } from "./CandleStore.ts"
import * as ChartLegend from "./ChartLegend.ts"
import { h, place, setAttribute } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, onFrame } from "./Frame.ts"
import { type Indicator, movingAverage, vwap } from "./Indicators.ts"
import { intervals, type Market } from "./Market.ts"
import { orderLines } from "./OrderLines.ts"
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
/** Bars left of the view at which older ones are loaded. */
const AHEAD = 30
/** Most bars that the chart keeps, so that scrolling back does not use all memory. */
const BARS_MAX = 20_000

const timeOf = (ms: number): UTCTimestamp => Math.floor(ms / SECOND_MS) as UTCTimestamp
const candleOf = ({ close, high, low, open, start }: Bar): CandlestickData<UTCTimestamp> => ({
  time: timeOf(start),
  open,
  high,
  low,
  close
})
const volumeOf = ({ close, open, start, volume }: Bar) => ({
  time: timeOf(start),
  value: volume,
  color: colour(close < open ? "--down-soft" : "--up-soft")
})
const pointOf = (bar: Bar, value: number | undefined): LineData<UTCTimestamp> | WhitespaceData<UTCTimestamp> =>
  value === undefined ? { time: timeOf(bar.start) } : { time: timeOf(bar.start), value }

/** Lines over the candles; the tone is a class of the style sheet and a custom property with its colour. */
const lines: ReadonlyArray<{
  readonly name: string
  readonly overlay: ChartLegend.Overlay
  readonly tone: string
  readonly of: Indicator
}> = [
  { name: "MA7", overlay: "ma", tone: "ma-1", of: movingAverage(7) },
  { name: "MA25", overlay: "ma", tone: "ma-2", of: movingAverage(25) },
  { name: "MA99", overlay: "ma", tone: "ma-3", of: movingAverage(99) },
  { name: "VWAP", overlay: "vwap", tone: "vwap", of: vwap }
]

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
  const series = lines.map(() =>
    chart.addSeries(LineSeries, {
      lineWidth: 1,
      lastValueVisible: false,
      priceLineVisible: false,
      crosshairMarkerVisible: false
    })
  )
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
    for (const [i, { tone }] of lines.entries()) series[i]!.applyOptions({ color: colour(`--${tone}`) })
  }
  return { chart, candles, volume, series, markers, paint }
}

export const mount = (market: Market, session: Session): void => {
  const container = h("div", { class: "canvas", role: "img", "aria-label": "Candles" })
  const choices = intervals.map((interval) =>
    h("button", { type: "button", class: "choice", onclick: () => market.chooseInterval(interval) }, names[interval])
  )
  const indicators = ChartLegend.switches()
  const legend = ChartLegend.legend()
  place("chart").append(
    h(
      "div",
      { class: "bar" },
      h("div", { class: "choices", role: "group", "aria-label": "Candles" }, ...choices),
      indicators.element
    ),
    container
  )
  const { candles, chart, markers, paint, series, volume } = picture(container)
  container.append(legend.element)
  const store = new CandleStore()
  const drawLines = orderLines(market, session, chart, candles, container)

  /** Counts requests, so that a late response of an older one is ignored. */
  let requests = 0
  /** Whether older candles can be loaded. */
  let hasOlder = false
  let values: ReadonlyArray<ReadonlyArray<number | undefined>> = []
  /** Index of the bar under the pointer. */
  let pointed: number | undefined

  const places = (): number => Format.placesOf(market.instrument.value.price_filter.tick_size)
  /** Market and interval that the user chose; the bars are those of another one until they are loaded. */
  const chosen = (): string => `${market.symbol} ${market.interval.value}`
  const isHidden = (overlay: ChartLegend.Overlay): boolean => ChartLegend.hidden.value.has(overlay)

  const compute = (): void => {
    values = lines.map(({ of, overlay }) => (isHidden(overlay) ? [] : of(store.bars)))
  }
  const drawLegend = (): void => {
    const { bars } = store
    const at = pointed ?? bars.length - 1
    const readings = lines.map(({ name, tone }, i) => ({ name, tone, value: values[i]?.[at] }))
    legend.show(bars[at], readings, places())
  }
  /** Draws all bars. */
  const drawAll = (): void => {
    const { bars } = store
    compute()
    candles.setData(bars.map(candleOf))
    volume.setData(isHidden("volume") ? [] : bars.map(volumeOf))
    for (const [i, line] of series.entries())
      line.setData(values[i]!.length === 0 ? [] : bars.map((bar, k) => pointOf(bar, values[i]![k])))
    setAttribute(container, "data-bars", String(bars.length))
    drawLegend()
  }
  /** Draws the newest bar. */
  const drawNewest = (): void => {
    const { newest } = store
    if (newest === undefined) return
    compute()
    candles.update(candleOf(newest))
    if (!isHidden("volume")) volume.update(volumeOf(newest))
    for (const [i, line] of series.entries()) {
      const value = values[i]!.at(-1)
      if (value !== undefined) line.update({ time: timeOf(newest.start), value })
    }
    drawLegend()
  }

  /** Candles of both kinds before a time, newest first. */
  const read = async (before?: number) => {
    const { symbol } = market
    const interval = market.interval.value
    const [trades, marks] = await Promise.all([
      Rest.candles(symbol, interval, before),
      Rest.markCandles(symbol, interval, before)
    ])
    return { trades: trades.list, marks: marks.list }
  }
  const load = async (): Promise<void> => {
    const request = ++requests
    hasOlder = false
    const of = chosen()
    const { symbol } = market
    const interval = market.interval.value
    store.expect(of)
    const { marks, trades } = await read()
    if (request !== requests) return
    store.load(of, marks, trades)
    const { tick_size } = market.instrument.value.price_filter
    candles.applyOptions({ priceFormat: { type: "price", precision: places(), minMove: Number(tick_size) } })
    drawAll()
    hasOlder = marks.length > 0
    chart.timeScale().scrollToRealTime()
    setAttribute(container, "aria-label", `Candles of ${symbol}, ${names[interval as keyof typeof names]}`)
    drawFills()
  }
  const loadOlder = async (): Promise<void> => {
    const request = requests
    hasOlder = false
    const { marks, trades } = await read(store.bars[0]?.start)
    if (request !== requests) return
    hasOlder = store.prepend(marks, trades) > 0 && store.bars.length < BARS_MAX
    drawAll()
    drawFills()
  }
  const orRetry =
    (work: () => Promise<void>): (() => void) =>
    () =>
      work().catch((error: unknown) => {
        const failure = error instanceof Rest.ApiFailure ? error : undefined
        const isAway = failure?.status === 0 || failure?.status === 503
        if (!isAway) toastError(error)
        if (isAway) setTimeout(reload, RETRY_MS)
        else if (failure?.throttled !== undefined) setTimeout(reload, failure.throttled.until_ms - Date.now())
      })
  const reload = orRetry(load)

  const drawFills = (): void => {
    const marks: Array<SeriesMarker<UTCTimestamp>> = []
    const { bars } = store
    // one arrow a bar and side, however many fills it has
    const known = new Set<string>()
    for (const fill of session.fills.value.toReversed()) {
      if (fill.symbol !== market.symbol || fill.exec_type !== "Trade") continue
      const bar = bars.findLast(({ start }) => start <= Number(fill.exec_time))
      if (bar === undefined) continue
      const buy = fill.side === "Buy"
      const key = `${bar.start} ${fill.side}`
      if (known.has(key)) continue
      known.add(key)
      marks.push({
        time: timeOf(bar.start),
        position: buy ? "belowBar" : "aboveBar",
        shape: buy ? "arrowUp" : "arrowDown",
        color: colour(buy ? "--up" : "--down")
      })
    }
    markers.setMarkers(marks)
    setAttribute(container, "data-fills", String(marks.length))
  }

  /** Start of the newest bar for which missing ones were loaded. */
  let filled = 0
  /** There is no candle feed of the mark price: the ticker updates the open candle until a trade makes it. */
  const followMark = (ticker: Ticker | undefined): void => {
    if (ticker === undefined) return
    const interval = market.interval.value
    const length = (interval === "D" ? 86_400 : Number(interval) * 60) * SECOND_MS
    const start = Math.floor(ticker.ts / length) * length
    const { newest } = store
    if (store.mark(chosen(), start, Number(ticker.mark_price)) === undefined) return
    onFrame(drawNewest)
    // a hidden page is not drawn, so it misses marks
    if (newest === undefined || start - newest.start <= length || filled === start) return
    filled = start
    reload()
  }

  market.onCandles = ({ interval, list }) => {
    if (interval !== market.interval.value) return
    // the next candle can arrive with a closed one, or its mark before it
    for (const candle of list)
      if (store.trade(chosen(), candle) !== undefined) onFrame(candle.confirm ? drawAll : drawNewest)
  }
  chart.subscribeCrosshairMove(({ logical }) => {
    pointed = logical === undefined ? undefined : Math.min(Math.max(0, logical), store.bars.length - 1)
    onFrame(drawLegend)
  })
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    if (hasOlder && range !== null && range.from < AHEAD) orRetry(loadOlder)()
  })
  drawn([theme], () => {
    paint()
    drawAll()
    drawFills()
    drawLines()
  })
  drawn([ChartLegend.hidden], () => {
    indicators.show()
    drawAll()
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
