/** The API explorer in a real browser without internet access: it opens, and "Try it out" gets a response. */
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { hasChromium, launch } from "../../verification/harness/Chromium.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

/** `PICTURE=1` updates the screenshot of the docs. */
const picture = fileURLToPath(new URL("../../docs/images/swagger-ui.png", import.meta.url))
const SLOW = { timeout: 60_000 }

describe.skipIf(!hasChromium)("the API explorer", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange()
  })
  afterAll(() => exchange?.close())

  it("opens in a browser and calls the gateway", { timeout: 240_000 }, async () => {
    const browser = await launch()
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
      const faults: Array<string> = []
      page.on("pageerror", (error) => faults.push(String(error)))
      page.on("response", (response) => {
        if (response.status() >= 400) faults.push(response.url())
      })
      page.on("requestfailed", (request) => faults.push(`${request.url()}: ${request.failure()?.errorText}`))
      page.on("request", (request) => {
        if (!request.url().startsWith(exchange.url) && !/^(?:data|blob):/u.test(request.url())) {
          faults.push(`it asks elsewhere: ${request.url()}`)
        }
      })
      await page.goto(`${exchange.url}/swagger-ui`, SLOW)
      const operation = page.locator(".opblock", { has: page.locator('[data-path="/api/v1/market/time"]') })
      const tag = page.locator(".opblock-tag", { hasText: "market" }).first()
      await tag.waitFor(SLOW)
      assert.strictEqual(await page.locator(".opblock").count(), 0, "a group is open")
      assert.isTrue(await page.locator(".operation-filter-input").isVisible(), "no filter")
      assert.include(await page.locator(".info").innerText(), "SERVICE_AUTH|LOGIN|0xd75a98")
      const icon = await page.locator('link[rel="icon"]').getAttribute("href")
      assert.match(icon ?? "", /^data:image\/svg\+xml,/u)
      await page.locator(".operation-filter-input").fill("market")
      if (process.env["PICTURE"] !== undefined) {
        mkdirSync(dirname(picture), { recursive: true })
        await page.screenshot({ path: picture })
      }
      await tag.click(SLOW)
      await operation.first().waitFor(SLOW)
      const tickers = page.locator(".opblock", { has: page.locator('[data-path="/api/v1/market/tickers"]') })
      await tickers.locator(".opblock-summary-control").first().click(SLOW)
      const parameter = tickers.locator('tr[data-param-name="symbol"]')
      await parameter.waitFor(SLOW)
      assert.include(await parameter.innerText(), "<base>-<quote>")
      if (process.env["LOOK"] !== undefined) await page.screenshot({ path: process.env["LOOK"], fullPage: true })
      await operation.locator(".opblock-summary-control").first().click(SLOW)
      await operation.getByRole("button", { name: "Try it out" }).click(SLOW)
      const answered = page.waitForResponse((response) => response.url().endsWith("/api/v1/market/time"), SLOW)
      await operation.getByRole("button", { name: "Execute" }).click(SLOW)
      const response = await answered
      assert.strictEqual(response.status(), 200)
      const shown = operation.locator(".live-responses-table tbody .response-col_status").first()
      await shown.waitFor(SLOW)
      assert.match((await shown.textContent()) ?? "", /^\s*200/u)
      assert.deepStrictEqual(faults, [])
    } finally {
      await browser.close()
    }
  })
})
