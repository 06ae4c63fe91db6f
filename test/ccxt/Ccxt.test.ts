/** The gateway as an exchange of CCXT, on a complete exchange. The set-up of the tests installs CCXT. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, it } from "vitest"
import { type Account, type Any, ccxtFolder, exchangeOf, load, openAccount } from "../../verification/ccxt/Ccxt.ts"
import { fuzz } from "../../verification/ccxt/Fuzz.ts"
import { session, SYMBOL } from "../../verification/ccxt/Session.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { random } from "../../verification/harness/Random.ts"
import { CuttingProxy } from "../../verification/reconnect/CuttingProxy.ts"
import { bybitStructures, shapeDifferences } from "./Bybit.ts"
import { describeCcxt } from "./Fixture.ts"

const SLOW = { timeout: 90_000 }

describeCcxt("the exchange of CCXT", () => {
  let ccxt: Any
  let gateway: Exchange
  let account: Account
  let exchange: Any
  let methods: ReadonlyArray<string>
  let results: ReadonlyMap<string, Any>
  beforeAll(async () => {
    const loaded = await load()
    ccxt = loaded.ccxt
    gateway = await startExchange({ env: { SIM_MAKER: "on", SIM_TAKERS: "off" } })
    account = await openAccount(gateway.url)
    exchange = exchangeOf(loaded.TradingGateway, gateway.url, account)
    const other = exchangeOf(loaded.TradingGateway, gateway.url, account.other)
    methods = Object.keys(exchange.has).filter(
      (name) => exchange.has[name] === true && typeof exchange[name] === "function"
    )
    results = await session(exchange, other, account)
    await other.close()
  }, 90_000)
  afterAll(async () => {
    await exchange?.close()
    await gateway?.close()
  })

  it("works with every method that it has", () => {
    assert.deepStrictEqual(
      methods.filter((name) => !results.has(name)),
      []
    )
    assert.isAtLeast(results.size, 70)
  })

  it("has a row for each method in its README, beside those of bybit", () => {
    const page = readFileSync(join(ccxtFolder, "README.md"), "utf8")
    const bybit = new ccxt.pro.bybit()
    const names = [...new Set([...methods, ...Object.keys(bybit.has).filter((name) => bybit.has[name] === true)])]
    const rows = names
      .filter((name) => typeof exchange[name] === "function")
      .toSorted()
      .map(
        (name) =>
          `| \`${name}\` | ${exchange.has[name] === true ? "yes" : "no"} | ${bybit.has[name] === true ? "yes" : "no"} |`
      )
    assert.include(page, rows.join("\n"), `the table should be:\n${rows.join("\n")}`)
  })

  it("has the shapes of bybit", () => {
    const theirs = bybitStructures(new ccxt.bybit(), exchange.market(SYMBOL))
    const wrong = Object.entries(theirs).flatMap(([name, structure]) => {
      const result = results.get(name)
      const [ours, other] = Array.isArray(structure)
        ? [result[0], structure[0]]
        : [Array.isArray(result) ? result.at(-1) : result, structure]
      // there is no funding in a session of seconds
      if (ours === undefined) return name === "fetchFundingHistory" ? [] : [`${name}: no record`]
      return shapeDifferences(ours, other).map((line) => `${name}: ${line}`)
    })
    assert.deepStrictEqual(wrong, [])
  })

  it("fails 300 random calls with errors of CCXT only", SLOW, async () => {
    const { answered, foreign, refused } = await fuzz(ccxt, exchange, methods, 300, random(1))
    assert.deepStrictEqual(foreign, [])
    assert.isAbove(Math.min(answered, refused), 20)
  })

  it("receives the orders of its absence after a lost connection", SLOW, async () => {
    const proxy = new CuttingProxy(random(1), () => Number(new URL(gateway.url).port))
    proxy.calm(true)
    await proxy.listen()
    const away = exchangeOf(exchange.constructor, `http://127.0.0.1:${proxy.port}`, account)
    try {
      const first = away.watchOrders(SYMBOL)
      await exchange.createOrder(SYMBOL, "limit", "buy", 0.01, 45000)
      await first
      const lost = away.watchMyTrades(SYMBOL).catch((error: unknown) => error)
      // subscribed: the connection carries it
      await away.watchBalance()
      proxy.refuse(0)
      assert.instanceOf(await lost, ccxt.NetworkError)
      const { id } = await exchange.createOrder(SYMBOL, "limit", "buy", 0.01, 45001)
      await exchange.cancelOrder(id, SYMBOL)
      // a snapshot has open orders only: the canceled one arrives by resuming
      for (let isSeen = false; !isSeen;) {
        const orders = (await away.watchOrders(SYMBOL)) as ReadonlyArray<Any>
        isSeen = orders.some((order) => order.id === id && order.status === "canceled")
      }
    } finally {
      await away.close()
      proxy.close()
    }
  })

  it("runs a bot that is written for CCXT, unmodified", SLOW, async () => {
    const env = {
      ...process.env,
      API_KEY: account.apiKey,
      SECRET: account.secret,
      CONFIG: JSON.stringify({ urls: { api: { rest: gateway.url } } })
    }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "./src/register.js", "examples/bot.js"],
      {
        cwd: ccxtFolder,
        env
      }
    )
    assert.deepStrictEqual(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.replace(/free \d+.*/u, "free")),
      ["free", "placed open", "amended 0.02", "canceled"]
    )
  })
})
