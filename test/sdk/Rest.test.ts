/** REST calls of the SDK: requests, retries and limits, with a simulated clock. */
import { createHash, createPublicKey, verify } from "node:crypto"
import { assert, describe, it } from "vitest"
import { connect, ExchangeError, keyOf } from "../../src/sdk/index.ts"
import { ServerClock } from "../../src/sdk/ServerClock.ts"
import { EPOCH_MS, login, type Reply, seed, World } from "./World.ts"

const vault = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
const order = {
  sub_account_address: vault,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
} as const
const order_id = "018f3f1e-5d5b-7a00-8000-000000000001"
const refusal = (status: number, code: string, details: object): Reply => ({
  status,
  body: { code, message: "no", details, request_id: "r-1" }
})
const duplicate = refusal(409, "CONFLICT", { reason: "DuplicateOrderLinkId", order_id })
const unavailable = (reason: string): Reply => refusal(503, "SERVICE_UNAVAILABLE", { reason })
const fast = () => new World(undefined, true)

/** The error that a call ends with. */
const failureOf = async (call: Promise<unknown>): Promise<ExchangeError> => {
  const error = await call.then(
    () => assert.fail("it was answered"),
    (error: unknown) => error
  )
  assert.instanceOf(error, ExchangeError)
  return error
}

const verifies = (public_key: string, message: string, signature: string): boolean =>
  verify(
    null,
    Buffer.from(message),
    createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(public_key.slice(2), "hex").toString("base64url") },
      format: "jwk"
    }),
    Buffer.from(signature.slice(2), "hex")
  )

describe("a call", () => {
  it("puts its input into path, query and body, and signs what is sent", async () => {
    const world = fast()
    const { public_key } = await keyOf(seed)
    for (const path of ["/order/history", "/order/create", `/user/sub-accounts/${vault}`])
      world.answers.set(path, () => ({ body: { list: [], order_id } }))
    const exchange = await world.connect({ key: seed })
    await exchange.order.history({ symbol: "BTC-USDC", order_status: ["New", "Filled"], limit: 50 })
    await exchange.order.create({ ...order, order_link_id: "a-1" })
    await exchange.user.changeSubAccount({ sub_account_address: vault, label: "a b" })
    assert.deepStrictEqual(
      world.asked.map(({ body, method, uri }) => [method, uri, body]),
      [
        ["GET", "/api/v1/order/history?symbol=BTC-USDC&order_status=New&order_status=Filled&limit=50", ""],
        ["POST", "/api/v1/order/create", JSON.stringify({ ...order, order_link_id: "a-1" })],
        ["PATCH", `/api/v1/user/sub-accounts/${vault}`, '{"label":"a b"}']
      ]
    )
    const nonces = new Set<unknown>()
    for (const { body, headers, method, uri } of world.asked) {
      const hash = createHash("sha256").update(body).digest("hex")
      assert.strictEqual(headers.get("x-body-sha256"), hash)
      const message = `SERVICE_API|${method}|${uri}|${headers.get("x-timestamp-ms")}|${headers.get("x-nonce")}|${hash}`
      assert.isTrue(verifies(public_key, message, headers.get("x-signature")!), message)
      assert.strictEqual(headers.get("content-type"), body === "" ? null : "application/json")
      nonces.add(headers.get("x-nonce"))
    }
    assert.strictEqual(nonces.size, 3)
  })

  it("sends no credential to a public operation", async () => {
    const world = fast()
    world.answers.set("/market/tickers", () => ({ body: { list: [] } }))
    const exchange = await world.connect({ key: seed })
    assert.deepStrictEqual(await exchange.market.tickers(), { list: [] })
    assert.isNull(world.asked[0]!.headers.get("x-api-key"))
  })

  it("rejects with the gateway's error", async () => {
    const world = fast()
    world.answers.set("/order/amend", () => refusal(409, "CONFLICT", { reason: "OrderVersionMismatch", version: 3 }))
    const exchange = await world.connect({ key: seed })
    const error = await failureOf(exchange.order.amend({ ...order, order_id, order_iv: 2 }))
    assert.deepInclude(
      { ...error, reason: error.reason, outcome: error.outcome },
      { status: 409, code: "CONFLICT", reason: "OrderVersionMismatch", outcome: "refused", request_id: "r-1" }
    )
    assert.deepStrictEqual(error.details["version"], 3)
    assert.lengthOf(world.asked, 1)
  })

  it("ends with the caller's signal, and with the client's", async () => {
    const world = new World()
    world.answers.set("/order/history", () => ({ status: 429, headers: { "retry-after": "9" } }))
    const exchange = await world.connect({ key: seed })
    const stop = new AbortController()
    const calls = [exchange.order.history({}, { signal: stop.signal }), exchange.order.history()]
    const ends = calls.map((call) => call.catch((error: unknown) => error))
    while (world.asleep < 2) await new Promise((resolve) => setImmediate(resolve))
    stop.abort("enough")
    assert.strictEqual(await ends[0], "enough")
    exchange.close()
    for (const error of [await ends[1], await exchange.market.tickers().catch((error: unknown) => error)])
      assert.strictEqual(String(error), "AbortError: the client is closed")
  })

  it("ends with the caller's signal while its token is renewed", async () => {
    const world = new World()
    const exchange = await world.connect({ wallet: seed })
    world.answers.set("/authorize", () => undefined)
    world.answers.set("/user/me", () => refusal(401, "UNAUTHORIZED", { reason: "RevokedToken" }))
    const stop = new AbortController()
    const renewing = exchange.user.me({}, { signal: stop.signal }).catch((error: unknown) => error)
    while (world.asleep === 0) await new Promise((resolve) => setImmediate(resolve))
    stop.abort("enough")
    assert.strictEqual(await renewing, "enough")
    world.now_ms = login.expires_at_ms
    const ended = exchange.user.me({}, { signal: AbortSignal.timeout(1) }).catch((error: unknown) => error)
    assert.strictEqual((await ended) instanceof DOMException, true)
    assert.lengthOf(world.asks("/user/me"), 1)
    exchange.close()
  })
})

