/** The pictures of the page in docs/images: the simulated market, seen by somebody who trades in it, wide and on a phone, light and dark. */
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, Page } from "playwright-core"
import { assert } from "vitest"
import { startGateway } from "../../verification/harness/GatewayProcess.ts"
import { sleep } from "../../verification/harness/Wait.ts"

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url))
const BYTES_MAX = 400_000
const SLOW = { timeout: 60_000 }
const READY_MS = 120_000
/** Time in which the simulated takers trade before the first picture, in ms. */
const MARKET_MS = 120_000

const trade = async (page: Page): Promise<void> => {
  await page.locator("#sign-in").click(SLOW)
  await page.locator("#faucet").click(SLOW)
  await page.locator(".money", { hasText: "10,000.00" }).waitFor(SLOW)
  /** Enters a price from the book and a size. */
  const enter = async (rung: string, qty: string): Promise<void> => {
    await page.locator(rung).click(SLOW)
    await page.locator("#qty").fill(qty, SLOW)
  }
  /** On a phone order entry is a sheet over the book. */
  const uncover = async (): Promise<void> => {
    const close = page.locator(".close-order")
    if (await close.isVisible()) await close.click(SLOW)
  }
  const send = async (): Promise<void> => {
    await page.locator(".submit").click(SLOW)
    await uncover()
  }
  await enter(".rung.ask >> nth=-5", "0.5")
  await send()
  await page.locator("#panel-Positions tbody tr").first().waitFor(SLOW)
  for (const rung of [3, 6]) {
    await enter(`.rung.bid >> nth=${rung}`, "0.02")
    await send()
    await page.locator("#tab-Orders .count", { hasText: rung === 3 ? "1" : "2" }).waitFor(SLOW)
  }
  await enter(".rung.bid >> nth=2", "0.05")
  await uncover()
  // the notes have gone by then
  await page.locator("#toasts:empty").waitFor({ ...SLOW, state: "attached" })
  await page.evaluate(() => scrollTo(0, 0))
  await page.mouse.move(0, 0)
}

export const takePictures = async (browser: Browser): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-pictures-"))
  const env = { LOG_LEVEL: "error", DRAIN_MS: "50", RATE_LIMIT_MODE: "off", SIM_TAKERS: "on" }
  try {
    const gateway = await startGateway({ dataDir, env, ready_ms: READY_MS })
    await sleep(MARKET_MS)
    mkdirSync(folder, { recursive: true })
    for (const [width, height, size] of [
      [1440, 900, "desktop"],
      [390, 1300, "phone"]
    ] as const) {
      const context = await browser.newContext({
        viewport: { width, height },
        isMobile: size === "phone",
        deviceScaleFactor: size === "phone" ? 2 : 1
      })
      const page = await context.newPage()
      await page.goto(gateway.url, SLOW)
      await trade(page)
      for (const colorScheme of ["dark", "light"] as const) {
        await page.emulateMedia({ colorScheme })
        await page.locator(`html[data-theme="${colorScheme}"]`).waitFor(SLOW)
        const path = join(folder, `page-${size}-${colorScheme}.png`)
        await page.screenshot({ path })
        assert.isAtMost(statSync(path).size, BYTES_MAX, path)
      }
      await context.close()
    }
    await gateway.stop()
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
