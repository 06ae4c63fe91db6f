/** Clients without the project's code follow an order book with its checksum, and an order: Node's WebSocket, Python, a browser. */
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { hasChromium, launch } from "../../verification/harness/Chromium.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, cancel, create, funded, type Session } from "../../verification/harness/RestClient.ts"
import type { Frame } from "../../verification/harness/Socket.ts"

const examples = join(import.meta.dirname, "../../examples")
const python = process.env["PYTHON"] ?? "/usr/bin/python3"
const hasPython = spawnSync(python, ["-c", "import websockets"]).status === 0
const SYMBOL = "BTC-USDC"

/** Follows the order of a reference; calls back when both topics are subscribed. */
type Follow = (exchange: Exchange, token: string, link: string, onReady: () => void) => Promise<Frame>

/** A program that prints `ready`, and finally its result. */
const program =
  (command: string, file: string): Follow =>
  (exchange, token, link, onReady) =>
    new Promise((resolve, reject) => {
      const args = [join(examples, file), exchange.wsUrl, token, SYMBOL, link]
      const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] })
      const said: Array<string> = []
      let errors = ""
      child.stderr.on("data", (data) => (errors += data))
      createInterface({ input: child.stdout }).on("line", (line) => (line === "ready" ? onReady() : said.push(line)))
      child.once("error", reject)
      child.once("close", (code) =>
        code === 0 ? resolve(JSON.parse(said[0]!)) : reject(new Error(`${file} ended with ${code}: ${errors}`))
      )
    })

const inChromium: Follow = async (exchange, token, link, onReady) => {
  const browser = await launch()
  try {
    const page = await browser.newPage()
    await page.exposeFunction("onReady", onReady)
    const source = readFileSync(join(examples, "follow.mjs"), "utf8")
    const module = `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`
    // as text: the page runs no code of this project
    const args = [exchange.wsUrl, token, SYMBOL, link].map((each) => JSON.stringify(each)).join(", ")
    return await page.evaluate(`import(${JSON.stringify(module)}).then((m) => m.follow(${args}, () => onReady()))`)
  } finally {
    await browser.close()
  }
}

describe("an independent client", () => {
  let exchange: Exchange
  let user: Session
  beforeAll(async () => {
    exchange = await startExchange()
    user = await funded(exchange)
  })
  afterAll(() => exchange?.close())

  const follows = async (name: string, follow: Follow) => {
    const place = async (link: string, fields: object) => {
      const { body, status } = await create(exchange, user, `${name}-${link}`, fields)
      assert.strictEqual(status, 200, JSON.stringify(body))
    }
    await place("before", { price: "59000" })
    const seen = await new Promise<Frame>((resolve, reject) => {
      const trade = async () => {
        await place("mine", { price: "59500.5" })
        for (let i = 0; i < 5; i++) await place(`more-${i}`, { price: `5${8 - i}900.1` })
        await cancel(exchange, user, `${name}-more-0`)
        await place("less", { price: "61000", side: "Sell", qty: "0.002" })
        await cancel(exchange, user, `${name}-mine`)
      }
      follow(exchange, user.token, `${name}-mine`, () => void trade().catch(reject)).then(resolve, reject)
    })
    assert.deepStrictEqual(seen.statuses, ["New", "CancelRequested", "Canceled"])
    const { body } = await call(exchange, "GET", `/api/v1/market/orderbook?symbol=${SYMBOL}&depth=50`)
    assert.deepStrictEqual([seen.bids, seen.asks, seen.seq], [body.bids, body.asks, body.seq])
    assert.isAbove(seen.messages, 1)
    assert.strictEqual(seen.faults, 0)
  }
  const LONG = { timeout: 60_000 }

  it("in Node, with its own WebSocket", LONG, () => follows("node", program(process.execPath, "follow.mjs")))
  it.skipIf(!hasPython)("in Python", LONG, () => follows("python", program(python, "follow.py")))
  it.skipIf(!hasChromium)("in a browser", LONG, () => follows("browser", inChromium))
})