describe("a call that its caller ends during the request", () => {
  it("rejects with the caller's reason, and is not repeated, also where it is safe to repeat", async () => {
    const world = fast()
    // a signal for each call: whichever is signed first must not end the other one before it is sent
    const stops = new Map(["/order/create", "/order/amend"].map((path) => [path, new AbortController()]))
    const exchange = await world.connect({
      key: seed,
      environment: {
        ...world.environment,
        fetch: async (url, init) => {
          const stop = stops.get(new URL(url).pathname.replace("/api/v1", ""))
          if (stop === undefined) return world.environment.fetch(url, init)
          await world.environment.fetch(url, init).catch(() => {})
          stop.abort("enough")
          throw new TypeError("aborted")
        }
      }
    })
    const ending = (path: string) => ({ signal: stops.get(path)!.signal })
    const ends = await Promise.allSettled([
      exchange.order.create(order, ending("/order/create")),
      exchange.order.amend({ ...order, order_id }, ending("/order/amend"))
    ])
    assert.deepStrictEqual(
      ends.map((end) => end.status === "rejected" && end.reason),
      ["enough", "enough"]
    )
    for (const path of stops.keys()) assert.lengthOf(world.asks(path), 1)
    assert.deepStrictEqual(world.slept, [])
  })
})

describe("the clock", () => {
  it("follows the gateway, whatever the machine's clock shows", async () => {
    const world = fast()
    world.ahead_ms = -3_600_000
    world.answers.set("/user/me", () => ({}))
    const exchange = await world.connect({ key: seed })
    assert.strictEqual(exchange.clock.offset_ms, -3_600_000)
    await exchange.user.me()
    assert.strictEqual(Number(world.asked[0]!.headers.get("x-timestamp-ms")), world.gatewayTime())
  })

  it("is that of the reading and half of its round trip later", () => {
    const world = fast()
    const clock = new ServerClock(world.environment)
    world.now_ms = 5_000
    // sent at 1 s, read by the gateway at 3 s
    clock.set(EPOCH_MS + 3_000 + 90_000, 1_000)
    assert.deepStrictEqual([clock.error_ms, clock.offset_ms, clock.now()], [2_000, 90_000, EPOCH_MS + 95_000])
  })

  it("is corrected once after a stale timestamp", async () => {
    const world = fast()
    const exchange = await world.connect({ key: seed })
    world.ahead_ms = 90_000
    const isStale = (asked: { readonly headers: Headers }) =>
      Number(asked.headers.get("x-timestamp-ms")) !== world.gatewayTime()
    world.answers.set("/user/me", (asked) =>
      isStale(asked)
        ? refusal(401, "UNAUTHORIZED", { reason: "StaleTimestamp", server_time_ms: world.gatewayTime() })
        : {}
    )
    await exchange.user.me()
    assert.lengthOf(world.asked, 2)
    world.answers.set("/user/me", () => refusal(401, "UNAUTHORIZED", { reason: "StaleTimestamp", server_time_ms: 1 }))
    assert.strictEqual((await failureOf(exchange.user.me())).reason, "StaleTimestamp")
    assert.lengthOf(world.asked, 4)
  })
})

