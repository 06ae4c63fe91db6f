/** The short way of market reads answers what the framework answers, from memory too. */
import { Effect, Layer } from "effect"
import { afterAll, assert, beforeEach, describe, it } from "vitest"
import type { Instrument, PublicTrade, Ticker } from "../../../src/domain/Market.ts"
import { GZIP_BYTES_MIN } from "../../../src/http/Headers.ts"
import { frozenClock } from "../../../verification/harness/Clocks.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import { btc, type Doubles, orderId, rate, well } from "../Fixture.ts"
import { bytesOf, Pair } from "./Pair.ts"

const now = 1767225600123
const m = "/api/v1/market"
const tickerOf = (symbol: string): Ticker => ({
  symbol,
  last_price: "60000.1",
  mark_price: "60000",
  index_price: "60001",
  prev_price_24h: "59000",
  price_24h_pcnt: "0.016950847457627118",
  high_price_24h: "60500",
  low_price_24h: "58900",
  volume_24h: "12.5",
  turnover_24h: "748000",
  open_interest: "3.2",
  open_interest_value: "192000",
  funding_rate: "0.0001",
  next_funding_time: "2026-01-01T08:00:00.000Z",
  next_funding_time_ms: 1767254400000,
  ts: now
})
const trade = (i: number): PublicTrade => ({
  trade_id: orderId,
  symbol: "BTC-USDC",
  price: "60000.1",
  qty: "0.3",
  side: "Buy",
  seq: i,
  timestamp: now - i,
  agg_id: "aebdeb0a6072d10e89ca99e6862c5037",
  is_liquidation: false
})
const many = (n: number) => Array.from({ length: n }, (_, i) => [String(60_000 - i / 10), "0.5"] as const)
const eth: Instrument = { ...btc, symbol: "ETH-USDC", status: "ReduceOnly" }

/** What both gateways see; a test may move it. */
const start = () => ({
  now,
  revision: 1,
  seq: 7,
  link: well,
  allowed: undefined as boolean | undefined,
  /** Runs once, while an answer with tickers is made. */
  meanwhile: undefined as (() => void) | undefined,
  instruments: [btc, eth] as ReadonlyArray<Instrument>
})
let world = start()
beforeEach(() => {
  world = start()
})

const standing = () => (world.allowed === undefined ? undefined : rate(world.allowed))

const doubles = (): Doubles => ({
  health: { sequencer: () => world.link },
  limiter: { take: () => Effect.sync(standing), takeAllNow: standing },
  history: {
    candles: () =>
      Effect.succeed([
        {
          start_time: 1767225600000,
          end_time: 1767225660000,
          open: "60000",
          high: "60010",
          low: "59990",
          close: String(60000 + world.seq),
          volume: "1.5",
          turnover: "90000.15",
          trade_count: 7,
          confirm: false
        }
      ])
  },
  markets: {
    revision: () => world.revision,
    now: () => world.now,
    instruments: () => world.instruments,
    instrument: (symbol) => world.instruments.find((each) => each.symbol === symbol),
    ticker: (symbol) => {
      const ticker = { ...tickerOf(symbol), open_interest: String(world.seq), ts: world.now }
      const { meanwhile } = world
      world.meanwhile = undefined
      meanwhile?.()
      return ticker
    },
    recentTrades: (_, limit) => Array.from({ length: Math.min(limit, 30) }, (_, i) => trade(world.seq + i)),
    book: (symbol, depth) => ({
      symbol,
      bids: many(400).slice(0, depth),
      asks: [["60000.1", String(world.seq)]],
      seq: world.seq,
      mts: now - 5
    })
  }
})

