/** Journeys of a trader through the market page: each from a new browser profile to an outcome. */
import { execFile } from "node:child_process"
import { chmodSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Page } from "playwright-core"
import { assert, it } from "vitest"
import * as Wallet from "../../src/client/Wallet.ts"
import { programOf } from "../../verification/harness/NodeProcess.ts"
import { temporaryFolder } from "../../verification/harness/Programs.ts"
import { eventually, until } from "../../verification/harness/Wait.ts"
import { best, count, fund, type PageExchange, setMargin, shows, SLOW } from "./PageExchange.ts"
import { checkState } from "./PageState.ts"

/** Presses of Tab to reach any control of the page. */
const TABS_MAX = 120
/** Requests that exceed the limit of a session. */
const REQUESTS_MAX = 60

const run = promisify(execFile)

const marketOrder = async (page: Page, side: "Buy" | "Sell", qty: string): Promise<void> => {
  await page.locator("#kind-Market").check(SLOW)
  await page.locator(`#side-${side}`).check(SLOW)
  await page.locator("#qty").fill(qty, SLOW)
  // a book that has just been taken is quoted again within a second
  await shows(page, ".preview", /Fills at\s*[\d,]+\.\d, slippage/u)
  await page.locator(".submit").click(SLOW)
}

const limitOrder = async (page: Page, price: string): Promise<void> => {
  await page.locator("#price").fill(price, SLOW)
  await page.locator("#qty").fill("0.02", SLOW)
  await page.locator(".submit").click(SLOW)
  await page.locator(`.order-labels [data-price="${price}"]`).waitFor({ ...SLOW, state: "attached" })
}

/** Moves the focus with Tab to the element; each stop on the way shows its focus. */
const tabTo = async (page: Page, selector: string): Promise<void> => {
  for (let i = 0; i < TABS_MAX; i++) {
    await page.keyboard.press("Tab")
    const [isThere, isShown, html] = await page.evaluate((wanted) => {
      const focused = document.activeElement!
      // the input of a choice is invisible: the text beside it shows the focus
      const marks = [focused, focused.nextElementSibling, focused.parentElement].filter((each) => each !== null)
      const isMarked = marks.some((each) => {
        const { boxShadow, outlineStyle } = getComputedStyle(each)
        return outlineStyle !== "none" || boxShadow !== "none"
      })
      return [focused.matches(wanted), isMarked || focused === document.body, focused.outerHTML.slice(0, 100)] as const
    }, selector)
    assert.isTrue(isShown, `the focus is not visible: ${html}`)
    if (isThere) return
  }
  assert.fail(`Tab does not reach ${selector}`)
}

