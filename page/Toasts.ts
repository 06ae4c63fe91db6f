/** Short notifications over the candles, announced by screen readers. */
import { h, place, setAttribute, setText } from "./Dom.ts"
import type { Notice, Tone } from "./Notices.ts"
import { ApiFailure } from "./Rest.ts"
import { RESUMED } from "./Throttle.ts"

/** How long a notice stays, in ms; maximum number of notices. */
const TOAST_MS = 8_000
const TOASTS_MAX = 4

interface Shown {
  readonly element: HTMLElement
  readonly text: HTMLElement
  readonly close: HTMLElement
  timer: ReturnType<typeof setTimeout> | undefined
}

const shown = new Map<string, Shown>()
let toasts = 0

/** Removes a notice, if it is shown. */
export const dismiss = (key: string): void => {
  const found = shown.get(key)
  if (found === undefined) return
  clearTimeout(found.timer)
  found.element.remove()
  shown.delete(key)
}

const made = (key: string): Shown => {
  const text = h("span")
  const close = h(
    "button",
    { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: () => dismiss(key) },
    "×"
  )
  const element = h("div", { class: "toast" }, text, close)
  place("toasts").append(element)
  const entry = { element, text, close, timer: undefined }
  shown.set(key, entry)
  if (shown.size > TOASTS_MAX) {
    // a notice that stays is about what is still the case
    const passing = [...shown].find(([, { timer }]) => timer !== undefined)
    dismiss((passing ?? [...shown][0]!)[0])
  }
  return entry
}

/** Shows a notice; it replaces the one with the same key. */
export const notify = ({ key, stays = false, text, tone }: Notice): void => {
  const entry = shown.get(key) ?? made(key)
  setText(entry.text, text)
  setAttribute(entry.element, "class", `toast ${tone}`)
  entry.close.hidden = !stays
  clearTimeout(entry.timer)
  entry.timer = stays ? undefined : setTimeout(() => dismiss(key), TOAST_MS)
}

/** Shows a message that replaces none. */
export const toast = (tone: Tone, text: string): void => notify({ key: `toast|${++toasts}`, tone, text })

const THROTTLED = "throttled"
let resuming: ReturnType<typeof setTimeout> | undefined

/** Shows an error. The notice of a throttled request stays until requests are accepted again. */
export const toastError = (error: unknown): void => {
  if (error instanceof ApiFailure && error.throttled !== undefined) {
    notify({ key: THROTTLED, tone: "warn", text: error.message, stays: true })
    clearTimeout(resuming)
    resuming = setTimeout(
      () => notify({ key: THROTTLED, tone: "good", text: RESUMED }),
      error.throttled.until_ms - Date.now()
    )
  } else toast("bad", error instanceof Error ? error.message : String(error))
}

/** What each busy button does. */
const busyWith = new WeakMap<HTMLButtonElement, Set<unknown>>()

/**
 * Runs the action of a button; the button is busy until it ends, and an error is shown. A further click does nothing while the
 * same thing is being done, so that a double click sends one order. By default a button does one thing.
 */
export const whileBusy = (button: HTMLButtonElement, act: () => Promise<void>, what: unknown = button): void => {
  const doing = busyWith.get(button) ?? new Set()
  busyWith.set(button, doing)
  if (doing.has(what)) return
  doing.add(what)
  button.ariaBusy = "true"
  act()
    .catch(toastError)
    .finally(() => {
      doing.delete(what)
      button.ariaBusy = String(doing.size > 0)
    })
}