const targets = [
  "/time",
  "/time?x=1",
  "/time?x=1&x=2",
  "/instruments-info",
  "/instruments-info?symbol=BTC-USDC",
  "/instruments-info?symbol=",
  "/instruments-info?status=Trading&limit=1",
  "/instruments-info?limit=1",
  "/instruments-info?limit=0",
  "/instruments-info?limit=01",
  "/instruments-info?cursor=AAAA",
  "/instruments-info?status=trading",
  "/tickers",
  "/tickers?",
  "/tickers?symbol=BTC-USDC",
  "/tickers?symbol=BTC%2DUSDC",
  "/tickers?symbol=BTC+USDC",
  "/tickers?symbol=%zz",
  "/tickers?symbol=BTC-USDC&symbol=BTC-USDC",
  "/tickers?symbol=BTC-USDC&&",
  "/tickers?symbol=NO-SUCH",
  "/tickers?%73ymbol=BTC-USDC",
  "/tickers?__proto__=1",
  '/tickers?symbol=BTC-USDC&"ts":5',
  "/orderbook",
  "/orderbook?symbol=BTC-USDC",
  "/orderbook?symbol=BTC-USDC&depth=1",
  "/orderbook?symbol=BTC-USDC&depth=1000",
  "/orderbook?symbol=BTC-USDC&depth=1001",
  "/orderbook?symbol=BTC-USDC&depth=1.0",
  "/orderbook?depth=1",
  "/orderbook?symbol=NO-SUCH&depth=x",
  "/recent-trade?symbol=BTC-USDC",
  "/recent-trade?symbol=BTC-USDC&limit=3",
  "/recent-trade?limit=3",
  "/kline?symbol=BTC-USDC&interval=1",
  "/kline?symbol=BTC-USDC&interval=2",
  "/kline?symbol=BTC-USDC&interval=1&start_time=1767225600000&end_time=1767225540000",
  "/kline?symbol=BTC-USDC&interval=M&limit=2"
].map((target) => `${m}${target}`)

/** Headers that a client may send. */
const manners: ReadonlyArray<Record<string, string | ReadonlyArray<string>>> = [
  {},
  { "Accept-Encoding": "gzip, deflate, br" },
  { "Accept-Encoding": "identity" },
  { "Accept-Encoding": "gzip;q=0, *" },
  { Authorization: "Bearer bad", "X-Api-Key": "k" },
  { "If-None-Match": "*" },
  { "If-None-Match": 'W/"x", "y"' },
  { "If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT" },
  { Range: "bytes=0-5" },
  { Connection: "close" },
  { "Content-Length": "0" }
]

const same = async (pair: Pair, bytes: Buffer) => {
  const [hot, framework] = await pair.ask(bytes)
  // a compressed body is sent with its length, or in chunks
  if (hot.headers["content-encoding"] === "gzip") {
    for (const { headers } of [hot, framework]) {
      const mutable = headers as Record<string, string>
      delete mutable["content-length"]
      delete mutable["transfer-encoding"]
    }
  }
  assert.deepStrictEqual(hot, framework, bytes.toString("latin1"))
  return hot
}

