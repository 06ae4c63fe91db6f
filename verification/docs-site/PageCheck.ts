/** What every page of the documentation site must have: a title, a description, headings in order, contrast, names, and keys that reach all of it. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type axe from "axe-core"
import type { Page } from "playwright-core"

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** The violations of axe, and what a reader, a search engine or a program lacks. Empty: none. */
export const faultsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const faults: Array<string> = []
    const { violations } = await (globalThis as unknown as { readonly axe: typeof axe }).axe.run()
    for (const { id, nodes } of violations) faults.push(`${id} (${nodes.length}): ${nodes[0]!.html.slice(0, 100)}`)
    // the home page has the title of the site alone
    if (!document.title.endsWith("Trading gateway")) faults.push(`title "${document.title}"`)
    if (document.documentElement.lang !== "en") faults.push("no language")
    const description = document.querySelector<HTMLMetaElement>('meta[name="description"]')?.content ?? ""
    if (description.length < 10) faults.push(`description "${description}"`)
    const headings = [...document.querySelectorAll(".VPDoc h1, .VPDoc h2, .VPDoc h3, .VPDoc h4, .VPDoc h5, .VPDoc h6")]
    const levels = headings.map(({ tagName }) => Number(tagName[1]))
    if (levels[0] !== 1 || levels.filter((level) => level === 1).length !== 1) faults.push(`h1: ${levels.join()}`)
    for (const [i, level] of levels.entries())
      if (i > 0 && level > levels[i - 1]! + 1)
        faults.push(`h${level} below h${levels[i - 1]}: ${headings[i]!.textContent}`)
    // an element that is wider than the page scrolls the whole page; code and tables scroll alone
    if (document.documentElement.scrollWidth > innerWidth)
      faults.push(`${document.documentElement.scrollWidth} px wide`)
    return faults
  })
}

/** Presses Tab from the top of a page to its end, and returns what got the focus without a visible mark of it. */
export const unseenFocus = async (page: Page, tabs_max: number): Promise<ReadonlyArray<string>> => {
  const unseen: Array<string> = []
  await page.evaluate(() => {
    ;(document.activeElement as HTMLElement | null)?.blur()
  })
  for (let i = 0; i < tabs_max; i++) {
    await page.keyboard.press("Tab")
    const state = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement | null
      if (element === null || element === document.body) return "end"
      // a hidden input shows its focus on its label
      const seen = element.matches("input[type=radio]") ? element.nextElementSibling! : element
      const { boxShadow, outlineStyle, outlineWidth } = getComputedStyle(seen)
      const box = seen.getBoundingClientRect()
      const isMarked = (outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0) || boxShadow !== "none"
      return isMarked && box.width > 0 && box.height > 0 ? "seen" : element.outerHTML.slice(0, 120)
    })
    if (state === "end") break
    if (state !== "seen") unseen.push(state)
  }
  return [...new Set(unseen)]
}
