/** The short way of order commands answers what the framework answers. */
import { Effect } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { AuthRefused } from "../../../src/services/identity/AuthErrors.ts"
import {
  CommandRefused,
  OutcomeUnknown,
  overloaded,
  SequencerFault,
  SequencerUnavailable,
  type SubmitError
} from "../../../src/services/Sequencer.ts"
import { type Doubles, foreign, orderId, rate, tokenCaller, v0, v1, well } from "../Fixture.ts"
import { malformed } from "../Malformed.ts"
import { bytesOf, Pair } from "./Pair.ts"

const create = "/api/v1/order/create"
const amend = "/api/v1/order/amend"
const cancel = "/api/v1/order/cancel"
const good = {
  sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
}
const named = { sub_account_address: v1, symbol: "BTC-USDC", order_id: orderId }
const bearer = { Authorization: "Bearer good", "Content-Type": "application/json" }

/** Path, body, headers in place of the usual ones. */
type Case = readonly [path: string, body: unknown, headers?: Record<string, string | ReadonlyArray<string>>]
const without = (name: keyof typeof good) => ({ ...good, [name]: undefined })

const plain: ReadonlyArray<Case> = [
  [create, good],
  [create, { ...good, order_link_id: "a-1", post_only: true, smp_type: "CancelMaker" }],
  [create, { ...good, time_in_force: "PostOnly" }],
  [create, { ...good, time_in_force: "GTC", price: null, order_type: "Market" }],
  [create, { ...good, order_type: "Market", price: "", time_in_force: "IOC" }],
  [create, { ...good, sub_account_address: v1.slice(2).toUpperCase() }],
  [create, { ...good, sub_account_address: foreign }],
  [create, { ...good, symbol: "NO-SUCH" }],
  [create, { ...good, unknown_field: 1 }],
  [create, { ...good, reduceOnly: true }],
  [create, { ...good, qty: 0.5 }],
  [create, { ...good, qty: "0.0005" }],
  [create, { ...good, qty: "1e3" }],
  [create, { ...good, qty: `1.${"0".repeat(19)}` }],
  [create, { ...good, qty: "101" }],
  [create, { ...good, price: "60000.05" }],
  [create, { ...good, price: "0.05" }],
  [create, { ...good, side: "buy" }],
  [create, { ...good, order_type: null }],
  [create, { ...good, post_only: "true" }],
  [create, { ...good, post_only: true, time_in_force: "IOC" }],
  [create, { ...good, order_link_id: "a b" }],
  [create, { ...good, order_link_id: "ü" }],
  [create, { ...good, trigger: {} }],
  [create, { ...good, expire_time: 1 }],
  [create, without("symbol")],
  [create, without("sub_account_address")],
  [create, without("price")],
  [create, without("qty")],
  [create, "{}"],
  [create, "[]"],
  [create, "null"],
  [create, "{"],
  [create, '{"symbol":"a","symbol":"b"}'],
  [create, `{"__proto__":{"symbol":"x"},${JSON.stringify(good).slice(1)}`],
  [create, ` \n${JSON.stringify(good, undefined, 2)}\t`],
  [create, JSON.stringify(good).replace("BTC", "\\u0042TC")],
  [create, `\ufeff${JSON.stringify(good)}`],
  [create, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  [create, "[".repeat(10_000)],
  [create, JSON.stringify({ ...good, x: "y".repeat(200_000) })],
  [amend, { ...named, price: "60001" }],
  [amend, { ...named, qty: "0.4", order_iv: 1 }],
  [amend, { ...named, qty: "0.4", order_iv: -1 }],
  [amend, JSON.stringify({ ...named, qty: "0.4", order_iv: 1 }).replace(":1}", ":1.0}")],
  [amend, { ...named, qty: "0.4", order_iv: 2 ** 60 }],
  [amend, named],
  [amend, { ...named, order_id: undefined, price: "60001" }],
  [amend, { ...named, order_id: orderId.toUpperCase(), price: "60001" }],
  [amend, { ...named, order_id: "x", price: "60001" }],
  [amend, { ...named, price: "60000.05" }],
  [cancel, named],
  [cancel, { ...named, order_id: undefined, order_link_id: "a-1" }],
  [cancel, { ...named, symbol: "NO-SUCH" }],
  [cancel, {}],
  [create, good, { ...bearer, Authorization: "bearer   good " }],
  [create, good, { ...bearer, Authorization: "Bearer bad" }],
  [create, good, { ...bearer, Authorization: "Bearer" }],
  [create, good, { ...bearer, Authorization: "Basic Z29vZDpnb29k" }],
  [create, "{", { ...bearer, Authorization: "Bearer bad" }],
  [create, good, { "Content-Type": "application/json" }],
  [create, good, { ...bearer, Authorization: ["Bearer good", "Bearer good"] }],
  [create, good, { ...bearer, "X-Api-Key": "k" }],
  [create, good, { "Content-Type": "application/json", "X-Api-Key": "k", "X-Nonce": "aaaaaaaa" }],
  [create, good, { "Content-Type": "application/json", "X-Api-Key": "key", "X-Nonce": "aaaaaaaa" }],
  [cancel, named, { "Content-Type": "application/json", "X-Api-Key": "reader" }],
  [create, good, { Authorization: "Bearer good" }],
  [create, good, { ...bearer, "Content-Type": "application/json; charset=UTF-8" }],
  [create, good, { ...bearer, "Content-Type": "application/json; charset=latin1" }],
  [create, good, { ...bearer, "Content-Type": "text/plain" }],
  [create, good, { ...bearer, "Content-Type": "Application/JSON" }],
  [create, good, { ...bearer, "Accept-Encoding": "gzip, br" }],
  [create, good, { ...bearer, "X-Forwarded-For": "203.0.113.9" }],
  [create, good, { ...bearer, Connection: "close" }],
  [create, good, { ...bearer, Origin: "https://example.com" }]
]

/** Forms that the short way leaves alone. */
const odd: ReadonlyArray<Buffer> = [
  bytesOf("POST", `${create}?x=1`, bearer, JSON.stringify(good)),
  bytesOf("POST", `${create}?x=1&x=2`, bearer, JSON.stringify(good)),
  bytesOf("POST", `${create}?`, bearer, JSON.stringify(good)),
  bytesOf("POST", `${create}/`, bearer, JSON.stringify(good)),
  bytesOf("POST", `/api/v1/order/%63reate`, bearer, JSON.stringify(good)),
  bytesOf("POST", `/api/v1/ORDER/create`, bearer, JSON.stringify(good)),
  bytesOf("POST", `http://gateway${create}`, bearer, JSON.stringify(good)),
  bytesOf("GET", create, bearer),
  bytesOf("HEAD", create, bearer),
  bytesOf("OPTIONS", create, { "Access-Control-Request-Method": "POST" }),
  bytesOf("PUT", create, bearer, JSON.stringify(good)),
  bytesOf("POST", create, bearer),
  bytesOf("POST", create, bearer, ""),
  bytesOf("POST", create, { ...bearer, "Content-Encoding": "gzip" }, JSON.stringify(good)),
  bytesOf("POST", create, { ...bearer, Expect: "100-continue" }, JSON.stringify(good)),
  bytesOf("POST", create, { ...bearer, "Content-Length": "262145" }),
  bytesOf("POST", create, { ...bearer, "Transfer-Encoding": "chunked" }, "2\r\n{}\r\n0\r\n\r\n"),
  Buffer.from(`POST ${create} HTTP/1.1\r\nX-Request-Id: a\r\nContent-Length: 2\r\n\r\n{}`)
]

const authenticator: Doubles["authenticator"] = {
  signed: ({ api_key }) => {
    const caller = { ...tokenCaller, via: "api-key" as const, credential: "key-1", bound_to: new Set([v0, v1]) }
    switch (api_key) {
      case "key":
        return Effect.succeed({ caller, claimNonce: Effect.void })
      case "reader":
        return Effect.succeed({ caller: { ...caller, scopes: new Set(["read"] as const) }, claimNonce: Effect.void })
      default:
        return Effect.fail(new AuthRefused({ reason: "UnknownApiKey", details: {} }))
    }
  }
}

const same = async (pair: Pair, cases: ReadonlyArray<Case>): Promise<ReadonlyArray<number>> => {
  const statuses: Array<number> = []
  for (const [path, body, headers] of cases) {
    const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const [hot, framework] = await pair.ask(bytesOf("POST", path, headers ?? bearer, text))
    assert.deepStrictEqual(hot, framework, `${path} ${text.toString().slice(0, 300)} ${JSON.stringify(headers)}`)
    statuses.push(hot.status)
  }
  return statuses
}

describe("the short way of orders", () => {
  const pair = new Pair(() => ({ authenticator }))
  afterAll(pair.dispose)

  it("answers every plain request as the framework does, and takes them all", async () => {
    const statuses = await same(pair, plain)
    assert.strictEqual(pair.taken, plain.length)
    assert.deepStrictEqual([...new Set(statuses)].toSorted(), [200, 400, 401, 403, 404, 415])
  })
  it("leaves every other form to the framework", async () => {
    const before = pair.taken
    for (const bytes of odd) {
      const [hot, framework] = await pair.ask(bytes)
      assert.deepStrictEqual(hot, framework, bytes.toString("latin1"))
    }
    assert.strictEqual(pair.taken, before)
  })
  it("refuses a second Authorization header in any case, and counts no value that has its name", async () => {
    const json = { "Content-Type": "application/json" }
    const text = JSON.stringify(good)
    const answerTo = async (headers: Record<string, string | ReadonlyArray<string>>) => {
      const [hot, framework] = await pair.ask(bytesOf("POST", create, { ...json, ...headers }, text))
      assert.deepStrictEqual(hot, framework, JSON.stringify(headers))
      return [hot.status, (JSON.parse(hot.body) as { details?: { reason?: string } }).details?.reason]
    }
    const ambiguous = [400, "AmbiguousAuth"]
    assert.deepStrictEqual(await answerTo({ Authorization: ["Bearer good", "Bearer good"] }), ambiguous)
    assert.deepStrictEqual(await answerTo({ Authorization: "Bearer good", AUTHORIZATION: "Bearer bad" }), ambiguous)
    assert.deepStrictEqual(await answerTo({ authorization: "Bearer bad", Authorization: "Bearer good" }), ambiguous)
    const named = { Authorization: "Bearer good", "X-Note": "authorization" }
    assert.deepStrictEqual(await answerTo(named), [200, undefined])
  })
  it("ignores the type of an absent body", async () => {
    const text = { ...bearer, "Content-Type": "text/plain" }
    const chunked = { ...text, "Transfer-Encoding": "chunked" }
    for (const bytes of [
      bytesOf("POST", create, text),
      bytesOf("POST", create, text, ""),
      bytesOf("POST", create, chunked, "0\r\n\r\n")
    ]) {
      const [{ body, status }] = await pair.ask(bytes)
      const { details } = JSON.parse(body) as { readonly details: { readonly reason: string } }
      assert.deepStrictEqual([status, details.reason], [400, "MissingField"])
    }
  })
  it("takes a body that comes in pieces", async () => {
    const text = JSON.stringify({ ...good, note: "y".repeat(100_000) })
    const [hot, framework] = await pair.ask(bytesOf("POST", create, bearer, text))
    assert.deepStrictEqual(hot, framework)
  })
  it("answers malformed requests alike", async () => {
    let count = 0
    for (const { body, headers, method, target, text } of malformed(20_260_101, {
      bearer: "Bearer good",
      basic: "Basic x"
    })) {
      if (method !== "POST" || !target.startsWith("/api/v1/order/")) continue
      const [hot, framework] = await pair.ask(
        bytesOf(method, target.replace(/\?.*$/u, ""), { "Content-Type": "application/json", ...headers }, body)
      )
      assert.deepStrictEqual(hot, framework, text)
      if (++count === 120) break
    }
  }, 60_000)
})

describe("the short way of orders, behind a proxy", () => {
  it("takes the client's address from the proxy, as the framework does", async () => {
    const addresses: Array<string> = []
    const pair = new Pair(() => ({
      trustedProxies: 1,
      authenticator: {
        bearer: (_, client_ip) => {
          addresses.push(client_ip)
          return Effect.succeed(tokenCaller)
        }
      }
    }))
    try {
      const headers = { ...bearer, "X-Forwarded-For": "198.51.100.7, 203.0.113.9" }
      assert.deepStrictEqual(await same(pair, [[create, good, headers]]), [200])
      assert.strictEqual(pair.taken, 1)
      assert.deepStrictEqual(addresses, ["203.0.113.9", "203.0.113.9"])
    } finally {
      await pair.dispose()
    }
  })
})

describe("the short way of orders, where token and rate are known at once", () => {
  for (const allowed of [true, false]) {
    it(`answers as the framework does that asks for both: ${allowed ? "within" : "beyond"} the rate`, async () => {
      let now = 0
      const standing = rate(allowed)
      const asked = { authenticator, limiter: { take: () => Effect.succeed(standing) } } satisfies Doubles
      const pair = new Pair(() => asked, undefined, {
        authenticator: { ...authenticator, bearerNow: (token) => (token === "good" ? tokenCaller : undefined) },
        limiter: {
          ...asked.limiter,
          takeAllNow: () => {
            now++
            return standing
          }
        }
      })
      try {
        const statuses = await same(pair, plain)
        assert.include(statuses, allowed ? 200 : 429)
        assert.strictEqual(pair.taken, plain.length)
        assert.isAbove(now, 0)
      } finally {
        await pair.dispose()
      }
    })
  }
})

describe("the short way of orders, where something below refuses", () => {
  const failing = (error: SubmitError): Doubles => ({ authenticator, sequencer: { submit: () => Effect.fail(error) } })
  const cases: ReadonlyArray<Case> = [
    [create, good],
    [amend, { ...named, qty: "0.4" }],
    [cancel, named]
  ]
  const situations: Record<string, () => Doubles> = {
    "the sequencer refuses": () =>
      failing(new CommandRefused({ reason: "OrderNotFound", message: "no order", details: { order_id: orderId } })),
    "the sequencer is away": () => failing(new SequencerUnavailable({})),
    "the outcome is unknown": () => failing(new OutcomeUnknown()),
    "the sequencer answers nonsense": () => failing(new SequencerFault({})),
    "the gateway is busy": () => failing(overloaded),
    "something breaks": () => ({ sequencer: { submit: () => Effect.die(new Error("broken")) } }),
    "the answer breaks its schema": () => ({
      sequencer: {
        submit: () =>
          Effect.succeed({
            seq: 1,
            accepted_at_ms: 1,
            orders: [{ order_id: "x", order_link_id: "" }],
            duplicate: false,
            version: undefined,
            result: undefined
          })
      }
    }),
    "the order is a duplicate": () => ({
      sequencer: {
        submit: () =>
          Effect.succeed({
            seq: 1,
            accepted_at_ms: 1,
            orders: [{ order_id: orderId, order_link_id: "" }],
            duplicate: true,
            version: undefined,
            result: undefined
          })
      }
    }),
    "the backend lags": () => ({ health: { sequencer: () => ({ ...well, unhealthy: true, lag_events: 9 }) } }),
    "the backend is away": () => ({ health: { sequencer: () => ({ ...well, unhealthy: true, connected: false }) } }),
    "the markets are not loaded": () => ({ markets: { instruments: () => [], instrument: () => undefined } }),
    "the rate is counted": () => ({ limiter: { take: () => Effect.succeed(rate(true)) } }),
    "the rate is exceeded": () => ({ limiter: { take: () => Effect.succeed(rate(false)) } }),
    "a proxy stands in front": () => ({ trustedProxies: 1 })
  }
  for (const [name, doubles] of Object.entries(situations)) {
    it(`answers alike: ${name}`, async () => {
      const pair = new Pair(doubles)
      try {
        await same(pair, cases)
        assert.strictEqual(pair.taken, cases.length)
      } finally {
        await pair.dispose()
      }
    })
  }
})

describe("the short way of orders, while the gateway admits no more commands", () => {
  const refusing = (asked: Array<string | undefined>): Doubles => ({
    authenticator: { ...authenticator, bearerNow: (token: string) => (token === "good" ? tokenCaller : undefined) },
    commandAdmission: {
      isBusy: () => true,
      refusesNow: (user_id) => {
        asked.push(user_id)
        return true
      }
    },
    sequencer: { submit: () => Effect.die("a refused command was submitted") }
  })
  // the framework refuses behind the body, where the command is handed over
  const behind: Doubles = { authenticator, sequencer: { submit: () => Effect.fail(overloaded) } }

  it("Amendment 30: refuses before it reads the body, as the framework does behind it", async () => {
    const asked: Array<string | undefined> = []
    const pair = new Pair(() => behind, undefined, refusing(asked))
    try {
      await same(pair, [
        [create, good],
        [amend, { ...named, qty: "0.4" }]
      ])
      const [answer] = await pair.ask(bytesOf("POST", create, bearer, JSON.stringify(good)))
      assert.strictEqual(answer.status, 503)
      assert.strictEqual(answer.headers["retry-after"], "1")
      assert.deepStrictEqual(JSON.parse(answer.body), {
        code: "SERVICE_UNAVAILABLE",
        message: "the gateway is busy; nothing was sequenced; repeat after Retry-After",
        details: { reason: "Overloaded" },
        request_id: "asked-1"
      })
      // what the body says does not matter, nor who sends it
      const [unread] = await pair.ask(bytesOf("POST", create, {}, "no JSON"))
      assert.strictEqual(unread.status, 503)
      assert.deepStrictEqual(new Set(asked), new Set([tokenCaller.user_id, undefined]))
    } finally {
      await pair.dispose()
    }
  })

  it("refuses nothing while no command waits", async () => {
    const admission = { isBusy: () => false, refusesNow: () => true }
    const pair = new Pair(() => ({ authenticator }), undefined, { commandAdmission: admission })
    try {
      assert.deepStrictEqual(await same(pair, [[create, good]]), [200])
    } finally {
      await pair.dispose()
    }
  })

  it("interrupts a command whose caller leaves before the answer", async () => {
    const begun = Promise.withResolvers<void>()
    const interrupted = Promise.withResolvers<void>()
    const submit = () =>
      Effect.callback<never>(() => {
        begun.resolve()
        return Effect.sync(() => interrupted.resolve())
      })
    const pair = new Pair(() => ({ authenticator, sequencer: { submit } }))
    try {
      await pair.leave(bytesOf("POST", create, bearer, JSON.stringify(good)), begun.promise)
      await interrupted.promise
    } finally {
      await pair.dispose()
    }
  })

  it("Amendment 30: takes cancels", async () => {
    const asked: Array<string | undefined> = []
    const pair = new Pair(() => ({ authenticator }), undefined, {
      commandAdmission: refusing(asked).commandAdmission!
    })
    try {
      await same(pair, [[cancel, named]])
      assert.deepStrictEqual(asked, [])
    } finally {
      await pair.dispose()
    }
  })
})