describe("the short way of market reads", () => {
  const pair = new Pair(doubles, frozenClock(now))
  afterAll(pair.dispose)
  const get = (target: string, headers = {}) => same(pair, bytesOf("GET", target, headers))

  it("has the framework's response for every target, computed and from memory", async () => {
    const before = pair.taken
    const statuses = new Set<number>()
    for (const target of targets) {
      for (let i = 0; i < 2; i++) statuses.add((await get(target)).status)
    }
    assert.strictEqual(pair.taken - before, 2 * targets.length)
    assert.deepStrictEqual([...statuses].toSorted(), [200, 400, 404])
  })
  it("gives each way of asking what the framework gives", async () => {
    const few = [`${m}/tickers?symbol=BTC-USDC`, `${m}/orderbook?symbol=BTC-USDC`, `${m}/instruments-info`, `${m}/time`]
    for (const target of few) {
      for (const headers of manners) {
        for (let i = 0; i < 2; i++) await get(target, headers)
      }
      for (const method of ["HEAD", "POST", "OPTIONS", "DELETE"]) await same(pair, bytesOf(method, target, {}))
    }
    for (const path of [`${m}/tickers/`, `${m}//tickers`, `${m}/Tickers`, `/api/v1/%6Darket/tickers`, `${m}/nope`]) {
      await get(path)
    }
  })
  it("is compressed from the same size on", async () => {
    const coding = async (base_asset: string) => {
      world.revision++
      world.instruments = [{ ...btc, base_asset }]
      const { body, headers } = await get(`${m}/instruments-info?symbol=BTC-USDC`, { "Accept-Encoding": "gzip" })
      return [body.length, headers["content-encoding"]] as const
    }
    const [length] = await coding("")
    const codings = []
    for (const bytes of [GZIP_BYTES_MIN - 1, GZIP_BYTES_MIN]) codings.push(await coding("B".repeat(bytes - length)))
    assert.deepStrictEqual(codings, [
      [GZIP_BYTES_MIN - 1, undefined],
      [GZIP_BYTES_MIN, "gzip"]
    ])
  })
  it("returns a change at once", async () => {
    for (const path of ["tickers", "orderbook", "recent-trade", "kline"]) {
      const target = `${m}/${path}?symbol=BTC-USDC${path === "kline" ? "&interval=1" : ""}`
      const first = await get(target)
      world.seq++
      assert.strictEqual(
        (await pair.ask(bytesOf("GET", target, {})))[0].body,
        first.body,
        "kept while the revision stands"
      )
      world.revision++
      const second = await get(target)
      assert.notStrictEqual(second.body, first.body)
    }
  })
  it("keeps no answer that a change made old while it was made", async () => {
    const target = bytesOf("GET", `${m}/tickers?symbol=BTC-USDC`, {})
    world.revision = 50
    world.meanwhile = () => {
      world.seq++
      world.revision++
    }
    const [old] = await pair.ask(target)
    assert.include(old.body, '"open_interest":"7"')
    const [next] = await pair.ask(target)
    assert.include(next.body, '"open_interest":"8"')
  })
  it("reports age and refusal while the backend is unavailable, whatever is cached", async () => {
    const target = `${m}/orderbook?symbol=BTC-USDC&depth=2`
    await get(target)
    world.link = { ...well, unhealthy: true, connected: false, age_ms: 4_000 }
    assert.strictEqual((await get(target)).headers["x-data-age-ms"], "4000")
    world.link = { ...well, unhealthy: true, age_ms: 60_001, lag_ms: 9 }
    const refused = await get(target)
    assert.strictEqual(refused.status, 503)
    assert.include(refused.body, "BackendLagging")
    world.link = well
    assert.notProperty((await get(target)).headers, "x-data-age-ms")
  })
  it("needs one Host header, except in HTTP/1.0, which has none", async () => {
    const ask = async (version: string, ...hosts: ReadonlyArray<string>) => {
      const lines = [`GET ${m}/tickers?symbol=BTC-USDC HTTP/${version}`, "X-Request-Id: asked-1", ...hosts]
      const { body, status } = await same(pair, Buffer.from(`${lines.join("\r\n")}\r\n\r\n`))
      return [status, (JSON.parse(body) as { readonly details?: { readonly reason?: string } }).details?.reason]
    }
    const malformed = [400, "MalformedRequest"]
    assert.deepStrictEqual(await ask("1.1", "Host: gateway"), [200, undefined])
    assert.deepStrictEqual(await ask("1.1", "Host: gateway", "Host: gateway"), malformed)
    assert.deepStrictEqual(await ask("1.1", "Host: gateway", "HOST: other"), malformed)
    assert.deepStrictEqual(await ask("1.1"), malformed)
    assert.deepStrictEqual(await ask("1.0"), [200, undefined])
    assert.deepStrictEqual(await ask("1.0", "Host: gateway", "Host: other"), malformed)
  })
  it("counts in the rate of the address", async () => {
    const target = `${m}/tickers`
    await get(target)
    world.allowed = true
    assert.strictEqual((await get(target)).headers["ratelimit-remaining"], "59")
    world.allowed = false
    assert.strictEqual((await get(target)).status, 429)
  })
})