describe("a wallet", () => {
  it("logs in as a party, and signs each attempt separately", async () => {
    const world = fast()
    world.answers.set("/authorize", (_, times) => (times === 1 ? undefined : { body: login }))
    const party = "alice::1220aa"
    const exchange = await world.connect({ wallet: seed, party })
    const bodies = world.asks("/authorize").map(({ body }) => JSON.parse(body))
    assert.lengthOf(bodies, 2)
    assert.notStrictEqual(bodies[0].nonce, bodies[1].nonce)
    for (const { nonce, public_key, signature, timestamp_ms, verifying_key } of bodies) {
      assert.strictEqual(public_key, party)
      const message = `SERVICE_AUTH|LOGIN|${public_key}|${timestamp_ms}|${nonce}`
      assert.isTrue(verifies(verifying_key, message, signature))
    }
    exchange.close()
  })

  it("signs with the key whose seed the caller erases meanwhile", async () => {
    const bytes = Uint8Array.from(Buffer.from(seed.replace(/^0x/u, ""), "hex"))
    const loading = keyOf(bytes)
    bytes.fill(0)
    const [key, same] = await Promise.all([loading, keyOf(seed)])
    assert.deepStrictEqual([key.public_key, await key.sign("text")], [same.public_key, await same.sign("text")])
  })

  it("names what is wrong with the options, before any request", async () => {
    const wrong: ReadonlyArray<readonly [object, string]> = [
      [{}, "url: expected an address such as http://127.0.0.1:3010, got undefined"],
      [{ url: "127.0.0.1:3010" }, 'url: expected an address such as http://127.0.0.1:3010, got "127.0.0.1:3010"'],
      [{ url: "ftp://gateway" }, 'url: expected an address such as http://127.0.0.1:3010, got "ftp://gateway"'],
      [{ url: "http://gateway", key: seed, token: "TK" }, "expected at most one of key, wallet, token, got key, token"],
      [
        { url: "http://gateway", apiKey: seed },
        "unknown option apiKey; expected one of url, key, bodyHash, wallet, party,"
      ],
      ...["xyz", `${seed}00`, `0X${seed}`, new Uint8Array(31), 7, null].map(
        (key) => [{ url: "http://gateway", key }, "seed: expected 32 bytes, or 64 hex digits"] as const
      )
    ]
    for (const [options, message] of wrong) {
      let requests = 0
      const environment = {
        fetch: async () => {
          requests++
          throw new Error("no network")
        }
      }
      const error = await connect({ ...options, environment } as never).catch((error: unknown) => error)
      assert.instanceOf(error, Error)
      assert.include(error.message, message)
      assert.strictEqual(requests, 0)
    }
  })

  it("fails to connect if it is refused", async () => {
    const world = fast()
    world.answers.set("/authorize", () => refusal(400, "BAD_REQUEST", { reason: "InvalidSignature" }))
    assert.strictEqual((await failureOf(world.connect({ wallet: seed }))).reason, "InvalidSignature")
  })

  it("renews its token before and after it ends, once for concurrent calls", async () => {
    const world = fast()
    world.answers.set("/authorize", (_, times) => ({
      body: { ...login, token: `TK${times}`, expires_at_ms: world.gatewayTime() + 600_000 }
    }))
    world.answers.set("/user/me", ({ headers }) =>
      headers.get("authorization") === "Bearer TK1"
        ? refusal(401, "UNAUTHORIZED", { reason: "RevokedToken" })
        : { body: { token: headers.get("authorization") } }
    )
    const exchange = await world.connect({ wallet: seed })
    await Promise.all([exchange.user.me(), exchange.user.me(), exchange.user.me()])
    assert.lengthOf(world.asks("/authorize"), 2)
    world.now_ms += 550_000
    const { token } = (await exchange.user.me()) as unknown as { readonly token: string }
    assert.strictEqual(token, "Bearer TK3")
  })

  it("does not renew a token that another call has replaced meanwhile", async () => {
    const world = fast()
    world.answers.set("/authorize", (_, times) => ({ body: { ...login, token: `TK${times}` } }))
    const late = Promise.withResolvers<void>()
    const revoked = refusal(401, "UNAUTHORIZED", { reason: "RevokedToken" })
    const answer = (asked: { readonly headers: Headers }) =>
      asked.headers.get("authorization") === "Bearer TK1" ? revoked : { body: { list: [] } }
    world.answers.set("/user/me", answer)
    world.answers.set("/order/history", answer)
    const { fetch } = world.environment
    const exchange = await world.connect({
      wallet: seed,
      environment: {
        ...world.environment,
        // its refusal arrives after the other call is over
        fetch: async (url, init) => {
          const response = await fetch(url, init)
          if (url.includes("/order/history")) await late.promise
          return response
        }
      }
    })
    const slow = exchange.order.history()
    while (world.asks("/order/history").length === 0) await new Promise((resolve) => setImmediate(resolve))
    await exchange.user.me()
    late.resolve()
    await slow
    assert.lengthOf(world.asks("/authorize"), 2)
    assert.deepStrictEqual(
      world.asks("/order/history").map(({ headers }) => headers.get("authorization")),
      ["Bearer TK1", "Bearer TK2"]
    )
  })

  it("does not log in again after a ban", async () => {
    const world = fast()
    world.answers.set("/user/me", () => refusal(401, "UNAUTHORIZED", { reason: "RevokedToken", cause: "banned" }))
    const exchange = await world.connect({ wallet: seed })
    assert.strictEqual((await failureOf(exchange.user.me())).details["cause"], "banned")
    assert.lengthOf(world.asks("/authorize"), 1)
    assert.lengthOf(world.asks("/user/me"), 1)
  })

  it("rejects if every token is refused", async () => {
    const world = fast()
    world.answers.set("/user/me", () => refusal(401, "UNAUTHORIZED", { reason: "RevokedToken" }))
    const exchange = await world.connect({ wallet: seed })
    assert.strictEqual((await failureOf(exchange.user.me())).reason, "RevokedToken")
    assert.lengthOf(world.asks("/user/me"), 2)
  })
})

