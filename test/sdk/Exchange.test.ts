/** The SDK against a complete exchange: as modules, as a bundle in a separate process, and in a browser. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { bundlePlain } from "../../verification/harness/SdkBundle.ts"
import * as plain from "../../src/sdk/index.ts"
import { hasChromium, launch } from "../../verification/harness/Chromium.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { inPage, program, story, type StoryResult } from "../../verification/sdk/Story.ts"
import { movableClock } from "../../verification/harness/Clocks.ts"

const SLOW = { timeout: 90_000 }

const check = ({ error_ms, history, isShown, offset_ms, statuses }: StoryResult): void => {
  assert.deepStrictEqual(statuses, ["New", "CancelRequested", "Canceled"])
  assert.deepStrictEqual(history, [["Canceled", "59000", "0.01"]])
  assert.isTrue(isShown)
  // one machine: how exact it is depends on how busy that is, and is tested where time stands still
  assert.isAtMost(Math.abs(offset_ms), error_ms! + 10_000)
}

describe("the SDK", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange()
  })
  afterAll(() => exchange?.close())

  it("trades, follows and keeps a book", SLOW, async () => {
    check(await story(plain, exchange.url))
  })

  it("does the same as a bundle in a separate process", SLOW, async () => {
    const folder = mkdtempSync(join(tmpdir(), "plain-"))
    try {
      const file = join(folder, "story.mjs")
      writeFileSync(file, (await bundlePlain(program)).code)
      const { stdout } = await promisify(execFile)(process.execPath, [file, exchange.url], { cwd: folder })
      check(JSON.parse(stdout) as StoryResult)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("waits for the rate limit instead of being refused", SLOW, async () => {
    const clock = movableClock({ passes: true })
    const limited = await startExchange({ env: { RATE_LIMIT_MODE: "enforce" }, clock: clock.layer })
    const statuses = new Map<number, number>()
    let slept_ms = 0
    const client = await plain.connect({
      url: limited.url,
      environment: {
        fetch: async (url, init) => {
          const response = await fetch(url, init)
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          return response
        },
        // what it sleeps passes on the gateway's clock
        sleep: async (ms) => {
          const whole_ms = Math.ceil(ms)
          slept_ms += whole_ms
          clock.skip(whole_ms)
        },
        now: () => performance.now() + slept_ms
      }
    })
    try {
      const began = performance.now()
      for (let i = 0; i < 70; i++) await client.market.time()
      // a machine that takes a window for it is not fast
      assert.isTrue(slept_ms > 0 || performance.now() - began > 60_000)
      assert.deepStrictEqual([...statuses], [[200, 71]])
    } finally {
      client.close()
      await limited.close()
    }
  })
})

describe.skipIf(!hasChromium)("the SDK in a browser", () => {
  it("trades with the browser's Ed25519 and without it", SLOW, async () => {
    const exchange = await startExchange()
    const pages = createServer((_, response) => void response.end("<!doctype html><title>a bot's page</title>"))
    const browser = await launch()
    try {
      await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve))
      const { code: content } = await bundlePlain(inPage, "iife")
      const own = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`
      for (const hasCurve of [true, false]) {
        const page = await browser.newPage()
        const faults: Array<string> = []
        page.on("pageerror", (error) => faults.push(String(error)))
        await page.goto(own, { timeout: 30_000 })
        if (!hasCurve) await page.evaluate("crypto.subtle.importKey = () => Promise.reject(new Error('no such curve'))")
        await page.addScriptTag({ content })
        check((await page.evaluate(`story(${JSON.stringify(exchange.url)})`)) as StoryResult)
        assert.deepStrictEqual(faults, [])
        await page.close()
      }
    } finally {
      await browser.close()
      pages.close()
      pages.closeAllConnections()
      await exchange.close()
    }
  })
})
