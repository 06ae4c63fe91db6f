/**
 * The market page in a real browser, without the internet. All tests share one gateway and one browser. `SCREENSHOTS=<folder>` keeps
 * a screenshot of each state of the journeys; `UPDATE=1` takes new pictures for the docs (`test/page/Pictures.ts`).
 */
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as Wallet from "../../src/client/Wallet.ts"
import { build, type Built } from "../../page/build.ts"
import { hasChromium } from "../../verification/harness/Chromium.ts"
import { journeys } from "./Journeys.ts"
import { best, count, fund, holds, PageExchange, READY_MS, setMargin, shows, SLOW, stopFrames } from "./PageExchange.ts"
import { checkState } from "./PageState.ts"
import { takePictures } from "./Pictures.ts"
import { eventually, until } from "../../verification/harness/Wait.ts"

/** Maximum transfer size of the page, in bytes. */
const BYTES_MAX = 300_000
/** Maximum requests to open the page: an address has a limited number of requests without credentials per minute. */
const OPENING_REQUESTS_MAX = 10

/** Response of a gateway that is behind its backend. */
const LAGGING = {
  status: 503,
  contentType: "application/json",
  body: JSON.stringify({
    code: "SERVICE_UNAVAILABLE",
    message: "the trading backend is lagging",
    details: { reason: "BackendLagging" }
  })
}

