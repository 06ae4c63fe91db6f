/** `gateway mcp`, used by the client of the Model Context Protocol. */
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Wallet from "../../src/client/Wallet.ts"
import { staySignedIn } from "../../src/cli/commands/McpCommand.ts"
import { parse } from "../../src/domain/Decimal.ts"
import { connect, type Exchange as Sdk, keyOf, newSeed } from "../../src/sdk/index.ts"
import { exceeded, exposureOf } from "../../src/cli/mcp/TradingLimits.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { programOf } from "../../verification/harness/NodeProcess.ts"

const PROGRAM = programOf("src/cli/main.ts")
const SYMBOL = "BTC-USDC"

/** Fields of results and failures that the tests read. */
interface Output {
  readonly symbol: string
  readonly order_id: string
  readonly code: string
  readonly message: string
  readonly details: { readonly reason: string }
}

describe("gateway mcp", { timeout: 120_000 }, () => {
  let exchange: Exchange
  let home: string
  let owner: Sdk
  let price: string
  const seed = newSeed()
  const opened: Array<McpClient> = []
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "gateway-mcp-"))
    exchange = await startExchange()
    owner = await connect({ url: exchange.url, wallet: newSeed() })
    const { sub_account_address } = (await owner.user.subAccounts()).list[0]!
    await owner.account.faucet({ sub_account_address, asset: "USDC", amount: "1000" })
    const { public_key } = await keyOf(seed)
    await owner.user.createApiKey({ public_key, label: "mcp", scopes: ["read", "trade"] })
    const { index_price } = (await owner.market.tickers({ symbol: SYMBOL })).list[0]!
    price = String(Math.floor(Number(index_price) * 0.99))
  }, 60_000)
  afterAll(async () => {
    await Promise.all(opened.map((client) => client.close()))
    owner?.close()
    await exchange?.close()
    rmSync(home, { recursive: true, force: true })
  })

  const start = async (...args: ReadonlyArray<string>) => {
    const client = new McpClient({ name: "test", version: "1" })
    const env = { PATH: process.env["PATH"]!, GATEWAY_URL: exchange.url, GATEWAY_HOME: home, GATEWAY_API_KEY: seed }
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [PROGRAM, "mcp", ...args], env, stderr: "inherit" })
    )
    opened.push(client)
    const names = (await client.listTools()).tools.map(({ name }) => name).toSorted()
    const call = async (name: string, input: object = {}) => {
      const result = await client.callTool({ name, arguments: { ...input } })
      const text = (result.content as ReadonlyArray<{ readonly text: string }>)[0]!.text
      return { isError: result.isError === true, value: JSON.parse(text) as Output }
    }
    return { client, names, call }
  }

  it("offers only market data by default, each tool marked as read-only", async () => {
    const { call, client, names } = await start()
    assert.deepStrictEqual(names, ["get_candles", "get_order_book", "get_recent_trades", "get_ticker", "list_markets"])
    const { tools } = await client.listTools()
    assert.isTrue(tools.every(({ annotations }) => annotations?.readOnlyHint === true))
    const { value } = await call("get_ticker", { symbol: SYMBOL })
    assert.strictEqual(value.symbol, SYMBOL)
    const unknown = await call("get_ticker", { symbol: "NO-SUCH" })
    assert.isTrue(unknown.isError)
    assert.strictEqual(unknown.value.details.reason, "SymbolNotFound")
  })

  it("places an order within its limits, refuses one above them, and cancels", async () => {
    const limits = ["--symbol", SYMBOL, "--max-order", "100", "--max-total", "150"]
    const { call, client, names } = await start("--trade", ...limits)
    assert.includeMembers(names, ["get_positions", "place_order", "cancel_order"])
    const order = { symbol: SYMBOL, side: "Buy", price, time_in_force: "PostOnly" }

    const tooLarge = await call("place_order", { ...order, qty: "0.002" })
    assert.isTrue(tooLarge.isError)
    assert.deepInclude(tooLarge.value, { code: "LIMIT" })
    assert.match(tooLarge.value.message, /^the order's value is .*; at most 100 is allowed$/u)
    const wrongMarket = await call("place_order", { ...order, symbol: "ETH-USDC", qty: "0.001" })
    assert.deepInclude(wrongMarket.value, {
      code: "LIMIT",
      message: `symbol is ETH-USDC; this server may trade ${SYMBOL}`
    })

    // without the parameter it would be an order that opens a position
    const { tools } = await client.listTools()
    assert.isTrue(tools.every(({ inputSchema }) => inputSchema["additionalProperties"] === false))
    const misspelt = { ...order, qty: "0.001", reduceOnly: true }
    const { content, isError } = await client.callTool({ name: "place_order", arguments: misspelt })
    assert.isTrue(isError)
    assert.match(JSON.stringify(content), /Invalid parameters for tool 'place_order'.*reduceOnly/u)
    assert.deepStrictEqual((await owner.order.realtime({})).list, [])

    const placed = await call("place_order", { ...order, qty: "0.001" })
    assert.isFalse(placed.isError, JSON.stringify(placed.value))
    // two at once, of which the total allows one
    const both = await Promise.all([1, 2].map(() => call("place_order", { ...order, qty: "0.001" })))
    assert.deepStrictEqual(both.map(({ isError }) => isError).toSorted(), [false, true])
    assert.match(both.find(({ isError }) => isError)!.value.message, /at most 150 is allowed$/u)

    const canceled = await call("cancel_order", { symbol: SYMBOL, order_id: placed.value.order_id })
    assert.isFalse(canceled.isError)
    const { list } = await owner.order.realtime({})
    assert.deepStrictEqual(list.length, 1)
    assert.isFalse((await call("cancel_all_orders", { symbol: SYMBOL })).isError)
  })

  it("answers each line that is no JSON, and the messages around it", { timeout: 30_000 }, async () => {
    const env = { PATH: process.env["PATH"]!, GATEWAY_URL: exchange.url, GATEWAY_HOME: home }
    const server = spawn(process.execPath, [PROGRAM, "mcp"], { env, stdio: ["pipe", "pipe", "inherit"] })
    try {
      const clientInfo = { name: "test", version: "1" }
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }
      const message = (id: number, method: string, rest: object = {}) =>
        `${JSON.stringify({ jsonrpc: "2.0", id, method, ...rest })}\n`
      server.stdin.write(`${message(1, "initialize", { params })}{"jsonrpc":"2.0",\n\r\n${message(2, "ping")}`)
      server.stdin.write(`no JSON\n${message(3, "ping")}`)
      const answers: Array<{ readonly id: number | null; readonly error?: { readonly code: number } }> = []
      for await (const line of createInterface({ input: server.stdout }))
        if (answers.push(JSON.parse(line)) === 5) break
      assert.sameDeepMembers(
        answers.map(({ error, id }) => [id, error?.code]),
        [
          [1, undefined],
          [null, -32_700],
          [2, undefined],
          [null, -32_700],
          [3, undefined]
        ]
      )
      server.stdin.end()
      assert.deepStrictEqual(await once(server, "exit"), [0, null])
    } finally {
      server.kill("SIGKILL")
    }
  })
})

