/** Light or dark: as the system has it, until somebody chooses. */
import { h } from "./Dom.ts"
import { Live } from "./Frame.ts"

export type Theme = "light" | "dark"

const KEPT = "trading-gateway/theme"
const systemIsLight = matchMedia("(prefers-color-scheme: light)")

const chosen = (): Theme | undefined => {
  const kept = localStorage.getItem(KEPT)
  return kept === "light" || kept === "dark" ? kept : undefined
}
const current = (): Theme => chosen() ?? (systemIsLight.matches ? "light" : "dark")

export const theme = new Live<Theme>(current())

const apply = (): void => {
  document.documentElement.dataset["theme"] = current()
  theme.set(current())
}

/** A colour of the theme in force, as the style sheet names it. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** The button that turns the light on and off. */
export const toggle = (): HTMLElement => {
  apply()
  systemIsLight.addEventListener("change", apply)
  return h(
    "button",
    {
      class: "quiet",
      type: "button",
      "aria-label": "Light or dark",
      title: "Light or dark",
      onclick: () => {
        localStorage.setItem(KEPT, current() === "dark" ? "light" : "dark")
        apply()
      }
    },
    "◐"
  )
}
