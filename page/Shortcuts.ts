/** Keyboard shortcuts, and the sheet that lists them. They are off in text fields and dialogs, and can be switched off. */
import { check } from "./Controls.ts"
import { h, place } from "./Dom.ts"
import { intervals, type Market } from "./Market.ts"
import { reveal } from "./OrderSheet.ts"

const OFF = "trading-gateway/shortcuts-off"

interface Shortcut {
  readonly keys: ReadonlyArray<string>
  readonly text: string
  readonly act: (key: string) => void
}

/** The entry of a list that is `step` after another; the list is a circle. */
const around = <A>(list: ReadonlyArray<A>, from: A, step: number): A =>
  list[(list.indexOf(from) + step + list.length) % list.length]!

const order = (side: "Buy" | "Sell"): void => {
  place(`side-${side}`).click()
  reveal()
  place("qty").focus()
}

const isText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.matches("input:not([type=radio], [type=checkbox], [type=range]), select, textarea, [contenteditable]")

export const mount = (market: Market): void => {
  const shortcuts: ReadonlyArray<Shortcut> = [
    { keys: ["b"], text: "Buy: enter the size", act: () => order("Buy") },
    { keys: ["s"], text: "Sell: enter the size", act: () => order("Sell") },
    { keys: ["l"], text: "Limit order", act: () => place("kind-Limit").click() },
    { keys: ["m"], text: "Market order", act: () => place("kind-Market").click() },
    { keys: ["c"], text: "Conditional order", act: () => place("kind-Conditional").click() },
    { keys: ["p"], text: "Positions", act: () => place("tab-Positions").click() },
    { keys: ["o"], text: "Open orders", act: () => place("tab-Orders").click() },
    {
      keys: ["[", "]"],
      text: "Shorter, longer candles",
      act: (key) => market.chooseInterval(around(intervals, market.interval.value, key === "[" ? -1 : 1))
    },
    {
      keys: ["<", ">"],
      text: "Previous, next market",
      act: (key) => market.choose(around(market.instruments, market.instrument.value, key === "<" ? -1 : 1))
    },
    { keys: ["/"], text: "Search markets", act: () => place("market-search").focus() },
    { keys: ["?"], text: "This list", act: () => sheet.showModal() }
  ]
  const enabled = check("shortcuts-on", "Shortcuts are on", (is) => {
    if (is) localStorage.removeItem(OFF)
    else localStorage.setItem(OFF, "yes")
  })
  enabled.box.checked = localStorage.getItem(OFF) === null
  const close = h("button", { type: "button", class: "primary", onclick: () => sheet.close() }, "Close")
  const lines = shortcuts.map(({ keys, text }) =>
    h("div", { class: "fact" }, h("dt", {}, text), h("dd", {}, ...keys.map((key) => h("kbd", {}, key))))
  )
  const sheet: HTMLDialogElement = h(
    "dialog",
    { id: "shortcuts", class: "sheet", "aria-labelledby": "shortcuts-title" },
    h(
      "div",
      { class: "sheet-content" },
      h("h2", { id: "shortcuts-title" }, "Keyboard shortcuts"),
      h("dl", { class: "preview" }, ...lines),
      enabled.element,
      h("div", { class: "buttons" }, close)
    )
  )
  document.body.append(sheet)
  place("show-shortcuts").addEventListener("click", () => sheet.showModal())

  document.addEventListener("keydown", (event) => {
    const { altKey, ctrlKey, key, metaKey, target } = event
    if (altKey || ctrlKey || metaKey || isText(target) || document.querySelector("dialog[open]") !== null) return
    const found = shortcuts.find(({ keys }) => keys.includes(key))
    if (found === undefined || (!enabled.box.checked && key !== "?")) return
    // the key must not appear in the field that gets the focus
    event.preventDefault()
    found.act(key)
  })
}
