/** What happened, told once: in a corner of the screen for a while, and to screen readers. */
import { h, place } from "./Dom.ts"

export type Tone = "good" | "bad" | "plain"

/** Time that a note stays, in ms; notes at once. */
const STAYS_MS = 8_000
const NOTES_MAX = 4

export const note = (tone: Tone, text: string): void => {
  const notes = place("notes")
  const element = h("p", { class: `note ${tone}` }, text)
  notes.append(element)
  while (notes.childElementCount > NOTES_MAX) notes.firstElementChild?.remove()
  setTimeout(() => element.remove(), STAYS_MS)
}

/** Says why something did not work. */
export const complain = (error: unknown): void => note("bad", error instanceof Error ? error.message : String(error))

/** Runs what a button starts: the button waits for it, and what goes wrong is told. */
export const doing = (button: HTMLButtonElement, act: () => Promise<void>): void => {
  if (button.ariaBusy === "true") return
  button.ariaBusy = "true"
  act()
    .catch(complain)
    .finally(() => (button.ariaBusy = "false"))
}
