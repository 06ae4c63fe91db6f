/**
 * Checks the built documentation site as a gateway serves it, in Chromium: title, heading and accessibility of pages in both themes,
 * no refused script, tabs, and whether a search from the keyboard finds the right page first.
 * `node verification/docs-site/main.ts [folder for screenshots]`, after the build of docs/site.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import type axe from "axe-core"
import type { Page } from "playwright-core"
import { launch } from "../harness/Chromium.ts"
import { startExchange } from "../harness/Exchange.ts"
import { until } from "../harness/Wait.ts"

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
const visited = ["", "recipes/place-a-stop.html", "reference/errors.html", "runbooks/"]

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { readonly axe: typeof axe }).axe.run()
    return violations.map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]!.html.slice(0, 100)}`)
  })
}

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
    for (const path of visited) {
      await page.goto(`${exchange.url}/docs/${path}`, { waitUntil: "networkidle" })
      const heading = await page.locator("h1").innerText()
      const found = await violations(page)
      console.log(
        `${colorScheme} /docs/${path}: "${await page.title()}", "${heading.trim()}", ${found.length} violations`
      )
      faults.push(...found.map((one) => `${colorScheme} ${path}: ${one}`))
      if (pictures !== undefined)
        await page.screenshot({ path: join(pictures, `docs-${colorScheme}-${path.replaceAll(/\W+/gu, "-")}.png`) })
    }
    await page.close()
  }
  const page = await browser.newPage()
  await page.goto(`${exchange.url}/docs/`)
  // the search answers to its key once Vue has mounted the page
  await until("a mounted page", () =>
    page.evaluate<boolean>("document.querySelector('#app').__vue_app__ !== undefined")
  )
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