describe.skipIf(!hasChromium)("the market page", { timeout: 300_000 }, () => {
  let built: ReadonlyArray<Built> | undefined
  let exchange: PageExchange

  beforeAll(async () => {
    built = await build()
    exchange = await PageExchange.start()
  }, 2 * READY_MS)
  afterAll(() => exchange?.stop(), READY_MS)

  it("trades by mouse and keyboard, and recovers from a kill of the gateway", async () => {
    assert.isDefined(built, "the bundler is not installed")
    const { faults, page, requests, watching } = await exchange.open()

    // the first book appears quickly, with few requests and bytes
    await shows(page, best("bid"), /\d/u)
    const [first_ms, weight] = await page.evaluate(() => {
      const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      const files = (entries as Array<PerformanceResourceTiming>).filter(({ name }) => !name.includes("/api/"))
      return [
        performance.getEntriesByName("first-book")[0]?.startTime ?? -1,
        files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)
      ] as const
    })
    console.log(
      `page: ${weight} bytes as sent, first book after ${Math.round(first_ms)} ms, ${requests.length} requests`
    )
    assert.isAtMost(weight, BYTES_MAX)
    assert.isAtMost(
      built!.reduce((sum, { gzip }) => sum + gzip, 0),
      BYTES_MAX
    )
    assert.isAtMost(requests.length, OPENING_REQUESTS_MAX)

    await checkState(page, "before-sign-in")

    // create a wallet and use the faucet
    await fund(page)

    // a click on a level fills the price; the preview shows the margin
    await page.locator(best("ask")).click(SLOW)
    await holds(page, "#price", /^60012$/u)
    await page.locator("#qty").fill("0.05", SLOW)
    await shows(page, ".preview", /Margin\s*301\.71/u)
    await shows(page, "#ticker .last dd", /^–\s*no trade yet$/u)
    await shows(page, "#ticker .mark dd", /^60,000\.0$/u)
    // a toast disappears after a while, so the wait starts before the click
    const filled = shows(page, "#toasts", /Bought 0\.050 BTC-USDC at 60,012\.0/u)
    await page.locator(".submit").click(SLOW)
    await filled
    await shows(page, "#panel-Positions tbody tr", /Long\s*0\.050/u)
    await shows(page, "#tape tbody tr", /60,012\.0\s*0\.050/u)
    await shows(page, "#ticker .last dd", /^60,012\.0\s*\d+ (?:s|min) ago$/u)
    await page.locator('.canvas[data-fills="1"]').waitFor(SLOW)
    await shows(page, count("Fills"), /^1$/u)

    // a resting order, entered with the keyboard only
    await page.locator("#price").focus()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("59000")
    await page.locator("#qty").focus()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("0.02")
    await page.keyboard.press("Enter")
    await shows(page, count("Orders"), /^1$/u)
    await page.locator("#tab-Positions").focus()
    await page.keyboard.press("ArrowRight")
    await shows(page, "#panel-Orders tbody tr", /Buy\s*Limit\s*59,000\.0\s*0\.020/u)
    await shows(page, "#status-text", /^Live/u)

    await checkState(page, "a-position-and-an-open-order")

    // the gateway is killed: the banner shows it; after the restart no event is missed
    watching.outage = true
    await exchange.kill()
    await page.locator("#status.bad").waitFor(SLOW)
    await shows(page, "#status-text", /Connection lost .*Prices are .* old/u)
    await checkState(page, "gateway-killed")
    await exchange.serve()
    await shows(page, "#status-text", /no account event was missed/u)
    await page.locator("body:not([data-stale])").waitFor(SLOW)
    watching.outage = false
    await shows(page, best("ask"), /60,012\.0/u)
    await checkState(page, "gateway-back")

    // trading continues
    await page.getByRole("button", { name: "Cancel the order of" }).click(SLOW)
    await shows(page, "#panel-Orders .empty", /No open orders/u)
    await page.locator("#tab-Positions").click(SLOW)
    await page.getByRole("button", { name: "Close the position in BTC-USDC" }).click(SLOW)
    // a gateway that is behind after a restart refuses orders for a moment: the dialog stays open with the reason
    watching.outage = true
    await page.route("**/api/v1/order/create", (route) => route.fulfill(LAGGING), { times: 1 })
    await page.locator("#close .primary").click(SLOW)
    await shows(page, "#close-error", /the trading backend is lagging/u)
    await eventually(
      "the dialog closes",
      async () => {
        // a click while the dialog is busy has no effect
        await page
          .locator("#close .primary")
          .click({ timeout: 500 })
          .catch(() => {})
        return page.locator("#close").isHidden()
      },
      Boolean,
      SLOW.timeout
    )
    watching.outage = false
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    await shows(page, count("Fills"), /^2$/u)

    // after a reload the user is signed in again
    await page.reload(SLOW)
    await shows(page, count("Fills"), /^2$/u)

    // the page trades with an API key of its own; the wallet's key is saved in both forms
    const wallet = page.locator("#wallet")
    const openWallet = async () => {
      await page.locator(".menu summary").click(SLOW)
      await page.locator("#open-wallet").click(SLOW)
    }
    const saved = async (name: string): Promise<string> => {
      const download = page.waitForEvent("download", SLOW)
      await page.getByRole("button", { name }).click(SLOW)
      return (await download).path()
    }
    await openWallet()
    await shows(page, "#wallet tbody tr", /market page \(this one\).*read, trade, account, transfer/u)
    await checkState(page, "wallet-and-keys")
    const key = await page.locator("#wallet code").innerText()
    const seed = (JSON.parse(readFileSync(await saved("Save for the command line"), "utf8")) as { seed: string }).seed
    assert.strictEqual(Wallet.fromSeed(seed).public_key, key)
    await page.locator("#passphrase").fill("correct horse")
    const encrypted = await saved("Save with the passphrase")
    await page.locator("#sub-account-label").fill("second")
    await wallet.getByRole("button", { name: "Create", exact: true }).click(SLOW)
    await shows(page, "#wallet tbody tr", /^second/u)
    await page.locator("#transfer-amount").fill("100")
    await wallet.getByRole("button", { name: "Transfer", exact: true }).click(SLOW)
    await shows(page, "#wallet tbody tr", /^second.*100\.00/u)
    // the tables and histories are those of the sub-account in use
    const use = (name: RegExp) =>
      wallet.locator("tbody tr", { hasText: name }).getByRole("button", { name: "Use" }).click(SLOW)
    await use(/^second/u)
    await until("no fill is counted", async () => (await page.locator(count("Fills")).textContent(SLOW)) === "")
    await page.keyboard.press("Escape")
    await page.locator("#tab-Money").click(SLOW)
    await shows(page, "#panel-Money tbody tr:only-child", /Transfer in.*\+100\.0000.*100\.0000/u)
    await page.locator("#tab-Fills").click(SLOW)
    await shows(page, "#panel-Fills .empty", /No fills yet/u)
    await openWallet()
    await use(/^Sub-account 0/u)
    await shows(page, count("Fills"), /^2$/u)
    // the page trades with another sub-account after the one in use is deleted
    await page.locator("#sub-account-label").fill("third")
    await wallet.getByRole("button", { name: "Create", exact: true }).click(SLOW)
    const third = wallet.locator("tbody tr", { hasText: /^third/u })
    await third.getByRole("button", { name: "Use" }).click(SLOW)
    await shows(page, "#wallet tbody tr", /^third \(trading here\)/u)
    await third.getByRole("button", { name: "Delete" }).click(SLOW)
    await shows(page, "#wallet tbody tr", /^Sub-account 0 \(trading here\)/u)
    await page.keyboard.press("Escape")

    // signing out signs out every tab; the encrypted file signs in again, with the same wallet
    const other = await page.context().newPage()
    await other.goto(exchange.url, SLOW)
    await other.locator(".menu").waitFor(SLOW)
    await page.locator(".menu summary").click(SLOW)
    await page.getByRole("button", { name: "Sign out" }).click(SLOW)
    await other.locator("#sign-in").waitFor(SLOW)
    await other.close()
    await page.locator("#use-key-file").click(SLOW)
    await page.locator("#key-file").setInputFiles(encrypted)
    await page.locator("#passphrase").fill("correct horse")
    await page.getByRole("button", { name: "Use this key" }).click(SLOW)
    await shows(page, "#wallet .outcome", /^Signed in with the key of the file$/u)
    assert.strictEqual(await page.locator("#wallet code").innerText(), key)
    // a sealed key cannot be saved any more
    await wallet.getByRole("button", { name: "Seal" }).click(SLOW)
    await wallet.getByRole("button", { name: "Save for the command line" }).waitFor({ ...SLOW, state: "hidden" })
    await page.keyboard.press("Escape")
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("shows errors of an order before it is sent, and rejections afterwards", async () => {
    const { faults, page } = await exchange.open()
    await page.locator("#sign-in").click(SLOW)
    await page.locator("#faucet").waitFor(SLOW)
    await shows(page, best("bid"), /\d/u)
    await page.locator("#price").fill("60000.05", SLOW)
    await page.locator("#qty").fill("0.01", SLOW)
    await shows(page, "#verdict", /price is not a multiple of the tick 0\.1/u)
    await checkState(page, "an-invalid-order")
    // without funds the exchange rejects the order
    await page.locator("#price").fill("59000", SLOW)
    await shows(page, "#verdict", /not enough available margin/u)
    const rejected = shows(page, "#toasts", /Rejected/u)
    await page.locator(".submit").click(SLOW)
    await rejected
    await page.locator("#kind-Market").check(SLOW)
    await page.locator("#price").waitFor({ ...SLOW, state: "hidden" })
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("sends an order once that is clicked twice, and another one while the last is unanswered", async () => {
    const { faults, page } = await exchange.open()
    await fund(page)
    const sent: Array<string> = []
    const answers: Array<() => void> = []
    await page.route("**/api/v1/order/create", async (route) => {
      sent.push((route.request().postDataJSON() as { readonly price: string }).price)
      await new Promise<void>((resolve) => answers.push(resolve))
      await route.continue()
    })
    await page.locator("#qty").fill("0.01")
    const busy = page.locator(".submit[aria-busy=true]")
    for (const price of ["59000", "58000"]) {
      await page.locator("#price").fill(price)
      await page.locator(".submit").click()
      await busy.waitFor(SLOW)
      await page.locator(".submit").click()
    }
    await until("both orders are sent", () => answers.length === 2)
    await checkState(page, "unanswered-orders")
    for (const answer of answers) answer()
    await page.locator(".submit[aria-busy=false]").waitFor(SLOW)
    await page.locator("#tab-Orders").click()
    for (const price of [/59,000\.0/u, /58,000\.0/u]) await shows(page, "#panel-Orders tbody tr", price)
    assert.deepStrictEqual(sent, ["59000", "58000"])
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("opens, protects, amends, closes and reverses a position", async () => {
    const { faults, page, watching } = await exchange.open()
    await fund(page)
    const row = (pattern: RegExp) => shows(page, "#panel-Positions tbody tr", pattern)
    const order = (pattern: RegExp) => shows(page, "#panel-Orders tbody tr", pattern)

    // a leverage that the market does not have is wrong before it is sent; another one shows what it does
    await page.locator("#margin-settings").click(SLOW)
    await page.locator("#leverage").fill("60")
    await shows(page, "#margin-verdict", /between 1 and 50/u)
    assert.isTrue(await page.locator("#margin .primary").isDisabled())
    await page.locator("#leverage").fill("20")
    await shows(page, "#margin .preview", /at most\s*10,000,000\.00/u)
    await checkState(page, "leverage")
    await page.locator("#margin .primary").click(SLOW)
    await shows(page, "#margin-settings", /Cross · 20×/u)

    // a market order with both exits: its real price, and what the exits bring
    await page.locator("#kind-Market").check()
    await page.locator("#qty").fill("0.2")
    await shows(page, ".preview", /Fills at\s*60,0\d\d\.\d, slippage 0\.\d{3} %/u)
    await page.locator("#exits").check()
    await page.locator("#take-profit").fill("62000")
    await shows(page, ".exits", /62,000\.0: \+39\d\.\d\d USDC/u)
    await page.locator("#stop-loss-unit").selectOption("ROE %")
    await page.locator("#stop-loss").fill("20")
    await checkState(page, "order-with-exits")
    await page.locator(".submit").click()
    await row(/Long 0\.200.*62,000\.0 \/ 59,4\d\d\.\d/u)
    await checkState(page, "market-order-with-exits")

    // with a position the margin mode cannot change, and the dialog returns to what is set
    await page.locator("#margin-settings").click()
    await page.locator("#margin-mode-Isolated").check()
    await shows(page, "#margin-verdict", /Close the position and cancel all orders of BTC-USDC/u)
    await page.keyboard.press("Escape")
    await page.locator("#margin-settings").click()
    await page.locator("#margin-mode-Cross:checked").waitFor(SLOW)
    await page.keyboard.press("Escape")

    // a conditional order, and a limit order that is amended in place
    await page.locator("#exits").uncheck()
    await page.locator("#kind-Conditional").check()
    await page.locator("#trigger").fill("61000")
    await shows(page, "#order .hint", /when the mark price rises to 61000/u)
    await page.locator(".submit").click()
    await page.locator("#kind-Limit").check()
    await page.locator("#price").fill("59000")
    await page.locator(".submit").click()
    await page.locator("#tab-Orders").click()
    await order(/Conditional Market.*mark ≥ 61,000\.0/u)
    await order(/Take profit.*mark ≥ 62,000\.0/u)
    await order(/Stop loss.*mark ≤ 59,4\d\d\.\d/u)
    await checkState(page, "conditional-order")
    await page.getByRole("button", { name: "Price: 59,000.0. Change" }).click()
    await page.keyboard.type("59970.5")
    await page.keyboard.press("Enter")
    await order(/Limit\s*59,970\.5/u)
    // its line is dragged to another price; Escape leaves it where it was
    const label = page.locator(".order-labels .draggable", { hasText: /^Buy 0\.2/u })
    const chart = (await page.locator(".canvas").boundingBox())!
    const drag = async (x: number, y: number, by: number) => {
      await page.mouse.move(x, y)
      await page.mouse.down()
      await page.mouse.move(x, y + by, { steps: 3 })
    }
    // the scale of prices is stretched until the line is in view: how far depends on the trades so far
    for (let drags = 0; drags < 10 && !(await label.isVisible()); drags++) {
      await drag(chart.x + chart.width - 25, chart.y + chart.height / 2 - 60, 120)
      await page.mouse.up()
      // the labels move in the next frame
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    }
    await label.waitFor(SLOW)
    const middle = async () => {
      const box = (await label.boundingBox())!
      return [box.x + box.width / 2, box.y + box.height / 2] as const
    }
    // also while the pointer is below the chart
    await drag(...(await middle()), chart.height)
    await label.filter({ hasText: "→" }).waitFor(SLOW)
    await page.keyboard.press("Escape")
    await page.mouse.up()
    await label.filter({ hasNotText: "→" }).waitFor(SLOW)
    assert.strictEqual(await label.getAttribute("data-price"), "59970.5")
    await drag(...(await middle()), 15)
    await page.mouse.up()
    await page.locator('.order-labels .draggable:not([data-price="59970.5"])', { hasText: /^Buy 0\.2$/u }).waitFor(SLOW)
    await order(/Limit\s*59,9[0-6]\d\.\d/u)
    await checkState(page, "amended-by-drag")
    // a refused amend leaves the order as it is; its request fails in the console
    watching.outage = true
    await page.getByRole("button", { name: "Size: 0.200. Change" }).first().click()
    await page.keyboard.type("0.0005")
    await page.keyboard.press("Enter")
    await shows(page, "#toasts", /0\.0005/u)
    watching.outage = false
    await shows(page, "#account-tables .tools", /Cancel all 4 of BTC-USDC/u)
    // the buy order leaves: a sale that reaches its price would end there, as a trade with itself
    const resting = page.locator("#panel-Orders tbody tr", { hasText: /Limit\s*59,9/u })
    await resting.getByRole("button", { name: "Cancel the order of" }).click()
    await resting.waitFor({ ...SLOW, state: "detached" })

    // the stop loss is removed; half of the position is closed, then it is reversed
    await page.locator("#tab-Positions").click()
    // a dialog opens with its values, however late the next frame is: one that is drawn later overwrites what was entered
    const frames = await stopFrames(page)
    await page.getByRole("button", { name: /^Take profit and stop loss/u }).click()
    assert.match(await page.locator("#position-stop-loss").inputValue(), /^59,?4\d\d/u)
    await page.locator("#position-stop-loss").fill("")
    await frames.resume()
    await checkState(page, "exits-of-a-position")
    await page.locator("#exits-dialog .primary").click()
    await row(/62,000\.0 \/ –/u)
    // the take profit triggers by another price from now on
    await page.getByRole("button", { name: /^Take profit and stop loss/u }).click()
    await holds(page, "#position-exits-by", /^MarkPrice$/u)
    await page.locator("#position-exits-by").selectOption("LastPrice")
    await page.locator("#exits-dialog .primary").click()
    await page.locator("#tab-Orders").click()
    await order(/Take profit.*last ≥ 62,000\.0/u)
    await page.locator("#tab-Positions").click()
    await page.getByRole("button", { name: "Close the position in BTC-USDC" }).click()
    await page.getByRole("button", { name: "50 %" }).click()
    await shows(page, "#close .preview", /Closes\s*0\.100/u)
    await checkState(page, "closing-a-part")
    await page.locator("#close .primary").click()
    await row(/Long 0\.100/u)
    await page.getByRole("button", { name: "Reverse the position in BTC-USDC" }).click()
    await shows(page, "#reverse", /sells 0\.200: it closes the long of 0\.100/u)
    await checkState(page, "reversing")
    await page.locator("#reverse .primary").click()
    await row(/Short 0\.100/u)

    // the histories: an order per row, closed PnL, one deposit
    await page.locator("#tab-History").click()
    await shows(page, "#panel-History tbody tr", /Stop loss.*Canceled/u)
    await checkState(page, "order-history")
    await page.locator("#tab-Closed").click()
    await shows(page, "#panel-Closed tbody tr", /Long 0\.100/u)
    await page.locator("#tab-Money").click()
    await page.locator("#money-type").selectOption("deposit")
    await shows(page, "#panel-Money tbody tr:only-child", /Deposit.*\+10,000\.0000/u)

    await checkState(page, "transactions")

    // a size of one market means nothing in another
    await page.getByRole("button", { name: /^ETH-USDC/u }).click()
    await page.waitForFunction(() => (document.querySelector("#qty") as HTMLInputElement).value === "", undefined, SLOW)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("warns before a liquidation and reports it with price, PnL, fee and canceled orders", async () => {
    const { faults, page } = await exchange.open()
    await fund(page)
    await setMargin(page, "Isolated", "50")

    // an order that takes four levels has one notice
    await page.locator("#kind-Market").check()
    await page.locator("#qty").fill("0.5")
    const bought = shows(page, "#toasts .toast.good", /^Bought 0\.500 BTC-USDC at 60,0\d\d\.\d/u)
    await page.locator(".submit").click()
    await bought
    assert.strictEqual(await page.locator("#toasts .toast", { hasText: "Bought" }).count(), 1)
    await shows(page, "#panel-Positions tbody tr", /Isolated 50×.*Long 0\.500/u)
    await page.locator("#kind-Limit").check()
    await page.locator("#price").fill("58000")
    await page.locator("#qty").fill("0.01")
    await page.locator(".submit").click()
    await shows(page, count("Orders"), /^1$/u)

    const cells = page.locator("#panel-Positions tbody tr td")
    const priceIn = async (head: string): Promise<number> =>
      Number((await cells.and(page.locator(`[data-head="${head}"]`)).innerText()).replaceAll(",", ""))
    const [entry, end] = [await priceIn("Entry"), await priceIn("Liquidation")]
    const part = (share: number): number => Math.round(entry - (entry - end) * share)
    for (const [share, tone, percent] of [
      [0.85, "warn", "8\\d"],
      [0.97, "bad", "9[5-9]"]
    ] as const) {
      await exchange.moveMark(part(share))
      const text = `^Your long of 0\\.500 BTC-USDC is ${percent} % of the way to its liquidation at 59,4\\d\\d\\.\\d: the mark is 59,\\d{3}\\.\\d`
      await shows(page, `#toasts .toast.${tone}`, new RegExp(text, "u"))
    }
    assert.strictEqual(await page.locator("#toasts .toast", { hasText: "of the way" }).count(), 1)

    await exchange.moveMark(part(1.2))
    await shows(
      page,
      "#toasts .toast.bad",
      /^Liquidated: your long of 0\.500 BTC-USDC at 59,\d{3}\.\d, PnL -\d+\.\d\d, fee \d+\.\d\d, (?:.*taken over by the insurance pool, )?1 open order canceled×?$/u
    )
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    await page.locator("#toasts .toast", { hasText: "of the way" }).waitFor({ ...SLOW, state: "detached" })
    // the notice lies over no control, and stays until it is closed
    const covered = await page.evaluate(() => {
      const notices = [...document.querySelectorAll(".toast")].map((each) => each.getBoundingClientRect())
      const controls = [...document.querySelectorAll("button, input, select, a, summary, [tabindex]")]
      return controls
        .filter((each) => each.closest(".toast") === null && each.checkVisibility())
        .filter((each) => {
          const box = each.getBoundingClientRect()
          return notices.some(
            (notice) =>
              box.width > 1 &&
              notice.left < box.right &&
              notice.right > box.left &&
              notice.top < box.bottom &&
              notice.bottom > box.top
          )
        })
        .map((each) => each.outerHTML.slice(0, 80))
    })
    assert.deepStrictEqual(covered, [])
    await checkState(page, "liquidation")
    await page.locator(".toast.bad", { hasText: "Liquidated" }).getByRole("button", { name: "Dismiss" }).click()
    await page.locator("#toasts .toast", { hasText: "Liquidated" }).waitFor({ ...SLOW, state: "detached" })
    await page.locator("#tab-History").click()
    await shows(page, "#panel-History tbody tr", /Liquidation/u)
    await exchange.holdIndex("60000")
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("has shortcuts, and its market and interval in its address", async () => {
    const { faults, page, watching } = await exchange.open()
    // a reload aborts the candle request that is under way
    watching.outage = true
    await shows(page, best("bid"), /\d/u)
    const address = (query: string) => page.waitForURL(`${exchange.url}/${query}`, SLOW)
    await address("?market=BTC-USDC&interval=1")
    for (const key of ["]", "]", ">"]) await page.keyboard.press(key)
    await address("?market=DOGE-USDC&interval=15")
    await page.reload(SLOW)
    await page.locator('.market[aria-pressed="true"]', { hasText: "DOGE-USDC" }).waitFor(SLOW)
    await page.locator('.choice[aria-pressed="true"]', { hasText: "15 m" }).waitFor(SLOW)
    await page.keyboard.press("<")
    await address("?market=BTC-USDC&interval=15")
    // the key that moves to a field is not entered in it, and fields have no shortcuts
    await page.keyboard.press("s")
    await page.keyboard.type("0.1")
    assert.isTrue(await page.locator("#side-Sell").isChecked())
    await page.keyboard.press("b")
    assert.strictEqual(await page.locator("#qty").inputValue(), "0.1b")
    await page.locator("#qty").blur()
    await page.keyboard.press("?")
    await shows(page, "#shortcuts", /Previous, next market\s*<>/u)
    await checkState(page, "shortcuts")
    await page.locator("#shortcuts-on").uncheck()
    await page.keyboard.press("Escape")
    await page.keyboard.press("b")
    assert.isTrue(await page.locator("#side-Sell").isChecked())
    // a new tab starts where the last one was
    await page.goto(exchange.url, SLOW)
    await address("?market=BTC-USDC&interval=15")
    // an address of a market that does not exist shows the first one
    await page.goto(`${exchange.url}/?market=NONE-USDC&interval=7`, SLOW)
    await address("?market=BTC-USDC&interval=1")
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("fits a phone in both themes, without layout shift or horizontal scrolling", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await exchange.browser.newContext({
        viewport: { width: 390, height: 844 },
        colorScheme,
        isMobile: true,
        hasTouch: true
      })
      const page = await context.newPage()
      await page.goto(exchange.url, SLOW)
      await shows(page, best("bid"), /\d/u)
      assert.strictEqual(await page.locator("html").getAttribute("data-theme"), colorScheme)
      await checkState(page, `a-phone-${colorScheme}`)
      const [wide, shift] = await page.evaluate(async () => {
        const entries = await new Promise<ReadonlyArray<PerformanceEntry>>((resolve) => {
          new PerformanceObserver((list) => resolve(list.getEntries())).observe({
            type: "layout-shift",
            buffered: true
          })
          setTimeout(() => resolve([]), 500)
        })
        const sum = entries.reduce((total, entry) => total + (entry as PerformanceEntry & { value: number }).value, 0)
        return [document.documentElement.scrollWidth, sum] as const
      })
      assert.isAtMost(wide, 390)
      // order entry opens at the bottom of the screen, and closes again
      await page.getByRole("button", { name: "Sell", exact: true }).click(SLOW)
      await page.locator("#order.open").waitFor(SLOW)
      assert.isTrue(await page.locator("#side-Sell").isChecked())
      const submit = (await page.locator(".submit").boundingBox())!
      assert.isAtLeast(submit.y, 422, "in the upper half")
      assert.isAtMost(submit.y + submit.height, 844, "below the screen")
      await checkState(page, `order-entry-on-a-phone-${colorScheme}`)
      await page.locator(".close-order").click(SLOW)
      await page.locator("#order").waitFor({ ...SLOW, state: "hidden" })
      // a tap on a level opens it with its price
      await page.locator(best("bid")).tap(SLOW)
      await page.locator("#order.open").waitFor(SLOW)
      await holds(page, "#price", /./u)
      await page.locator(".close-order").click(SLOW)
      // 0.1 is the threshold of a good CLS score
      assert.isBelow(shift, 0.1)
      await context.close()
    }
  })

  journeys(() => exchange)

  if (process.env["UPDATE"] !== undefined)
    it("takes pictures for the docs", { timeout: 900_000 }, () => takePictures(exchange.browser))
})
