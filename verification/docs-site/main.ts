/**
 * Checks the built documentation site as a gateway serves it, in Chromium: title, description, headings and accessibility of every page in
 * both themes, no refused script, a visible focus, and whether a search from the keyboard finds the right page first.
 * `node verification/docs-site/main.ts [folder for screenshots]`, after the build of docs/site.
 */
import { globSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { launch } from "../harness/Chromium.ts"
import { startExchange } from "../harness/Exchange.ts"
import { until } from "../harness/Wait.ts"
import { faultsOf, unseenFocus } from "./PageCheck.ts"

/** Questions of readers, and the page that answers each. */
const questions: Readonly<Record<string, string>> = {
  "place a stop": "recipes/place-a-stop",
  "take profit stop loss": "recipes/attach-take-profit",
  "isolated margin": "recipes/use-isolated-margin",
  "keep an order book": "recipes/keep-a-book",
  "resume a private stream": "recipes/resume-a-stream",
  "rotate api key": "recipes/rotate-a-key",
  "make sub-accounts": "recipes/make-sub-accounts",
  "backup restore": "operations/backup",
  GatewayRedisDown: "runbooks/GatewayRedisDown",
  "model context protocol": "guides/mcp"
}
/** Presses of Tab on a page at most. */
const TABS_MAX = 400
/** Pages whose focus is followed from Tab to Tab, and that are pictured. */
const visited = [
  "",
  "recipes/place-a-stop.html",
  "reference/errors.html",
  "runbooks/",
  "operations/standby.html",
  "contract/exchange.html"
]
const dist = join(import.meta.dirname, "../../docs/site/dist")
const pages = globSync("**/*.html", { cwd: dist })
  .filter((path) => path !== "404.html")
  .map((path) => path.replace(/(?<=^|\/)index\.html$/u, ""))
  .toSorted()

const mounted = (page: Page) =>
  until("a mounted page", () => page.evaluate<boolean>("document.querySelector('#app').__vue_app__ !== undefined"))

const [pictures] = process.argv.slice(2)
const exchange = await startExchange()
const browser = await launch()
const faults: Array<string> = []
try {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ colorScheme })
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(`${page.url()}: ${message.text()}`)
    })
    for (const path of pages) {
      await page.goto(`${exchange.url}/docs/${path}`)
      await mounted(page)
      const found = [...(await faultsOf(page))]
      if (visited.includes(path)) {
        found.push(...(await unseenFocus(page, TABS_MAX)).map((one) => `focus is not seen: ${one}`))
        if (pictures !== undefined)
          await page.screenshot({ path: join(pictures, `docs-${colorScheme}-${path.replaceAll(/\W+/gu, "-")}.png`) })
      }
      faults.push(...found.map((one) => `${colorScheme} ${path}: ${one}`))
    }
    console.log(`${colorScheme}: ${pages.length} pages`)
    await page.close()
  }
  const page = await browser.newPage()
  await page.goto(`${exchange.url}/docs/`)
  // the search answers to its key then
  await mounted(page)
  for (const [question, answer] of Object.entries(questions)) {
    // the box opens with the last question and its results
    await page.evaluate("sessionStorage.clear()")
    await page.keyboard.press("Control+k")
    await page.locator(".VPLocalSearchBox input").fill(question)
    const first = page.locator(".VPLocalSearchBox .result").first()
    await first.waitFor()
    const href = (await first.getAttribute("href")) ?? ""
    const isFound = href.startsWith(`/docs/${answer}`)
    console.log(`${isFound ? "found" : "not first"}: ${question} → ${href}`)
    if (!isFound) faults.push(`search "${question}": ${href}, not ${answer}`)
    await page.keyboard.press("Escape")
    await page.locator(".VPLocalSearchBox").waitFor({ state: "detached" })
  }
} finally {
  await browser.close()
  await exchange.close()
}
for (const fault of faults) console.log(fault)
process.exitCode = faults.length === 0 ? 0 : 1
