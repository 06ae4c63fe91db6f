/**
 * The pictures of the page in docs/images: a market with hours behind it, looked at by somebody who trades in it, wide and on a phone,
 * light and dark. The hours are made with a clock that runs fast (libfaketime); the pictures are taken by the real one.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Schedule } from "effect"
import type { Browser, Page } from "playwright-core"
import { assert } from "vitest"
import { startGateway } from "../../verification/harness/GatewayProcess.ts"
import { Client, Wallet } from "../../src/client/index.ts"

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url))
const BYTES_MAX = 300_000
const SLOW = { timeout: 60_000 }
const READY_MS = 120_000
/** How much faster the clock runs while the hours are made, and how many are made: it must not pass the real one. */
const SPEED = 12
const HOURS = 0.75
const HOUR_MS = 3_600_000
const BEHIND_MS = 90_000
/** Pause between two trades of the hours, in ms of the real clock. */
const TRADE_MS = 200

/** Trades a little with the maker, now here, now there, until the hours are over. */
const wander = (baseUrl: string, until_ms: number) =>
  Effect.gen(function* () {
    const client = yield* Client.make({ baseUrl })
    yield* client.syncTime
    // a pause of this machine is a long one by the fast clock: the gateway may call its backend slow for a moment
    const patiently = Effect.retry({ schedule: Schedule.spaced("500 millis"), times: 100 })
    yield* patiently(client.login(Wallet.fromSeed("07".repeat(32))))
    const { list } = yield* patiently(client.user.subAccounts())
    const { sub_account_address } = list[0]!
    yield* patiently(client.account.faucet({ payload: { sub_account_address, asset: "USDC", amount: "100000" } }))
    for (let i = 0; Date.now() < until_ms; i++) {
      // long and short in turns, so that it never holds much
      const side = Math.sin(i * 12.9898) > Math.sin(i / 9) * 0.4 ? "Buy" : "Sell"
      const qty = `0.${String(10 + ((i * 37) % 90)).padStart(3, "0")}`
      const order = { sub_account_address, symbol: "BTC-USDC", side, order_type: "Market", qty } as const
      yield* Effect.ignore(client.order.create({ payload: order }))
      yield* Effect.sleep(TRADE_MS)
    }
  })

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
  const env = { LOG_LEVEL: "error", DRAIN_MS: "50", RATE_LIMIT_MODE: "off" }
  const library = execFileSync("faketime", ["-m", "-f", "+0", "printenv", "LD_PRELOAD"], { encoding: "utf8" }).trim()
  try {
    const over_ms = Date.now() + (HOURS * HOUR_MS - BEHIND_MS) / (SPEED - 1)
    const fast = await startGateway({
      dataDir,
      ready_ms: READY_MS,
      env: {
        ...env,
        LD_PRELOAD: library,
        FAKETIME: `${-HOURS * 3_600} x${SPEED}`,
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
        LOGIN_WINDOW_MS: String(24 * HOUR_MS)
      }
    })
    await Effect.runPromise(wander(fast.url, over_ms))
    await fast.stop()

    const gateway = await startGateway({ dataDir, env, ready_ms: READY_MS })
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