describe("rate limits", () => {
  it("delay calls before they are exceeded, per bucket", async () => {
    const world = fast()
    const full = { headers: { "ratelimit-remaining": "0", "ratelimit-reset": "7" }, body: { list: [] } }
    world.answers.set("/order/history", (_, times) => (times === 1 ? full : { body: { list: [] } }))
    world.answers.set("/market/tickers", () => ({ body: { list: [] } }))
    const exchange = await world.connect({ key: seed })
    await exchange.order.history()
    await exchange.market.tickers()
    assert.deepStrictEqual(world.slept, [])
    await exchange.order.history()
    assert.deepStrictEqual(world.slept, [7_000])
  })

  it("of cancels and of other calls are independent", async () => {
    const world = fast()
    const full = (reset: string, body: object) => ({
      headers: { "ratelimit-remaining": "0", "ratelimit-reset": reset },
      body
    })
    world.answers.set("/order/history", (_, times) => (times === 1 ? full("50", { list: [] }) : { body: { list: [] } }))
    for (const path of ["/order/cancel", "/order/cancel-all", "/order/cancel-batch", "/order/disconnect-cancel-all"]) {
      world.answers.set(path, () => ({ body: { list: [] } }))
    }
    const exchange = await world.connect({ key: seed })
    await exchange.order.history()
    const sub_account_address = order.sub_account_address
    await exchange.order.cancel({ ...order, order_id })
    await exchange.order.cancelAll({ sub_account_address })
    await exchange.order.cancelBatch({ orders: [{ ...order, order_id }] })
    await exchange.order.setSwitch({ sub_account_address, enabled: true })
    assert.deepStrictEqual(world.slept, [])
    world.now_ms += 50_000
    world.answers.set("/order/cancel", () => full("40", { order_id }))
    await exchange.order.cancel({ ...order, order_id })
    await exchange.order.history()
    assert.deepStrictEqual(world.slept, [])
    await exchange.order.cancelAll({ sub_account_address })
    assert.deepStrictEqual(world.slept, [40_000])
  })

  it("of reads do not delay a login", async () => {
    const world = fast()
    world.answers.set("/authorize", (_, times) => ({
      body: { ...login, token: `TK${times}`, expires_at_ms: world.gatewayTime() + 600_000 }
    }))
    const full = { headers: { "ratelimit-remaining": "0", "ratelimit-reset": "590" }, body: { list: [] } }
    world.answers.set("/market/tickers", () => full)
    world.answers.set("/user/me", () => ({ body: {} }))
    const exchange = await world.connect({ wallet: seed })
    world.now_ms += 550_000
    await exchange.market.tickers()
    await exchange.user.me()
    assert.lengthOf(world.asks("/authorize"), 2)
    assert.deepStrictEqual(world.slept, [])
  })

  it("that were exceeded delay every call", async () => {
    const world = fast()
    const over = { ...refusal(429, "RateLimitExceeded", {}), headers: { "retry-after": "3" } }
    world.answers.set("/order/cancel", (_, times) => (times <= 2 ? over : { body: { order_id } }))
    const exchange = await world.connect({ key: seed })
    await exchange.order.cancel({ ...order, order_id })
    assert.deepStrictEqual(world.slept, [3_000, 3_000])
  })

  it("delay a call no longer than patience_ms", async () => {
    const world = fast()
    const over = { ...refusal(429, "RateLimitExceeded", {}), headers: { "retry-after": "30" } }
    world.answers.set("/order/history", () => over)
    const exchange = await world.connect({ key: seed, limits: { patience_ms: 65_000 } })
    const error = await failureOf(exchange.order.history())
    assert.deepStrictEqual([error.status, error.code, error.outcome], [429, "RateLimitExceeded", "refused"])
    assert.deepStrictEqual(world.slept, [30_000, 30_000])
  })

  it("do not count as tries of the call", async () => {
    const world = fast()
    const full = { ...refusal(429, "RateLimitExceeded", {}), headers: { "retry-after": "1" } }
    world.answers.set("/order/history", (_, times) => {
      if (times <= 5) return full
      return times === 6 ? undefined : { body: { list: [], next_page_cursor: "" } }
    })
    const exchange = await world.connect({ key: seed, limits: { tries_max: 2 } })
    assert.deepStrictEqual((await exchange.order.history()).list, [])
    assert.lengthOf(world.asked, 7)
  })

  it("of a proxy without headers are retried with back-off, a limited number of times", async () => {
    const world = fast()
    world.answers.set("/order/history", () => ({ status: 429, body: "slow down" }))
    const exchange = await world.connect({ key: seed, limits: { patience_ms: 10_000 } })
    const error = await failureOf(exchange.order.history())
    assert.deepStrictEqual([error.status, error.code], [429, "RateLimitExceeded"])
    assert.deepStrictEqual(world.slept, [150, 300, 600, 1_200, 2_400, 4_800])
  })
})

