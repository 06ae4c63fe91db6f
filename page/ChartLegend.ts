/** The legend of the chart: prices and indicators of the bar under the pointer, else of the newest one; and what is shown. */
import type { Bar } from "./CandleStore.ts"
import { h, setAttribute, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { Live } from "./Frame.ts"

const HIDDEN = "trading-gateway/chart-hidden"

export const overlays = { ma: "MA", vwap: "VWAP", volume: "Volume" } as const
export type Overlay = keyof typeof overlays
const names = Object.keys(overlays) as ReadonlyArray<Overlay>
const hints: Record<Overlay, string> = {
  ma: "Moving averages of 7, 25 and 99 candles",
  vwap: "Volume-weighted average price since 00:00 UTC",
  volume: "Volume of each candle"
}

/** The overlays that the user switched off; kept in the browser. */
export const hidden = new Live<ReadonlySet<Overlay>>(
  new Set(names.filter((name) => (localStorage.getItem(HIDDEN) ?? "").split(",").includes(name)))
)
const toggle = (name: Overlay): void => {
  const next = new Set(hidden.value)
  if (!next.delete(name)) next.add(name)
  localStorage.setItem(HIDDEN, [...next].join(","))
  hidden.set(next)
}

/** A switch for each overlay. */
export const switches = () => {
  const buttons = names.map((name) =>
    h("button", { type: "button", class: "choice", title: hints[name], onclick: () => toggle(name) }, overlays[name])
  )
  return {
    element: h("div", { class: "choices", role: "group", "aria-label": "Indicators" }, ...buttons),
    show: (): void => {
      for (const [i, name] of names.entries())
        setAttribute(buttons[i]!, "aria-pressed", String(!hidden.value.has(name)))
    }
  }
}

/** A named value of an indicator, with the class of its colour. */
export interface Reading {
  readonly name: string
  readonly tone: string
  readonly value: number | undefined
}

export const legend = () => {
  const [ohlc, change, readings] = [h("span"), h("span"), h("span", { class: "readings" })]
  const element = h("div", { class: "legend", "aria-hidden": "true" }, ohlc, " ", change, " ", readings)
  const show = (bar: Bar | undefined, values: ReadonlyArray<Reading>, places: number): void => {
    element.hidden = bar === undefined
    if (bar === undefined) return
    const text = (price: number): string => Format.grouped(price.toFixed(places), places)
    const { close, high, low, open, volume } = bar
    const amount = volume === 0 ? "mark price" : `V ${Format.grouped(volume.toFixed(3), 3)}`
    setText(ohlc, `O ${text(open)}  H ${text(high)}  L ${text(low)}  C ${text(close)}  ${amount}`)
    setText(change, `${close < open ? "−" : "+"}${((Math.abs(close - open) / open) * 100).toFixed(2)} %`)
    setClass(change, "up", close >= open)
    setClass(change, "down", close < open)
    const shown = values.filter(({ value }) => value !== undefined)
    while (readings.childElementCount > shown.length) readings.lastElementChild!.remove()
    while (readings.childElementCount < shown.length) readings.append(h("span"))
    for (const [i, { name, tone, value }] of shown.entries()) {
      const item = readings.children[i]!
      item.className = tone
      setText(item, `${name} ${text(value!)} `)
    }
  }
  return { element, show }
}
