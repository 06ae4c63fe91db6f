/** On a phone: order entry as a sheet at the bottom, opened by two buttons within reach of the thumb. */
import { h, place, setAttribute, setClass } from "./Dom.ts"

/** Opens the sheet; elsewhere than on a phone order entry is always visible. */
export const reveal = (): void => show(true)

let buttons: ReadonlyArray<HTMLElement> = []
const show = (is: boolean): void => {
  setClass(place("order"), "open", is)
  setClass(document.body, "order-open", is)
  for (const button of buttons) setAttribute(button, "aria-expanded", String(is))
}

export const mount = (): void => {
  const order = place("order")
  buttons = (["Buy", "Sell"] as const).map((side) =>
    h(
      "button",
      {
        type: "button",
        class: side.toLowerCase(),
        "aria-controls": "order",
        "aria-expanded": "false",
        onclick: () => {
          place(`side-${side}`).click()
          show(true)
          order.focus({ preventScroll: true })
        }
      },
      side
    )
  )
  // notices are above the sheet, whose height changes with the kind of order
  new ResizeObserver(() => {
    if (order.matches(".open")) document.body.style.setProperty("--sheet", `${order.offsetHeight}px`)
    else document.body.style.removeProperty("--sheet")
  }).observe(order)
  document.body.append(h("section", { class: "thumb", "aria-label": "Open order entry" }, ...buttons))
  order.prepend(
    h("button", { type: "button", class: "quiet close-order", onclick: () => show(false) }, "Close order entry")
  )
  // a hidden element cannot be the target of the link
  document.querySelector(".skip")?.addEventListener("click", () => show(true))
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && document.querySelector("dialog[open]") === null) show(false)
  })
  // a tap outside of the sheet, and not on a notice or a dialog above it
  document.addEventListener("pointerdown", ({ target }) => {
    const isOutside = target instanceof Element && target.closest("#order, .thumb, .toast, dialog") === null
    if (isOutside) show(false)
  })
}