describe("an unanswered call", () => {
  it("is retried with back-off if it only reads, a limited number of times", async () => {
    const world = fast()
    world.answers.set("/order/history", () => undefined)
    const exchange = await world.connect({ key: seed, limits: { tries_max: 4 } })
    const error = await failureOf(exchange.order.history())
    assert.deepStrictEqual([error.status, error.code, error.outcome], [0, "UNANSWERED", "unknown"])
    assert.lengthOf(world.asked, 4)
    assert.deepStrictEqual(world.slept, [150, 300, 600])
  })

  it("is surely refused where it only reads: an earlier try changed nothing", async () => {
    const world = fast()
    world.answers.set("/order/history", (_, times) =>
      times === 1 ? undefined : refusal(400, "BAD_REQUEST", { reason: "InvalidCursor" })
    )
    const exchange = await world.connect({ key: seed })
    const error = await failureOf(exchange.order.history({ cursor: "x" }))
    assert.deepStrictEqual([error.reason, error.outcome], ["InvalidCursor", "refused"])
    assert.lengthOf(world.asked, 2)
  })

  it("is not retried if it could have effect twice", async () => {
    const world = fast()
    const lost: ReadonlyArray<() => Reply> = [
      () => undefined,
      () => unavailable("DeadlineExceeded"),
      () => ({ status: 502, body: "<html>" }),
      () => ({ body: '{"order_i' })
    ]
    const exchange = await world.connect({ key: seed })
    for (const [i, reply] of lost.entries()) {
      world.answers.set("/order/amend", reply)
      assert.strictEqual((await failureOf(exchange.order.amend({ ...order, order_id }))).outcome, "unknown")
      assert.lengthOf(world.asked, i + 1)
    }
  })

  it("ends with its caller's signal, whatever the Retry-After", async () => {
    const world = fast()
    const away = { status: 503, body: "gone", headers: { "retry-after": "3600" } }
    world.answers.set("/order/history", () => away)
    const exchange = await world.connect({ key: seed })
    assert.strictEqual((await failureOf(exchange.order.history())).status, 503)
    assert.deepStrictEqual([world.slept, world.asked.length], [[], 1])
  })

  it("is retried if the gateway guarantees that nothing happened", async () => {
    const world = fast()
    world.answers.set("/order/amend", (_, times) =>
      times === 1
        ? unavailable("BackendUnavailable")
        : times === 2
          ? unavailable("ShuttingDown")
          : { body: { order_id, order_link_id: "" } }
    )
    const exchange = await world.connect({ key: seed })
    assert.deepStrictEqual(await exchange.order.amend({ ...order, order_id }), { order_id, order_link_id: "" })
    assert.lengthOf(world.asked, 3)
  })
})

