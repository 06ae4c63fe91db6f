/** One gateway and one Chromium, shared by the tests of the market page, and what every test does on a page. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { assert } from "vitest"
import { launch } from "../../verification/harness/Chromium.ts"
import { type GatewayProcess, startGateway } from "../../verification/harness/GatewayProcess.ts"
import { freePort } from "../../verification/harness/Programs.ts"
import { until } from "../../verification/harness/Wait.ts"

/** Time limit of a wait, in ms; long enough for a busy machine. */
export const SLOW = { timeout: 60_000 }
export const READY_MS = 120_000

const administrator = { ADMIN_USERNAME: "admin", ADMIN_PASSWORD: "a password of tests" }

/** Console messages of the browser about a request that fails on purpose, or while the gateway is down or not ready. */
const isOutage = (text: string): boolean =>
  /WebSocket connection to|net::ERR_|status of (?:400|401|409|429|503)/u.test(text)

export interface Opened {
  readonly page: Page
  /** Errors of the page, except those of an outage while `watching.outage` is set. */
  readonly faults: ReadonlyArray<string>
  /** Paths of its requests to the API. */
  readonly requests: ReadonlyArray<string>
  readonly watching: { outage: boolean }
}

/** Difference from a mark that counts as that mark, in USDC. */
const MARK_TOLERANCE = 3

export class PageExchange {
  readonly browser: Browser
  private readonly dataDir: string
  private readonly port: number
  private gateway: GatewayProcess | undefined

  private constructor(browser: Browser, dataDir: string, port: number) {
    this.browser = browser
    this.dataDir = dataDir
    this.port = port
  }

  static async start(): Promise<PageExchange> {
    const dataDir = mkdtempSync(join(tmpdir(), "gateway-page-"))
    const made = new PageExchange(await launch(), dataDir, await freePort())
    await made.serve()
    return made
  }
  async stop(): Promise<void> {
    await this.browser.close()
    await this.gateway?.stop()
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }
  /** Starts the gateway. A fixed index price keeps the book constant. */
  async serve(): Promise<void> {
    this.gateway = await startGateway({
      dataDir: this.dataDir,
      port: this.port,
      ready_ms: READY_MS,
      // all pages load from one address; limits of sessions stay
      env: { INDEX_SOURCE: "manual", LOG_LEVEL: "error", DRAIN_MS: "50", RATE_PUBLIC: "100000", ...administrator }
    })
  }
  async kill(): Promise<void> {
    await this.gateway?.kill()
  }
  /** Sets the index of BTC-USDC, as its administrator. */
  async holdIndex(price: string): Promise<void> {
    const { ADMIN_PASSWORD, ADMIN_USERNAME } = administrator
    const { status } = await fetch(`${this.url}/api/v1/admin/index-price`, {
      method: "PUT",
      headers: {
        authorization: `Basic ${btoa(`${ADMIN_USERNAME}:${ADMIN_PASSWORD}`)}`,
        "content-type": "application/json"
      },
      body: JSON.stringify({ symbol: "BTC-USDC", price })
    })
    assert.strictEqual(status, 200)
  }
  /**
   * Moves the mark price of BTC-USDC by its index. The mark is above a falling index by the average distance of the book's last seconds,
   * which is large where the exchange has just started.
   */
  async moveMark(to: number): Promise<void> {
    await until(`the mark is ${to}`, async () => {
      const answer = await fetch(`${this.url}/api/v1/market/tickers?symbol=BTC-USDC`)
      const { list } = (await answer.json()) as { readonly list: ReadonlyArray<Readonly<Record<string, string>>> }
      const [index, mark] = [Number(list[0]!["index_price"]), Number(list[0]!["mark_price"])]
      if (Math.abs(mark - to) <= MARK_TOLERANCE) return true
      await this.holdIndex(String(Math.round(to - (mark - index))))
      return false
    })
  }

  /** Opens the page in a browser profile of its own; `script` runs in each of its tabs before the page. */
  async open(options: BrowserContextOptions = {}, script?: () => void): Promise<Opened> {
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
    if (script !== undefined) await context.addInitScript(script)
    return this.openIn(context)
  }
  /** Opens the page in a tab of a profile, and records all its errors. */
  async openIn(context: BrowserContext): Promise<Opened> {
    const page = await context.newPage()
    const faults: Array<string> = []
    const requests: Array<string> = []
    const watching = { outage: false }
    const fault = (text: string): void => {
      if (!watching.outage || !isOutage(text)) faults.push(text)
    }
    page.on("pageerror", (error) => fault(String(error)))
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") fault(message.text())
    })
    page.on("requestfailed", (request) => fault(`${request.url()}: ${request.failure()?.errorText}`))
    page.on("request", (request) => {
      const { origin, pathname, protocol } = new URL(request.url())
      if (protocol !== "blob:" && origin !== this.url) fault(`request to another origin: ${request.url()}`)
      if (pathname.startsWith("/api/")) requests.push(pathname)
    })
    await page.goto(this.url, SLOW)
    return { page, faults, requests, watching }
  }
}

/** Keeps the page from drawing until `resume`. */
export const stopFrames = async (page: Page): Promise<{ readonly resume: () => Promise<void> }> => {
  const stopped = await page.evaluateHandle(() => {
    const { requestAnimationFrame } = globalThis
    const waiting: Array<FrameRequestCallback> = []
    globalThis.requestAnimationFrame = (draw) => waiting.push(draw)
    return () => {
      globalThis.requestAnimationFrame = requestAnimationFrame
      for (const draw of waiting) draw(performance.now())
    }
  })
  return { resume: () => stopped.evaluate((resume) => resume()) }
}

/** Waits until an element's text matches. */
export const shows = (page: Page, selector: string, pattern: RegExp): Promise<void> =>
  page.locator(selector).filter({ hasText: pattern }).first().waitFor(SLOW)
/** Waits until a field has a value: the page draws in the next frame. */
export const holds = async (page: Page, selector: string, pattern: RegExp): Promise<void> => {
  await until(`${selector} has ${pattern}`, async () => pattern.test(await page.locator(selector).inputValue(SLOW)))
}
/** Selector of the best level of a side. */
export const best = (side: "ask" | "bid"): string => (side === "ask" ? ".rung.ask >> nth=-1" : ".rung.bid >> nth=0")
/** Selector of the number on a tab. */
export const count = (tab: string): string => `#tab-${tab} .count`

/** Creates a wallet, signs in and uses the faucet. */
export const fund = async (page: Page): Promise<void> => {
  await page.locator("#sign-in").click(SLOW)
  await page.locator("#faucet").click(SLOW)
  await shows(page, ".money", /Equity\s*10,000\.00/u)
}

/** Sets the leverage of the market, and its margin mode. */
export const setMargin = async (page: Page, mode: "Cross" | "Isolated", leverage: string): Promise<void> => {
  await page.locator("#margin-settings").click(SLOW)
  await page.locator(`#margin-mode-${mode}`).check(SLOW)
  await page.locator("#leverage").fill(leverage)
  await page.locator("#margin .primary").click(SLOW)
  await shows(page, "#margin-settings", new RegExp(`${mode} · ${leverage}×`, "u"))
}