describe("a kept response", () => {
  const clock = stillClock(now)
  const registry = new MetricsRegistry()
  const pair = new Pair(doubles, Layer.merge(clock.layer, Layer.succeed(CurrentMetricsRegistry, registry)))
  afterAll(pair.dispose)
  const get = (target: string) => same(pair, bytesOf("GET", target, {}))

  it("has the time of its own request", async () => {
    const orderbook = `${m}/orderbook?symbol=BTC-USDC`
    for (const target of [`${m}/time`, `${m}/tickers?symbol=BTC-USDC`, orderbook]) {
      const first = await get(target)
      await Effect.runPromise(clock.pass(1_500))
      world.now += 1_500
      assert.notStrictEqual((await get(target)).body, first.body, target)
    }
  })

  it("has the time in whole seconds, milliseconds and nanoseconds", async () => {
    const body = async () => JSON.parse((await get(`${m}/time`)).body) as Record<string, unknown>
    const from = (await body())["server_ts_ms"] as number
    // the last millisecond of a second
    await Effect.runPromise(clock.pass(999 - (from % 1_000)))
    const second = Math.floor(from / 1_000)
    assert.deepStrictEqual(await body(), {
      server_ts_ms: second * 1_000 + 999,
      time_second: second,
      time_nano: `${second}999000000`
    })
  })

  it("is at most 64 Ki characters long; a longer one is made anew", async () => {
    const listed = (count: number) =>
      Array.from({ length: count }, (_, i): Instrument => ({ ...btc, symbol: `A${i}-USDC` }))
    world.revision = 70
    world.instruments = listed(10)
    const short = await get(`${m}/instruments-info`)
    world.instruments = listed(11)
    assert.strictEqual((await pair.ask(bytesOf("GET", `${m}/instruments-info`, {})))[0].body, short.body)
    world.revision++
    world.instruments = listed(200)
    const long = await get(`${m}/instruments-info`)
    assert.isAbove(long.body.length, 64 * 1024)
    world.instruments = listed(201)
    assert.notStrictEqual((await get(`${m}/instruments-info`)).body, long.body)
  })

  it("counts as a hit, and any other as a miss", async () => {
    const lookups = async (): Promise<ReadonlyArray<number>> => {
      const text = await Effect.runPromise(registry.text)
      return ["hit", "miss"].map((result) =>
        Number(text.split(`gateway_cache_lookups_total{cache="answers",result="${result}"} `)[1]?.split("\n")[0])
      )
    }
    world.revision = 90
    const [hits, misses] = await lookups()
    for (let i = 0; i < 4; i++) await get(`${m}/recent-trade?symbol=BTC-USDC`)
    assert.deepStrictEqual(await lookups(), [hits! + 3, misses! + 1])
    world.allowed = false
    assert.strictEqual((await get(`${m}/recent-trade?symbol=BTC-USDC`)).status, 429)
    assert.deepStrictEqual(await lookups(), [hits! + 4, misses! + 1], "a refusal is written once, from memory")
  })
})

describe("the short way where the rate is counted elsewhere", () => {
  const pair = new Pair(() => ({ ...doubles(), limiter: { take: () => Effect.sync(standing) } }), frozenClock(now))
  afterAll(pair.dispose)

  it("computes and counts every response", async () => {
    const target = bytesOf("GET", `${m}/orderbook?symbol=BTC-USDC`, {})
    const first = await same(pair, target)
    world.seq++
    assert.notStrictEqual((await same(pair, target)).body, first.body)
    world.allowed = true
    assert.strictEqual((await same(pair, target)).headers["ratelimit-remaining"], "59")
    world.allowed = false
    assert.strictEqual((await same(pair, target)).status, 429)
  })
})

describe("the short way behind a proxy", () => {
  it("counts the client's address from the proxy, computed and from memory", async () => {
    const addresses: Array<string> = []
    const pair = new Pair(() => {
      const { limiter, ...others } = doubles()
      const takeAllNow: NonNullable<Doubles["limiter"]>["takeAllNow"] = ([slot]) => {
        addresses.push(slot!.key)
        return undefined
      }
      return { ...others, limiter: { ...limiter, takeAllNow }, trustedProxies: 1 }
    }, frozenClock(now))
    try {
      const headers = { "X-Forwarded-For": "198.51.100.7, 203.0.113.9" }
      for (let i = 0; i < 2; i++) await same(pair, bytesOf("GET", `${m}/tickers`, headers))
      assert.strictEqual(pair.taken, 2)
      assert.deepStrictEqual(addresses, Array<string>(4).fill("203.0.113.9"))
    } finally {
      await pair.dispose()
    }
  })
})

describe("an entity tag", () => {
  const pair = new Pair(doubles, frozenClock(now))
  afterAll(pair.dispose)
  const get = (target: string, headers = {}) => same(pair, bytesOf("GET", target, headers))

  it("returns 304 to a client that has the newest response", async () => {
    for (const target of [`${m}/instruments-info`, "/api-docs/openapi.json"]) {
      const { headers } = await get(target)
      const etag = headers["etag"]!
      assert.match(etag, /^"[\w-]{27}"$/u)
      for (const value of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
        const known = await get(target, { "If-None-Match": value })
        assert.strictEqual(known.status, 304, value)
        assert.strictEqual(known.body, "")
        assert.strictEqual(known.headers["etag"], etag)
        assert.strictEqual(known.headers["cache-control"], headers["cache-control"])
      }
      assert.strictEqual((await get(target, { "If-None-Match": '"x"' })).status, 200)
      assert.strictEqual((await get(target, { "Accept-Encoding": "gzip" })).headers["etag"], `W/${etag}`)
    }
  })
  it("changes with the answer", async () => {
    const first = (await get(`${m}/instruments-info`)).headers["etag"]
    world.instruments = [btc]
    world.revision++
    assert.notStrictEqual((await get(`${m}/instruments-info`)).headers["etag"], first)
  })
})