describe("a call that an overloaded gateway refused", () => {
  const busy = { ...unavailable("Overloaded"), headers: { "retry-after": "1" } }

  it("is retried after Retry-After, because it was not sequenced", async () => {
    const world = fast()
    world.answers.set("/order/amend", (_, times) => (times <= 2 ? busy : { body: { order_id, order_link_id: "" } }))
    const exchange = await world.connect({ key: seed })
    assert.deepStrictEqual(await exchange.order.amend({ ...order, order_id }), { order_id, order_link_id: "" })
    assert.deepStrictEqual(world.slept, [1_150, 1_300])
  })

  it("repeats only the refused orders of a batch, until the last of its attempts", async () => {
    const world = fast()
    const asked = ({ body }: { readonly body: string }): ReadonlyArray<string> =>
      JSON.parse(body).orders.map(({ order_link_id }: { readonly order_link_id: string }) => order_link_id)
    const ok = (order_link_id: string) => ({ code: "OK", message: "", order_id, order_link_id })
    const late = (order_link_id: string, reason = "Overloaded") => ({
      code: "SERVICE_UNAVAILABLE",
      message: "no",
      order_link_id,
      details: { reason }
    })
    world.answers.set("/order/create-batch", (call, times) => {
      const [first, ...others] = asked(call)
      return {
        body: {
          list:
            times === 1
              ? [late(first!, "BackendLagging"), ok(others[0]!), late(others[1]!)]
              : [ok(first!), ...others.map((link) => late(link))]
        }
      }
    })
    const exchange = await world.connect({ key: seed })
    const orders = ["a", "b", "c"].map((order_link_id) => ({ ...order, order_link_id }))
    assert.deepStrictEqual(await exchange.order.createBatch({ orders }), { list: [ok("a"), ok("b"), ok("c")] })
    assert.deepStrictEqual(world.asked.map(asked), [["a", "b", "c"], ["a", "c"], ["c"]])
    assert.deepStrictEqual(world.slept, [1_150, 1_300])

    const ending = fast()
    ending.answers.set("/order/create-batch", (call, times) =>
      times === 1
        ? { body: { list: [ok("a"), late("b")] } }
        : times === 2
          ? refusal(403, "FORBIDDEN", { reason: "SubAccountFrozen" })
          : assert.fail(call.body)
    )
    const { list } = await (await ending.connect({ key: seed })).order.createBatch({ orders: orders.slice(0, 2) })
    assert.deepStrictEqual(
      list.map(({ code, details }) => [code, details?.["outcome"]]),
      [
        ["OK", undefined],
        ["FORBIDDEN", "refused"]
      ]
    )
  })

  it("does not delay other calls, such as cancels", async () => {
    const world = fast()
    world.answers.set("/order/amend", () => busy)
    world.answers.set("/order/cancel", () => ({ body: { order_id } }))
    const exchange = await world.connect({ key: seed, limits: { tries_max: 1 } })
    const error = await failureOf(exchange.order.amend({ ...order, order_id }))
    assert.deepStrictEqual([error.reason, error.outcome], ["Overloaded", "refused"])
    await exchange.order.cancel({ ...order, order_id })
    assert.deepStrictEqual(world.slept, [])
    // nor calls of the same rate limit
    world.answers.set("/order/cancel-all", () => busy)
    await failureOf(exchange.order.cancelAll({ sub_account_address: vault }))
    await exchange.order.cancel({ ...order, order_id })
    assert.deepStrictEqual(world.slept, [])
  })
})

