/** Short notifications in a corner of the screen, announced by screen readers. */
import { h, place } from "./Dom.ts"

export type Tone = "good" | "bad" | "plain"

/** How long a toast stays, in ms; maximum number of toasts. */
const TOAST_MS = 8_000
const TOASTS_MAX = 4

export const toast = (tone: Tone, text: string): void => {
  const toasts = place("toasts")
  const element = h("p", { class: `toast ${tone}` }, text)
  toasts.append(element)
  while (toasts.childElementCount > TOASTS_MAX) toasts.firstElementChild?.remove()
  setTimeout(() => element.remove(), TOAST_MS)
}

/** Shows an error. */
export const toastError = (error: unknown): void => toast("bad", error instanceof Error ? error.message : String(error))

/** Runs the action of a button; the button is busy until it ends, and an error is shown. */
export const whileBusy = (button: HTMLButtonElement, act: () => Promise<void>): void => {
  if (button.ariaBusy === "true") return
  button.ariaBusy = "true"
  act()
    .catch(toastError)
    .finally(() => (button.ariaBusy = "false"))
}
