/** The Python client: its own tests, its wheel, and a complete exchange with the README's programs and the example bots. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { connect, type Exchange as Client, ExchangeError, keyOf, newSeed } from "../../src/sdk/index.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { ended, temporaryFolder } from "../../verification/harness/Programs.ts"
import { hasPython, PYTHON, pythonClient, pythonEnv } from "../../verification/harness/Python.ts"
import { until, WAIT_MS } from "../../verification/harness/Wait.ts"

const run = promisify(execFile)
const SLOW = { timeout: 60_000 }
const SYMBOL = "BTC-USDC"

const python = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}, cwd = pythonClient) =>
  run(PYTHON, [...args], { cwd, env: { ...pythonEnv, ...env } })

/** Programs of the README, in order. */
const programs = [
  ...readFileSync(join(pythonClient, "README.md"), "utf8").matchAll(/```python[^\n]*\n(.*?)```/gsu)
].map(([, text]) => text!)

describe.skipIf(!hasPython)("the Python client", () => {
  const folder = temporaryFolder("python")
  let exchange: Exchange
  /** An exchange without takers: nobody else fills the orders of a bot. */
  let quiet: Exchange
  let other: Client
  let vault: string
  beforeAll(async () => {
    exchange = await startExchange({ env: { SIM_MAKER: "on" } })
    quiet = await startExchange({ env: { SIM_MAKER: "on", SIM_TAKERS: "off" } })
    other = await connect({ url: exchange.url, wallet: newSeed() })
    vault = (await other.user.subAccounts()).list[0]!.sub_account_address
    await other.account.faucet({ sub_account_address: vault, asset: "USDC", amount: "100000" })
  }, 60_000)
  afterAll(async () => {
    other?.close()
    await exchange?.close()
    await quiet?.close()
    folder.remove()
  })

  const examples = join(pythonClient, "examples")
  /** Sells until a bot ends; fails as the bot does. A refusal is repeated, for there may be no bid at the moment. */
  const sellUntilEnd = async (seller: Client, sub_account_address: string, bot: Promise<unknown>) => {
    const sell = { sub_account_address, symbol: SYMBOL, side: "Sell", order_type: "Market", qty: "0.3" } as const
    const seen = { isDone: false }
    const end = () => (seen.isDone = true)
    void bot.then(end, end)
    while (!seen.isDone)
      await seller.order.create(sell).catch((error: unknown) => {
        if (!(error instanceof ExchangeError)) throw error
      })
    await bot
  }
  /** Runs Python with the examples; `onLine` receives the process at each line that it prints. Resolves to its lines and its end. */
  const runPython = async (
    args: ReadonlyArray<string>,
    own: Readonly<Record<string, string>> = {},
    onLine: (child: ChildProcess, lines: ReadonlyArray<string>) => unknown = () => {}
  ) => {
    const env = { ...pythonEnv, GATEWAY_URL: exchange.url, ...own }
    env.PYTHONPATH += `:${examples}`
    const child = spawn(PYTHON, args, { env, stdio: ["ignore", "pipe", "pipe"] })
    const lines: Array<string> = []
    let errors = ""
    child.stderr.on("data", (data) => (errors += String(data)))
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line)
      onLine(child, lines)
    })
    try {
      const code = await new Promise((resolve) => child.once("close", resolve))
      return { lines, code, errors }
    } finally {
      await ended(child)
    }
  }
  /** Runs an example to its end; resolves to its lines. */
  const runExample = async (name: string, ...args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    const { code, errors, lines } = await runPython([join(examples, name), ...args])
    assert.strictEqual(code, 0, errors)
    return lines
  }
  /** A wallet with money, and the environment of a bot with its API key. */
  const openTrader = async ({ url } = exchange) => {
    const trader = await connect({ url, wallet: newSeed() })
    const { sub_account_address } = (await trader.user.subAccounts()).list[0]!
    await trader.account.faucet({ sub_account_address, asset: "USDC", amount: "10000" })
    const seed = newSeed()
    const { public_key } = await keyOf(seed)
    await trader.user.createApiKey({ public_key, label: "bot", scopes: ["read", "trade"] })
    return { trader, env: { GATEWAY_URL: url, GATEWAY_KEY: seed } }
  }

  /** A seller of the quiet exchange whose funds other sales have not used up. */
  const openSeller = async () => {
    const { trader: seller } = await openTrader(quiet)
    const { sub_account_address } = (await seller.user.subAccounts()).list[0]!
    await seller.account.faucet({ sub_account_address, asset: "USDC", amount: "90000" })
    return { seller, sub_account_address }
  }

  it("passes its own tests", SLOW, async () => {
    const { stderr } = await python(["-m", "unittest", "discover", "-s", "tests"])
    const [, count] = /Ran (\d+) tests/u.exec(stderr)!
    assert.isAbove(Number(count), 50, stderr)
    assert.match(stderr, /\nOK\n$/u)
  })

  it("decodes every response and every event of a whole exchange", SLOW, async () => {
    const { stdout } = await python(["tests/every_record.py", exchange.url])
    const seen = JSON.parse(stdout) as Record<string, number>
    const kinds = Object.keys(seen)
    assert.lengthOf(
      kinds.filter((kind) => kind.endsWith("Event")),
      11,
      stdout
    )
    assert.isAtLeast(kinds.length, 40)
  })

  it("builds a wheel without a network, which runs the five lines to a fill", SLOW, async () => {
    const source = join(folder.path, "source")
    cpSync(pythonClient, source, { recursive: true })
    await python(["-c", `import setuptools.build_meta as b; b.build_wheel(${JSON.stringify(folder.path)})`], {}, source)
    const wheel = readdirSync(folder.path).find((name) => name.endsWith(".whl"))!
    const lines = programs[0]!.trimEnd().split("\n")
    assert.lengthOf(lines, 5)
    // on failure the last line shows the state of the order
    const program = [...lines, "print(exchange.order.history().list)"]
      .join("\n")
      .replace("http://127.0.0.1:3010", exchange.url)
    const env = { PYTHONPATH: join(folder.path, wheel), PYTHONWARNINGS: "" }
    const { stdout } = await python(["-c", program], env, folder.path)
    assert.match(stdout, /^\[Execution\(.*exec_qty=Decimal\('0.001'\)/u)
  })

  it("runs the other programs of its README", SLOW, async () => {
    const text = [...programs, "exchange.close()"].join("\n").replaceAll("http://127.0.0.1:3010", exchange.url)
    const path = join(folder.path, "readme.py")
    writeFileSync(path, text)
    const { stdout } = await python([path])
    assert.match(stdout, /True \{'reason': 'OrderNotFound'/u)
    assert.match(stdout, /\[\('New', Decimal\('30000'\)\)\]/u)
    assert.match(stdout, /Connecting\n$/u)
  })

  it("ends a feed that is closed while its connection opens", SLOW, async () => {
    // auth_frame drops a cancellation, as asyncio.wait_for does before Python 3.12
    const program = `import asyncio
from trading_gateway._environment import Environment
from trading_gateway._feed import EventQueue, Feed, Source

async def main():
    opening = asyncio.Event()
    dropped = 0

    async def auth_frame():
        nonlocal dropped
        opening.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped += 1
        await asyncio.Event().wait()

    async def renew():
        raise AssertionError

    queue = EventQueue(Feed(Source("${exchange.url.replace("http", "ws")}", Environment(), auth_frame, renew), ["order"]))
    print(type((await queue.take())[0]).__name__)
    await opening.wait()
    await asyncio.wait_for(queue.close(), 10)
    print(dropped, await queue.take())

asyncio.run(main())
`
    const { stdout } = await python(["-c", program])
    assert.strictEqual(stdout, "Connecting\n1 []\n")
  })

  it("reports the error of a feed only to its reader", SLOW, async () => {
    const program = `import asyncio, gc
from trading_gateway._environment import Environment
from trading_gateway._feed import EventQueue, Feed, Source

async def auth_frame():
    return None

async def renew():
    return "refused"

async def main():
    queue = EventQueue(Feed(Source("${exchange.url.replace("http", "ws")}", Environment(), auth_frame, renew), ["order"]))
    print(type((await queue.take())[0]).__name__)
    await asyncio.wait([queue._task], timeout=10)
    # the feed has ended, as it has no credential, and nobody reads that
    await queue.close()
    del queue
    gc.collect()

asyncio.run(main())
`
    const { stderr, stdout } = await python(["-c", program])
    assert.deepStrictEqual([stdout, stderr], ["Connecting\n", ""])
  })

  it("makes a market", SLOW, async () => {
    const lines = await runExample("maker.py", "1")
    assert.match(lines[0]!, /^bid \d+\.\d, ask \d+\.\d, position 0$/u)
  })

  it(
    "keeps its quotes beyond the window of its dead-man's switch, and loses them when it is killed",
    SLOW,
    async () => {
      const { env, trader } = await openTrader(quiet)
      const sides = async () => (await trader.order.realtime({})).list.map(({ side }) => side).toSorted()
      try {
        // a line a round, and a round a second: the window is over before the sixth
        const alive = Promise.withResolvers<ReadonlyArray<string>>()
        const { errors, lines } = await runPython(
          ["-c", "import maker; maker.WINDOW_S = 3; maker.main(60)"],
          env,
          (child, lines) => {
            if (lines.length !== 6) return
            void sides()
              .then(alive.resolve, alive.reject)
              .finally(() => child.kill("SIGKILL"))
          }
        )
        assert.isAtLeast(lines.length, 6, errors)
        assert.deepStrictEqual(await alive.promise, ["Buy", "Sell"])
        const canceledByDcp = async () =>
          (await trader.order.history({})).list.filter((order) => order.cancel_type === "CancelByDcp").length
        assert.strictEqual(await canceledByDcp(), 0)
        await until("the gateway cancels both quotes", async () => (await canceledByDcp()) === 2, WAIT_MS)
        assert.deepStrictEqual(await sides(), [])
      } finally {
        trader.close()
      }
    }
  )

  it(
    "continues with one quote a side after a crash, on its own sub-account, and turns its switch off",
    SLOW,
    async () => {
      const { env, trader } = await openTrader(quiet)
      const first = (await trader.user.subAccounts()).list[0]!.sub_account_address
      const second = (await trader.user.createSubAccount({ label: "second" })).sub_account_address
      const open = async () => (await trader.order.realtime({})).list
      const bid = (sub_account_address: string, price: string) =>
        trader.order.create({
          sub_account_address,
          symbol: SYMBOL,
          side: "Buy",
          order_type: "Limit",
          qty: "0.01",
          price
        })
      try {
        await trader.account.faucet({ sub_account_address: second, asset: "USDC", amount: "1000" })
        // killed as soon as its first quote is placed
        const program = `import os, maker
quote = maker.Maker.quote
maker.Maker.quote = lambda self, *values: (quote(self, *values), os._exit(7))
maker.main(60)`
        const { code, errors } = await runPython(["-c", program], env)
        assert.strictEqual(code, 7, errors)
        assert.deepStrictEqual(
          (await open()).map(({ side }) => side),
          ["Buy"]
        )
        // one that was on its way when the maker was killed
        await bid(first, "50000")
        const { order_id } = await bid(second, "50000")
        const seen = Promise.withResolvers<ReadonlyArray<string>>()
        const again = await runPython(["-u", join(examples, "maker.py"), "3"], env, (_, lines) => {
          if (lines.length === 2)
            void open()
              .then((orders) =>
                orders.map(({ side, sub_account_address }) => `${side} ${sub_account_address}`).toSorted()
              )
              .then(seen.resolve, seen.reject)
        })
        assert.strictEqual(again.code, 0, again.errors)
        assert.deepStrictEqual(await seen.promise, [`Buy ${first}`, `Buy ${second}`, `Sell ${first}`].toSorted())
        assert.deepStrictEqual(
          (await open()).map((order) => order.order_id),
          [order_id]
        )
        // a later program may place orders without a connection
        assert.deepStrictEqual(
          (await trader.order.switches()).list.map(({ enabled }) => enabled),
          [false]
        )
      } finally {
        trader.close()
      }
    }
  )

  it("takes and closes a position", SLOW, async () => {
    // the bids outweigh the asks
    const book = await other.market.orderbook({ symbol: SYMBOL, depth: 1 })
    const market = { sub_account_address: vault, symbol: SYMBOL } as const
    const bid = { ...market, side: "Buy", order_type: "Limit", qty: "5", price: book.bids[0]![0] } as const
    await other.order.create(bid)
    const lines = await runExample("taker.py", "1")
    assert.deepStrictEqual([lines[0]!.split(" ")[0], lines.at(-1)], ["bought", "closed"])
    await other.order.cancelAll(market)
  })

  it("closes the position of an earlier run before it takes another", SLOW, async () => {
    const { env, trader } = await openTrader()
    const market = { sub_account_address: vault, symbol: SYMBOL } as const
    const book = await other.market.orderbook({ symbol: SYMBOL, depth: 1 })
    await other.order.create({ ...market, side: "Buy", order_type: "Limit", qty: "5", price: book.bids[0]![0] })
    try {
      // killed between its purchase and the exit
      const program = `import asyncio, os, taker
async def killed(self, *_):
    os._exit(7)
taker.Taker.until = killed
asyncio.run(taker.main(1))`
      const { code, errors } = await runPython(["-c", program], env)
      assert.strictEqual(code, 7, errors)
      const again = await runPython([join(examples, "taker.py"), "1"], env)
      assert.strictEqual(again.code, 0, again.errors)
      let held = 0
      const sizes = (await trader.execution.list({ exec_type: "Trade" })).list
        .toReversed()
        .map(
          ({ exec_qty, side }) =>
            (held = Math.round(1000 * held + (side === "Buy" ? 1000 : -1000) * Number(exec_qty)) / 1000)
        )
      assert.deepStrictEqual([Math.max(...sizes), held], [0.01, 0], again.lines.join())
    } finally {
      await other.order.cancelAll(market)
      trader.close()
    }
  })

  it("has a taker that ends when its stream ends for good, with the reason", SLOW, async () => {
    const { env, trader } = await openTrader(quiet)
    try {
      // one that never trades, so that nothing but its stream shows it that its key is revoked
      const program = `import asyncio, taker
from decimal import Decimal
taker.IMBALANCE = Decimal(2)
follow = taker.Taker.follow
async def followed(self):
    print("follows", flush=True)
    await follow(self)
taker.Taker.follow = followed
asyncio.run(taker.main(1))`
      const [key] = (await trader.user.apiKeys()).list
      const { code, errors } = await runPython(["-c", program], env, () => {
        void trader.user.revokeApiKey({ api_key_id: key!.api_key_id })
      })
      assert.strictEqual(code, 1)
      assert.match(errors, /FeedEnded/u)
    } finally {
      trader.close()
    }
  })

  it("keeps a grid, and continues it after a restart", SLOW, async () => {
    const { env, trader } = await openTrader(quiet)
    const { seller, sub_account_address } = await openSeller()
    const state = { ...env, GRID_STATE: join(folder.path, "kept-grid.json") }
    const runGrid = async () => {
      const bot = runPython([join(examples, "grid.py"), "1"], state)
      await sellUntilEnd(seller, sub_account_address, bot)
      const { code, errors, lines } = await bot
      assert.strictEqual(code, 0, errors)
      return lines
    }
    try {
      const [first, second] = [await runGrid(), await runGrid()]
      // the bids of the maker, which return every second, may fill the offer that the first fill has placed
      for (const [line] of [first, second]) assert.match(line!, /^(Buy|Sell) at \d/u)
      // it has built no second grid, and each whole fill has placed one order of the other side
      const whole = [...first, ...second].filter((line) => line.endsWith(", open 0"))
      const filled = (side: string) => whole.filter((line) => line.startsWith(side)).length
      const sides = (await trader.order.history({})).list.map(({ side }) => side)
      assert.deepStrictEqual(
        [sides.filter((side) => side === "Buy").length, sides.filter((side) => side === "Sell").length],
        [4 + filled("Sell"), 4 + filled("Buy")]
      )
    } finally {
      trader.close()
      seller.close()
    }
  })

  it("places no order of a grid twice after a crash between an order and its record", SLOW, async () => {
    const { env, trader } = await openTrader(quiet)
    const state = { ...env, GRID_STATE: join(folder.path, "crashed-grid.json") }
    // ends where a fill has placed the opposite order, the ninth, and is not saved
    const program = `import os, grid
place, save, placed = grid.Grid.place, grid.Grid.save, []
grid.Grid.place = lambda self, *order: (placed.append(order), place(self, *order))
grid.Grid.save = lambda self, since: os._exit(7) if len(placed) > 8 else save(self, since)
grid.main(9)`
    const { seller, sub_account_address } = await openSeller()
    try {
      const first = runPython(["-c", program], state)
      await until("orders of the grid", async () => (await trader.order.realtime({})).list.length > 0, WAIT_MS)
      await sellUntilEnd(seller, sub_account_address, first)
      assert.strictEqual((await first).code, 7, (await first).errors)
      const again = await runPython([join(examples, "grid.py"), "1"], state)
      assert.strictEqual(again.code, 0, again.errors)
      const prices = (await trader.order.history({})).list.map(({ price, side }) => `${side} ${price}`)
      assert.isAbove(prices.length, 8)
      assert.deepStrictEqual(prices, [...new Set(prices)])
    } finally {
      trader.close()
      seller.close()
    }
  })

  it("builds one grid after a crash between its first orders", { timeout: 150_000 }, async () => {
    const { env, trader } = await openTrader(quiet)
    const state = { ...env, GRID_STATE: join(folder.path, "half-grid.json") }
    // ends where the third order is placed
    const program = `import os, grid
place, placed = grid.Grid.place, []
def killed(self, *order):
    place(self, *order)
    placed.append(order)
    if len(placed) == 3:
        os._exit(7)
grid.Grid.place = killed
grid.main(9)`
    // refused ones too: some are past the market
    const orders = async () => (await trader.order.history({})).list.map(({ price, side }) => `${side} ${price}`)
    const { seller, sub_account_address } = await openSeller()
    try {
      const first = await runPython(["-c", program], state)
      assert.strictEqual(first.code, 7, first.errors)
      assert.lengthOf(await orders(), 3)
      const filled = async () => (await trader.order.history({ order_status: ["Filled"] })).list.length > 0
      await sellUntilEnd(seller, sub_account_address, until("a fill of the absence", filled, 60_000))
      const again = await runPython([join(examples, "grid.py"), "1"], state)
      assert.strictEqual(again.code, 0, again.errors)
      // the fill has placed one more
      const all = await orders()
      assert.deepStrictEqual([all.length, new Set(all).size], [9, 9], String(all))
    } finally {
      trader.close()
      seller.close()
    }
  })

  it("has bots of fewer than 150 lines", () => {
    for (const name of ["maker", "taker", "grid"]) {
      const lines = readFileSync(join(pythonClient, `examples/${name}.py`), "utf8").split("\n")
      assert.isBelow(lines.length, 150, name)
    }
  })
})