describe("the credential of a server that runs for weeks", () => {
  it.effect("is renewed every hour, also after a renewal that failed", () => {
    let [synced, logins] = [0, 0]
    const client = {
      syncTime: Effect.suspend(() => (++synced === 2 ? Effect.fail("the gateway is away") : Effect.succeed(0))),
      login: () => Effect.sync(() => ++logins)
    } as unknown as Parameters<typeof staySignedIn>[0]
    return Effect.gen(function* () {
      yield* Effect.forkChild(staySignedIn(client, Wallet.generate().wallet))
      yield* TestClock.adjust("8 days")
      assert.deepStrictEqual([synced, logins], [8 * 24 + 1, 8 * 24])
      // an API key does not end, but its signatures need the clock
      yield* Effect.forkChild(staySignedIn(client, undefined))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual([synced, logins], [8 * 24 + 2, 8 * 24])
    })
  })
})

describe("the limits of trading", () => {
  const limits = { symbols: new Set([SYMBOL]), maxOrder: parse("100"), maxTotal: parse("150") }
  const order = { symbol: SYMBOL, side: "Buy", qty: "0.001", price: "60000" } as const
  const held = (position_value: string, leaves_value: string, reduce_only = false) => ({
    positions: [{ position_value }],
    orders: [{ leaves_value, reduce_only }],
    bid: undefined
  })
  type Reads = Parameters<typeof exposureOf>[0]
  /** A client whose lists have these pages. */
  const reading = (orders: object, positions: object, bids: ReadonlyArray<readonly [string, string]> = []) =>
    ({
      order: { realtime: () => Effect.succeed({ list: [], next_page_cursor: "", ...orders }) },
      position: { list: () => Effect.succeed({ list: [], next_page_cursor: "", ...positions }) },
      market: { orderbook: () => Effect.succeed({ bids }) }
    }) as unknown as Reads

  it("include the value at which they are reached, and count what is held", () => {
    assert.isUndefined(exceeded(limits, order, held("40", "50")))
    assert.match(exceeded(limits, order, held("40", "50.01"))!, /are worth 90\.01, and 150\.01 with/u)
    assert.isUndefined(exceeded(limits, { ...order, price: "100000" }, held("0", "0")))
    assert.isDefined(exceeded(limits, { ...order, price: "100000.1" }, held("0", "0")))
  })

  it("count an order that fills while positions and orders are read", async () => {
    let filled = false
    // the order fills after the first read, whichever it is
    const read = <A>(before: A, after: A) =>
      Effect.sync(() => {
        const list = filled ? after : before
        filled = true
        return { list, next_page_cursor: "" }
      })
    const client = {
      order: { realtime: () => read([{ leaves_value: "60", reduce_only: false }], []) },
      position: { list: () => read([], [{ position_value: "60" }]) }
    } as unknown as Reads
    const exposure = await Effect.runPromise(exposureOf(client, "0x1", order))
    assert.match(exceeded(limits, { ...order, qty: "0.0016" }, exposure!)!, /^positions and open orders are worth 120/u)
  })

  it("value a sale at the best bid that its price lets it trade at", async () => {
    const sale = { ...order, side: "Sell", qty: "0.002", price: "1" } as const
    const bids = [["60000", "1"]] as const
    const now = (await Effect.runPromise(exposureOf(reading({}, {}, bids), "0x1", sale)))!
    assert.match(exceeded(limits, sale, now)!, /^the order's value is 120; at most 100 is allowed$/u)
    assert.isUndefined(exceeded(limits, { ...sale, qty: "0.001" }, now))
    // above the bid it trades at its price
    assert.isDefined(exceeded(limits, { ...sale, qty: "0.001", price: "100001" }, now))
    assert.isUndefined(exceeded(limits, sale, { ...now, bid: undefined }))
    // a purchase trades at its price or below
    const purchase = { ...sale, side: "Buy" } as const
    const bought = (await Effect.runPromise(exposureOf(reading({}, {}, bids), "0x1", purchase)))!
    assert.isUndefined(exceeded(limits, purchase, bought))
  })

  it("are not checked against a part of the orders or of the positions", async () => {
    const more = { next_page_cursor: "c" }
    for (const client of [reading(more, {}), reading({}, more)])
      assert.isUndefined(await Effect.runPromise(exposureOf(client, "0x1", order)))
  })

  it("let orders reduce a position that is above the total", () => {
    assert.isUndefined(exceeded(limits, { ...order, reduce_only: true }, held("500", "0")))
    assert.isUndefined(exceeded(limits, order, held("40", "500", true)))
  })
})