/** Registers the journeys. */
export const journeys = (exchange: () => PageExchange): void => {
  it("closes a position in a thin book, in parts", async () => {
    const { faults, page } = await exchange().open()
    await fund(page)
    await setMargin(page, "Cross", "50")
    for (const size of [/Long 3\.000/u, /Long 6\.000/u]) {
      await marketOrder(page, "Buy", "3")
      await shows(page, "#panel-Positions tbody tr", size)
    }
    await page.getByRole("button", { name: "Close the position in BTC-USDC" }).click(SLOW)
    await shows(page, "#close .preview", /Closes\s*only 4\.\d{3} of 6\.000.*Remains\s*1\.\d{3}/u)
    await shows(
      page,
      "#close .hint",
      /^A market order sells at most 4\.\d{3} now: the book has no more bids within the price band\. The rest stays open\.$/u
    )
    await checkState(page, "thin-book-before")
    const notice = shows(
      page,
      "#toasts .toast.warn",
      /^Closed 4\.\d{3} of 6\.000 BTC-USDC at 59,[89]\d\d\.\d, PnL -[\d,]+\.\d\d; 1\.\d{3} was not closed: the book had no more bids within the price band\. Your long of 1\.\d{3} remains open/u
    )
    await page.locator("#close .primary").click(SLOW)
    await notice
    await checkState(page, "thin-book-after")
    await shows(page, "#panel-Positions tbody tr", /Long 1\.\d{3}/u)
    await page.locator("#close").waitFor({ ...SLOW, state: "hidden" })
    // the maker quotes again
    await shows(page, best("bid"), /\d/u)
    await page.getByRole("button", { name: "Close the position in BTC-USDC" }).click(SLOW)
    await shows(page, "#close .preview", /Remains\s*nothing/u)
    await page.locator("#close .primary").click(SLOW)
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("closes a share of the position as it is, though it changes while the dialog is open", async () => {
    const { faults, page } = await exchange().open()
    const context = page.context()
    await fund(page)
    await marketOrder(page, "Buy", "0.1")
    await page.getByRole("button", { name: "Close the position in BTC-USDC" }).click(SLOW)
    await page.locator("#close .steps").getByText("50 %").click(SLOW)
    await shows(page, "#close .preview", /Closes\s*0\.050.*Remains\s*0\.050/u)
    const second = await exchange().openIn(context)
    await marketOrder(second.page, "Sell", "0.06")
    await shows(page, "#close .preview", /Closes\s*0\.020.*Remains\s*0\.020/u)
    await page.locator("#close-kind-Limit").click(SLOW)
    // more decimal places than a price can have
    await page.locator("#close-price").fill("1.1234567890123456789", SLOW)
    await shows(page, "#close .preview", /At about\s*–/u)
    await page.locator("#close-kind-Market").click(SLOW)
    await second.page.bringToFront()
    await marketOrder(second.page, "Sell", "0.04")
    await shows(second.page, "#panel-Positions .empty", /No open positions/u)
    await page.bringToFront()
    await shows(page, "#close .preview", /Closes\s*0\.000.*Remains\s*nothing/u)
    await page.locator("#close .primary").click(SLOW)
    await shows(page, "#close-error", /^The position is closed already\.$/u)
    assert.deepStrictEqual([...faults, ...second.faults], [])
    await context.close()
  })

  it("repeats every request that its API key was refused for, when the token takes over", async () => {
    const { faults, page, watching } = await exchange().open()
    await fund(page)
    for (const price of ["58000", "58500"]) await limitOrder(page, price)
    await page.locator("#tab-Orders").click(SLOW)
    watching.outage = true
    const refused: Array<() => Promise<void>> = []
    const body = { code: "UNAUTHORIZED", message: "no", details: { reason: "InvalidApiKey" } }
    await page.route("**/api/v1/order/cancel", (route) => {
      if (route.request().headers()["x-api-key"] === undefined) return route.continue()
      refused.push(() => route.fulfill({ status: 401, json: body }))
      return undefined
    })
    const cancels = page.getByRole("button", { name: "Cancel the order of" })
    for (const i of [0, 1]) await cancels.nth(i).click(SLOW)
    await until("both cancels are sent", () => refused.length === 2)
    await Promise.all(refused.map((refuse) => refuse()))
    await shows(page, "#panel-Orders .empty", /No open orders/u)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("places an order once, though the response to it is lost", async () => {
    const { faults, page, watching } = await exchange().open()
    await fund(page)
    watching.outage = true
    await page.route(
      "**/api/v1/order/create",
      async (route) => {
        await route.fetch()
        await route.abort("connectionreset")
      },
      { times: 1 }
    )
    await page.locator("#price").fill("59000", SLOW)
    await page.locator("#qty").fill("0.01", SLOW)
    await page.locator(".submit").click(SLOW)
    await shows(page, "#toasts .toast.bad", /the gateway does not answer/u)
    await shows(page, count("Orders"), /^1$/u)
    await page.locator(".submit").click(SLOW)
    await shows(page, "#toasts .toast.plain", /has this order already/u)
    assert.strictEqual(await page.locator(count("Orders")).innerText(), "1")
    // the outcome is known: the next click is another order
    await page.locator(".submit").click(SLOW)
    await shows(page, count("Orders"), /^2$/u)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("does not reverse a position that was closed while its dialog is open", async () => {
    const { faults, page } = await exchange().open()
    await fund(page)
    await marketOrder(page, "Buy", "0.1")
    await shows(page, "#panel-Positions tbody tr", /Long 0\.100/u)
    await page.getByRole("button", { name: "Reverse the position in BTC-USDC" }).click(SLOW)
    await shows(page, "#reverse", /sells 0\.200: it closes the long of 0\.100/u)
    const context = page.context()
    const second = await exchange().openIn(context)
    const other = second.page
    await other.getByRole("button", { name: "Close the position in BTC-USDC" }).click(SLOW)
    await other.locator("#close .primary").click(SLOW)
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    await page.locator("#reverse .primary").click(SLOW)
    await shows(page, "#reverse-error", /^The position is not the one that is shown any more\./u)
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    assert.deepStrictEqual([...faults, ...second.faults], [])
    await context.close()
  })

  it("keeps an edit while an order above it ends", async () => {
    const { faults, page } = await exchange().open()
    const context = page.context()
    await fund(page)
    for (const price of ["58000", "58500"]) await limitOrder(page, price)
    await page.locator("#tab-Orders").click(SLOW)
    await page.getByRole("button", { name: "Price: 58,000.0. Change" }).click(SLOW)
    const second = await exchange().openIn(context)
    await second.page.locator("#tab-Orders").click(SLOW)
    await second.page.getByRole("button", { name: "Cancel the order of" }).first().click(SLOW)
    await shows(page, count("Orders"), /^1$/u)
    await page.bringToFront()
    await page.keyboard.type("57000")
    await page.keyboard.press("Enter")
    await shows(page, "#panel-Orders tbody tr", /57,000\.0/u)
    assert.deepStrictEqual([...faults, ...second.faults], [])
    await context.close()
  })

  it("reports a request whose dialog was closed, and does not send it again before", async () => {
    const { faults, page, watching } = await exchange().open()
    await fund(page)
    await marketOrder(page, "Buy", "0.1")
    await shows(page, "#panel-Positions tbody tr", /Long 0\.100/u)
    watching.outage = true
    const ids: Array<string> = []
    let answer = (): void => {}
    await page.route("**/api/v1/order/create", async (route) => {
      ids.push((route.request().postDataJSON() as { readonly order_link_id: string }).order_link_id)
      await new Promise<void>((resolve) => (answer = resolve))
      // the first attempt is lost, and so is the answer to it
      if (ids.length === 1) await route.abort("connectionreset")
      else await route.continue()
    })
    const open = page.getByRole("button", { name: "Close the position in BTC-USDC" })
    const confirm = page.locator("#close .primary")
    await open.click(SLOW)
    await confirm.click(SLOW)
    await until("the close is sent", () => ids.length === 1)
    await page.keyboard.press("Escape")
    await open.click(SLOW)
    await confirm.click(SLOW)
    answer()
    await shows(page, "#toasts .toast.bad", /the gateway does not answer/u)
    // the dialog that is open now has sent nothing
    assert.isTrue(await page.locator("#close").isVisible())
    assert.strictEqual(await page.locator("#close-error").innerText(), "")
    await confirm.click(SLOW)
    await until("the close is sent again", () => ids.length === 2)
    await page.keyboard.press("Escape")
    await page.locator("#margin-settings").click(SLOW)
    answer()
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    assert.strictEqual(ids[0], ids[1])
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("closes a new position under an id of its own, though the response to the last close was lost", async () => {
    const { faults, page, watching } = await exchange().open()
    await fund(page)
    watching.outage = true
    const open = page.getByRole("button", { name: "Close the position in BTC-USDC" })
    await marketOrder(page, "Buy", "0.1")
    await open.click(SLOW)
    await page.route(
      "**/api/v1/order/create",
      async (route) => {
        await route.fetch()
        await route.abort("connectionreset")
      },
      { times: 1 }
    )
    await page.locator("#close .primary").click(SLOW)
    await shows(page, "#close-error", /the gateway does not answer/u)
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    await page.keyboard.press("Escape")
    await marketOrder(page, "Buy", "0.2")
    await open.click(SLOW)
    await page.locator("#close .primary").click(SLOW)
    await page.locator("#close").waitFor({ ...SLOW, state: "hidden" })
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("keeps a leverage for its market, though the response arrives in another one", async () => {
    const { faults, page } = await exchange().open()
    await fund(page)
    const choose = async (symbol: string): Promise<void> => {
      await page.getByRole("button", { name: new RegExp(`^${symbol}`, "u") }).click(SLOW)
      await shows(page, "#only-here + span", new RegExp(symbol, "u"))
      await shows(page, "#margin-settings", /×/u)
    }
    await choose("ETH-USDC")
    const before = await page.locator("#margin-settings").innerText()
    await choose("BTC-USDC")
    let respond = (): void => {}
    await page.route("**/api/v1/position/set-leverage", async (route) => {
      await new Promise<void>((resolve) => (respond = resolve))
      await route.continue()
    })
    await page.locator("#margin-settings").click(SLOW)
    await page.locator("#leverage").fill("37")
    const sent = page.waitForRequest("**/api/v1/position/set-leverage", SLOW)
    await page.locator("#margin .primary").click(SLOW)
    await sent
    await page.keyboard.press("Escape")
    await choose("ETH-USDC")
    respond()
    await shows(page, "#toasts .toast.good", /^BTC-USDC: Cross margin, leverage 37×/u)
    assert.strictEqual(await page.locator("#margin-settings").innerText(), before)
    await choose("BTC-USDC")
    await shows(page, "#margin-settings", /Cross · 37×/u)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("reports what is throttled and until when, and still cancels", async () => {
    // a browser that cannot keep an API key trades with its session, whose limit is lower
    const withoutKeys = (): void => {
      const generateKey = () => Promise.reject(new DOMException("no such keys", "NotSupportedError"))
      Object.assign(crypto.subtle, { generateKey })
    }
    const { faults, page, watching } = await exchange().open({}, withoutKeys)
    await fund(page)
    await page.locator("#price").fill("59000", SLOW)
    await page.locator("#qty").fill("0.01", SLOW)
    await page.locator(".submit").click(SLOW)
    await shows(page, count("Orders"), /^1$/u)
    watching.outage = true
    const throttled = page.locator("#toasts .toast.warn", { hasText: "Throttled" })
    for (let i = 0; i < REQUESTS_MAX && !(await throttled.isVisible()); i++)
      await page.locator(i % 2 === 0 ? "#tab-History" : "#tab-Closed").click(SLOW)
    await throttled
      .filter({
        hasText:
          /^Throttled: one session may make 30 requests a minute\. The request changed nothing\. The next one is accepted at \d\d:\d\d:\d\d, in \d+ s\. Cancels have a limit of their own\.×$/u
      })
      .waitFor(SLOW)
    // requests go on: the notice changes, whatever the trader does meanwhile
    const accepted = page
      .locator("#toasts .toast.good", { hasText: "Requests are accepted again." })
      .waitFor({ timeout: 120_000 })
    await checkState(page, "throttled")
    await page.locator("#tab-Orders").click(SLOW)
    await page.getByRole("button", { name: "Cancel the order of" }).click(SLOW)
    await shows(page, "#panel-Orders .empty", /No open orders/u)
    await accepted
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("shows the same account in two tabs, with one sound and one notification", async () => {
    // what a tab plays and shows outside of it
    const recorded = (): void => {
      const alerts = { tones: 0, texts: {} as Record<string, string> }
      Object.assign(globalThis, { alerts })
      const { start } = OscillatorNode.prototype
      OscillatorNode.prototype.start = function (...when) {
        alerts.tones++
        start.apply(this, when)
      }
      Object.assign(globalThis, {
        Notification: class extends EventTarget {
          static readonly permission = "granted"
          constructor(text: string, { tag }: { readonly tag: string }) {
            super()
            // a notification replaces the one with the same tag
            alerts.texts[tag] = text
          }
        }
      })
    }
    const first = await exchange().open({ permissions: ["notifications"] }, recorded)
    const { page } = first
    const context = page.context()
    await fund(page)
    await page.locator(".menu summary").click(SLOW)
    for (const name of ["sounds", "notifications"]) {
      assert.isFalse(await page.locator(`#${name}`).isChecked(), `${name} are off at first`)
      await page.locator(`#${name}`).check(SLOW)
    }
    await checkState(page, "alerts")
    await page.keyboard.press("Escape")
    const second = await exchange().openIn(context)
    const other = second.page
    await shows(other, ".money", /Equity\s*10,000\.00/u)
    /** Waits until a tab has played this many tones, and returns its notifications. */
    const played = async (tab: Page, tones: number): Promise<ReadonlyArray<string>> => {
      const alerts = () =>
        tab.evaluate(
          () => (globalThis as unknown as { alerts: { tones: number; texts: Record<string, string> } }).alerts
        )
      await eventually("sounds", alerts, (now) => now.tones === tones, SLOW.timeout)
      return Object.values((await alerts()).texts)
    }
    // the sample of the switch
    await played(page, 2)
    await other.evaluate(() => Object.defineProperty(document, "hidden", { value: true }))

    await marketOrder(page, "Buy", "0.1")
    for (const tab of [page, other]) {
      await shows(tab, "#toasts .toast.good", /^Bought 0\.100 BTC-USDC at 60,0\d\d\.\d/u)
      await shows(tab, "#panel-Positions tbody tr", /Long 0\.100/u)
    }
    assert.deepStrictEqual(await played(page, 4), [])
    const texts = await played(other, 0)
    assert.strictEqual(texts.length, 1)
    assert.match(texts[0]!, /^Bought 0\.100 BTC-USDC/u)
    await checkState(other, "two-tabs")

    // an order of one tab is canceled in the other
    await page.locator("#kind-Limit").check(SLOW)
    await page.locator("#price").fill("59000")
    await page.locator(".submit").click(SLOW)
    await shows(other, count("Orders"), /^1$/u)
    for (const tab of [page, other]) await tab.locator("#tab-Orders").click(SLOW)
    // a price that the other tab has changed is not overwritten by one that was begun before
    const edit = (tab: Page) => tab.getByRole("button", { name: "Price: 59,000.0. Change" }).click(SLOW)
    await edit(page)
    await page.keyboard.type("59100")
    await edit(other)
    await other.keyboard.type("58900")
    await other.keyboard.press("Enter")
    await shows(other, "#panel-Orders tbody tr", /58,900\.0/u)
    // the first tab has received it
    await page.locator('.order-labels .draggable[data-price="58900"]').waitFor({ ...SLOW, state: "attached" })
    await page.locator("#panel-Orders input.edit").press("Enter", SLOW)
    await shows(page, "#toasts", /changed from 59000 to 58900/u)
    await shows(page, "#panel-Orders tbody tr", /58,900\.0/u)
    await other.getByRole("button", { name: "Cancel the order of" }).click(SLOW)
    await page.locator(count("Orders")).waitFor({ ...SLOW, state: "hidden" })
    assert.deepStrictEqual([...first.faults, ...second.faults], [])
    await context.close()
  })

  it("exports its key to the command line, and uses a key of the command line", async () => {
    const home = temporaryFolder("page-cli")
    const { faults, page } = await exchange().open()
    const gateway = async (...words: ReadonlyArray<string>): Promise<string> => {
      const env = { ...process.env, GATEWAY_HOME: home.path, GATEWAY_URL: exchange().url, NO_COLOR: "1" }
      return (await run(process.execPath, [programOf("src/cli/main.ts"), ...words], { env })).stdout
    }
    try {
      await fund(page)
      const openWallet = async (): Promise<void> => {
        await page.locator(".menu summary").click(SLOW)
        await page.locator("#open-wallet").click(SLOW)
      }
      const exported = async (name: string): Promise<string> => {
        const download = page.waitForEvent("download", SLOW)
        await page.getByRole("button", { name: "Save for the command line" }).click(SLOW)
        const path = join(home.path, name)
        await (await download).saveAs(path)
        chmodSync(path, 0o600)
        return path
      }
      // page → command line: its order is in the page at once
      await openWallet()
      const file = await exported("of-the-page.json")
      await page.keyboard.press("Escape")
      const said = await gateway("order", "create", "BTC-USDC", "buy", "0.01", "--key", file)
      assert.match(said, /Bought 0\.01/u)
      await shows(page, "#panel-Positions tbody tr", /Long 0\.010/u)
      await shows(page, "#toasts", /Bought 0\.010 BTC-USDC/u)
      await checkState(page, "key-in-the-command-line")

      // command line → page: the account of a bot
      await gateway("keys", "new", "--key", "bot")
      await gateway("faucet", "5000", "--key", "bot")
      await gateway("order", "create", "BTC-USDC", "sell", "0.02", "--key", "bot")
      const bot = join(home.path, "keys", "bot.json")
      const { seed } = JSON.parse(readFileSync(bot, "utf8")) as { seed: string }
      await openWallet()
      await page.locator("#key-file").setInputFiles(bot)
      await page.getByRole("button", { name: "Use this key" }).click(SLOW)
      await shows(page, "#wallet .outcome", /^Signed in with the key of the file$/u)
      assert.strictEqual(await page.locator("#wallet code").innerText(), Wallet.fromSeed(seed).public_key)
      // … and back: the saved file is the one of the command line
      assert.deepStrictEqual(JSON.parse(readFileSync(await exported("back.json"), "utf8")), { seed })
      await checkState(page, "wallet-of-the-command-line")
      await page.keyboard.press("Escape")
      await shows(page, "#panel-Positions tbody tr", /Short 0\.020/u)
      await checkState(page, "key-of-the-command-line")
      assert.deepStrictEqual(faults, [])
    } finally {
      home.remove()
      await page.close()
    }
  })

  it("trades with the keyboard alone, from load to a filled and a closed order", async () => {
    const { faults, page } = await exchange().open()
    await shows(page, best("bid"), /\d/u)
    await tabTo(page, "#sign-in")
    await page.keyboard.press("Enter")
    await page.locator(".menu").waitFor(SLOW)
    await tabTo(page, "#faucet")
    await page.keyboard.press("Enter")
    await shows(page, ".money", /Equity\s*10,000\.00/u)
    // by shortcuts: a market order, to buy; the focus is in its size
    await page.keyboard.press("m")
    await page.keyboard.press("b")
    await page.keyboard.type("0.1")
    await shows(page, ".preview", /Fills at\s*60,0\d\d\.\d, slippage/u)
    await checkState(page, "keyboard-order")
    const bought = shows(page, "#toasts", /Bought 0\.100 BTC-USDC/u)
    await page.keyboard.press("Enter")
    await bought
    await shows(page, "#panel-Positions tbody tr", /Long 0\.100/u)
    // without shortcuts: the row's button, then the dialog's
    await tabTo(page, '[aria-label="Close the position in BTC-USDC"]')
    await page.keyboard.press("Enter")
    await page.locator("#close").waitFor(SLOW)
    await page.keyboard.press("Enter")
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    await checkState(page, "keyboard-closed")
    assert.deepStrictEqual(faults, [])
    await page.close()
  })

  it("trades on a phone by touch", async () => {
    const { faults, page } = await exchange().open({
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      colorScheme: "dark"
    })
    await page.locator("#sign-in").tap(SLOW)
    await page.locator("#faucet").tap(SLOW)
    await page.getByRole("button", { name: "Buy", exact: true }).tap(SLOW)
    await page.locator('label[data-value="Market"]').first().tap(SLOW)
    await page.locator("#qty").fill("0.1", SLOW)
    await shows(page, ".preview", /Fills at\s*60,0\d\d\.\d, slippage/u)
    await checkState(page, "phone-order")
    /** Waits until a notice with the text is in sight: above the sheet, or above the buttons at the bottom. */
    const isAbove = (text: string, selector: string) =>
      page.waitForFunction(
        ([wanted, lower]) => {
          const notice = [...document.querySelectorAll(".toast")].find(({ textContent }) =>
            textContent.includes(wanted)
          )
          const [box, below] = [notice?.getBoundingClientRect(), document.querySelector(lower)?.getBoundingClientRect()]
          return box !== undefined && below !== undefined && box.height > 0 && box.top >= 0 && box.bottom <= below.top
        },
        [text, selector] as const,
        SLOW
      )
    const bought = isAbove("Bought 0.100 BTC-USDC", "#order.open")
    await page.locator(".submit").tap(SLOW)
    await bought
    await checkState(page, "phone-notice")
    await page.locator(".close-order").tap(SLOW)
    const position = page.locator("#panel-Positions tbody tr", { hasText: "Long 0.100" })
    await position.scrollIntoViewIfNeeded(SLOW)
    await checkState(page, "phone-position")
    await page.getByRole("button", { name: "Close the position in BTC-USDC" }).tap(SLOW)
    const closed = isAbove("Closed 0.100 BTC-USDC", ".thumb")
    await page.locator("#close .primary").tap(SLOW)
    await closed
    await shows(page, "#panel-Positions .empty", /No open positions/u)
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    assert.deepStrictEqual(faults, [])
    await page.close()
  })
}
