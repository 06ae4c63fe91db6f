/** Light or dark theme: the system's, until the user chooses one. */
import { h } from "./Dom.ts"
import { Live } from "./Frame.ts"

export type Theme = "light" | "dark"

const STORED = "trading-gateway/theme"
const systemIsLight = matchMedia("(prefers-color-scheme: light)")

const chosen = (): Theme | undefined => {
  const stored = localStorage.getItem(STORED)
  return stored === "light" || stored === "dark" ? stored : undefined
}
const current = (): Theme => chosen() ?? (systemIsLight.matches ? "light" : "dark")

export const theme = new Live<Theme>(current())

const apply = (): void => {
  document.documentElement.dataset["theme"] = current()
  theme.set(current())
}

/** A colour of the current theme, by its custom property in the style sheet. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** The button that switches the theme. */
export const toggle = (): HTMLElement => {
  apply()
  systemIsLight.addEventListener("change", apply)
  return h(
    "button",
    {
      class: "quiet",
      type: "button",
      "aria-label": "Switch theme",
      title: "Switch theme",
      onclick: () => {
        localStorage.setItem(STORED, current() === "dark" ? "light" : "dark")
        apply()
      }
    },
    "◐"
  )
}