describe("a new order", () => {
  it("is repeated with the same reference until a response, and returns the first result", async () => {
    const world = fast()
    const replies: ReadonlyArray<Reply> = [undefined, unavailable("DeadlineExceeded"), duplicate]
    world.answers.set("/order/create", (_, times) => replies[times - 1])
    const exchange = await world.connect({ key: seed })
    const placed = await exchange.order.create(order)
    const bodies = world.asked.map(({ body }) => JSON.parse(body))
    assert.lengthOf(bodies, 3)
    assert.match(bodies[0].order_link_id, /^[0-9a-f]{32}$/u)
    for (const body of bodies) assert.deepStrictEqual(body, bodies[0])
    assert.deepStrictEqual(placed, { order_id, order_link_id: bodies[0].order_link_id })
  })

  it("with a reference in use is refused", async () => {
    const world = fast()
    world.answers.set("/order/create", (_, times) => (times === 1 ? unavailable("BackendUnavailable") : duplicate))
    const exchange = await world.connect({ key: seed })
    const error = await failureOf(exchange.order.create({ ...order, order_link_id: "a-1" }))
    assert.deepStrictEqual([error.reason, error.details["order_id"]], ["DuplicateOrderLinkId", order_id])
  })

  it("refused after an unanswered attempt has an unknown outcome", async () => {
    const world = fast()
    const frozen = refusal(403, "FORBIDDEN", { reason: "SubAccountFrozen" })
    world.answers.set("/order/create", (_, times) => (times === 1 ? undefined : frozen))
    const exchange = await world.connect({ key: seed })
    const error = await failureOf(exchange.order.create(order))
    assert.deepStrictEqual([error.reason, error.outcome], ["SubAccountFrozen", "unknown"])
  })

  it("of a batch that is refused as a whole rejects", async () => {
    const world = fast()
    world.answers.set("/order/create-batch", () => refusal(403, "FORBIDDEN", { reason: "MissingScope" }))
    const exchange = await world.connect({ key: seed })
    const error = await failureOf(exchange.order.createBatch({ orders: [order, order] }))
    assert.deepStrictEqual([error.status, error.reason, error.outcome], [403, "MissingScope", "refused"])
  })

  it("of a batch is recognized after an unanswered attempt; the others keep their results", async () => {
    const world = fast()
    const taken = { code: "CONFLICT", message: "no", details: { reason: "DuplicateOrderLinkId", order_id } }
    const wrong = { code: "BAD_REQUEST", message: "no", order_link_id: "", details: { reason: "NotMultipleOfStep" } }
    world.answers.set("/order/create-batch", (_, times) =>
      times === 1 ? undefined : { body: { list: [taken, wrong] } }
    )
    const exchange = await world.connect({ key: seed })
    const { list } = await exchange.order.createBatch({ orders: [{ ...order, order_link_id: "a-1" }, order] })
    assert.deepStrictEqual(list, [{ code: "OK", message: "", order_id, order_link_id: "a-1" }, wrong])
    const links = world.asked.map(({ body }) => JSON.parse(body).orders[1].order_link_id)
    assert.strictEqual(links[0], links[1])
  })
})
