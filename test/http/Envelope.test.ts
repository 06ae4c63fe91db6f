import { Effect } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { AuthRefused, AuthUnavailable } from "../../src/services/identity/AuthErrors.ts"
import { CommandRefused, OutcomeUnknown } from "../../src/services/Sequencer.ts"
import {
  type Ask,
  ADMIN,
  btc,
  draft,
  foreign,
  gateway,
  orderId,
  rate,
  tokenCaller,
  userId,
  v0,
  v1,
  well
} from "./Fixture.ts"

const plain = gateway()
afterAll(plain.dispose)

const order = {
  sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
}
const CREATE = "/api/v1/order/create"

interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly details?: { readonly reason?: string; readonly field?: string; readonly [key: string]: unknown }
  readonly request_id?: string
}
const refusal = async (response: Response): Promise<ErrorBody> => (await response.json()) as ErrorBody
const reasonOf = async (method: string, path: string, ask?: Ask) => {
  const response = await plain.fetch(method, path, ask)
  const { details } = await refusal(response)
  return [response.status, details?.reason, details?.field]
}

describe("routes", () => {
  it("answer unknown paths with 404 and the one error body", async () => {
    for (const path of ["/", "/nope", "/api/v1", "/api/v1/order", "/api/v2/market/time", "/api/v1/access"]) {
      const response = await plain.fetch("GET", path)
      assert.strictEqual(response.status, 404, path)
      const { code, message, details, request_id } = await refusal(response)
      assert.deepStrictEqual(
        { code, message, details },
        { code: "NOT_FOUND", message: "no such route", details: { reason: "NoSuchRoute" } }
      )
      assert.strictEqual(request_id, response.headers.get("x-request-id"))
    }
  })
  it("are exact", async () => {
    for (const path of [
      "/api/v1/market/time/",
      "/api/v1/Market/time",
      "//api/v1/market/time",
      "/api/v1//market/time",
      "/HEALTH",
      "/api/v1/authorize/",
      "/api/v1/user/api-keys/a/b"
    ]) {
      assert.strictEqual((await plain.fetch("GET", path)).status, 404, path)
    }
  })
  it("have parameters of up to 765 characters", async () => {
    const of = (length: number) => `/api/v1/user/api-keys/${"a".repeat(length)}`
    const tooLong = await plain.fetch("DELETE", of(766))
    assert.strictEqual(tooLong.status, 404)
    assert.deepInclude(await refusal(tooLong), { message: "no such route" })
    assert.notInclude(await refusal(await plain.fetch("DELETE", of(765))), { message: "no such route" })
    assert.strictEqual((await plain.fetch("POST", of(766))).status, 405)
  })
  it("list the methods of a path", async () => {
    const allow = async (method: string, path: string) => {
      const response = await plain.fetch(method, path)
      assert.strictEqual(response.status, 405, path)
      assert.strictEqual((await refusal(response)).code, "BAD_REQUEST")
      return response.headers.get("allow")
    }
    assert.strictEqual(await allow("POST", "/api/v1/market/time"), "GET, HEAD, OPTIONS")
    assert.strictEqual(await allow("GET", CREATE), "POST, OPTIONS")
    assert.strictEqual(await allow("PUT", "/api/v1/admin/access-codes"), "POST, GET, HEAD, OPTIONS")
    assert.strictEqual(await allow("POST", "/api/v1/authorize/whitelist/0x1"), "PUT, GET, DELETE, HEAD, OPTIONS")
    assert.strictEqual(await allow("POST", "/ws"), "GET, HEAD, OPTIONS")
  })
  it("require an upgrade on a WebSocket path", async () => {
    for (const path of ["/ws", "/ws/public", "/ws/private"]) {
      const response = await plain.fetch("GET", path)
      assert.strictEqual(response.status, 426)
      assert.strictEqual(response.headers.get("upgrade"), "websocket")
      assert.strictEqual((await refusal(response)).code, "BAD_REQUEST")
      assert.strictEqual((await plain.fetch("HEAD", path)).status, 426)
    }
  })
})

describe("headers", () => {
  it("repeat a sound request id and replace any other", async () => {
    const idOf = async (id: string) =>
      (await plain.fetch("GET", "/health", { headers: { "x-request-id": id } })).headers.get("x-request-id")
    for (const sound of ["abc-DEF_1", "x", "x".repeat(64)]) assert.strictEqual(await idOf(sound), sound)
    for (const bad of ["a b", "ä".normalize("NFD").replace(/\P{ASCII}/gu, ":"), "x".repeat(65), "a/b"]) {
      assert.match((await idOf(bad))!, /^[0-9a-f-]{36}$/u)
    }
  })
  it("open every answer to every origin", async () => {
    for (const [method, path] of [
      ["GET", "/health"],
      ["GET", "/nope"],
      ["POST", CREATE]
    ] as const) {
      const { headers } = await plain.fetch(method, path)
      assert.strictEqual(headers.get("access-control-allow-origin"), "*")
      assert.sameMembers(headers.get("access-control-expose-headers")!.split(", "), [
        "RateLimit",
        "RateLimit-Policy",
        "RateLimit-Limit",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "Retry-After",
        "X-Request-Id",
        "X-Data-Age-Ms"
      ])
      assert.isNull(headers.get("access-control-allow-credentials"))
    }
  })
  it("answer a preflight with what it asks for", async () => {
    const response = await plain.fetch("OPTIONS", CREATE, {
      authorization: null,
      headers: {
        origin: "https://example.org",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,x-nonce"
      }
    })
    assert.strictEqual(response.status, 204)
    assert.strictEqual(response.headers.get("access-control-allow-methods"), "POST")
    assert.strictEqual(response.headers.get("access-control-allow-headers"), "authorization,x-nonce")
    assert.strictEqual(response.headers.get("access-control-max-age"), "86400")
    assert.strictEqual(response.headers.get("access-control-allow-origin"), "*")
    assert.strictEqual(response.headers.get("vary"), "Access-Control-Request-Method, Access-Control-Request-Headers")
    assert.isNotNull(response.headers.get("x-request-id"))
    assert.strictEqual(await response.text(), "")
  })
  it("answer a preflight that asks for nothing with every method", async () => {
    const { headers } = await plain.fetch("OPTIONS", CREATE, { authorization: null })
    assert.strictEqual(headers.get("access-control-allow-methods"), "GET, POST, PUT, PATCH, DELETE")
    assert.isNull(headers.get("access-control-allow-headers"))
  })
  it("let only instruments and risk limits be cached", async () => {
    const cacheOf = async (path: string) => (await plain.fetch("GET", path)).headers.get("cache-control")
    assert.strictEqual(await cacheOf("/api/v1/market/instruments-info"), "max-age=5")
    assert.strictEqual(await cacheOf("/api/v1/market/risk-limit?symbol=BTC-USDC"), "max-age=5")
    assert.strictEqual(await cacheOf("/api/v1/market/instruments-info?limit=0"), "no-store")
    assert.strictEqual(await cacheOf("/api/v1/market/time"), "no-store")
    assert.strictEqual(await cacheOf("/nope"), "no-store")
  })
  it("spare a client the page or the document that it has, in whatever coding", async () => {
    for (const path of ["/api-docs/openapi.json", "/swagger-ui"]) {
      const etag = (await plain.fetch("GET", path)).headers.get("etag")
      assert.isNotNull(etag, path)
      const again = await plain.fetch("GET", path, { headers: { "if-none-match": etag! } })
      assert.strictEqual(again.status, 304, path)
      assert.strictEqual(again.headers.get("vary"), "Accept-Encoding")
      assert.strictEqual(await again.text(), "")
    }
  })
  it("compress long bodies when asked", async () => {
    const ask = { headers: { "accept-encoding": "gzip" } }
    const long = await plain.fetch("GET", "/api-docs/openapi.json", ask)
    assert.strictEqual(long.headers.get("content-encoding"), "gzip")
    const text = await new Response(long.body!.pipeThrough(new DecompressionStream("gzip"))).text()
    assert.strictEqual((JSON.parse(text) as { readonly openapi: string }).openapi, "3.1.0")
    assert.isNull((await plain.fetch("GET", "/health", ask)).headers.get("content-encoding"))
    assert.isNull((await plain.fetch("GET", "/api-docs/openapi.json")).headers.get("content-encoding"))
  })
})

describe("the order of the checks", () => {
  const bad = { ...order, qty: 1 }
  it("refuses a body in a content coding, which is not JSON as it is sent", async () => {
    for (const coding of ["gzip", "br", "identity"]) {
      for (const headers of [{ "content-encoding": coding }, { "transfer-encoding": `${coding}, chunked` }]) {
        const coded = { body: order, headers }
        assert.deepStrictEqual((await reasonOf("POST", CREATE, coded)).slice(0, 2), [415, "WrongMediaType"])
      }
    }
  })
  it("accepts JSON in UTF-8 alone, in any spelling of its type", async () => {
    const statusOf = async (type: string) =>
      (await plain.fetch("POST", CREATE, { body: order, headers: { "content-type": type } })).status
    for (const type of [
      "application/json",
      "Application/JSON",
      "application/json ",
      "application/json;charset=utf-8",
      'application/json ; Charset = "UTF-8"'
    ]) {
      assert.strictEqual(await statusOf(type), 200, type)
    }
    for (const type of [
      "text/plain",
      "application/jsonp",
      "application/json-patch+json",
      "application/json; charset=latin1",
      "application/json; charset=utf-16",
      "application/json; charset=utf-8; q=1",
      "application/json, text/plain",
      "text/plain; application/json"
    ]) {
      assert.strictEqual(await statusOf(type), 415, type)
    }
  })
  it("ignores the type of a body that is absent or has no bytes", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "*/*"]) {
      for (const length of [{}, { "content-length": "0" }, { "transfer-encoding": "chunked" }]) {
        const empty = { headers: { ...length, "content-type": type } }
        assert.strictEqual((await plain.fetch("POST", "/api/v1/authorize/logout", empty)).status, 200)
        assert.deepStrictEqual((await reasonOf("POST", CREATE, empty)).slice(0, 2), [400, "MissingField"])
      }
    }
  })
  it("is type and size, credentials, shape", async () => {
    const text = { raw: "{", headers: { "content-type": "text/plain" } }
    assert.deepStrictEqual((await reasonOf("POST", CREATE, { ...text, authorization: null }))[0], 415)
    assert.deepStrictEqual((await reasonOf("POST", CREATE, { raw: "x".repeat(262_145), authorization: null }))[0], 413)
    assert.deepStrictEqual(await reasonOf("POST", CREATE, { body: bad, authorization: null }), [
      401,
      "MissingToken",
      undefined
    ])
    assert.deepStrictEqual(await reasonOf("POST", CREATE, { raw: "{", authorization: "Bearer bad" }), [
      401,
      "InvalidToken",
      undefined
    ])
    assert.deepStrictEqual(await reasonOf("POST", CREATE, { raw: "{" }), [400, "MalformedJson", undefined])
    assert.deepStrictEqual(await reasonOf("POST", CREATE, { body: bad }), [400, "InvalidDecimal", "qty"])
    assert.deepStrictEqual((await reasonOf("GET", "/api/v1/order/history?a=%", { authorization: null }))[0], 401)
    assert.deepStrictEqual(await reasonOf("GET", "/api/v1/order/history?a=%"), [400, "InvalidField", "a"])
    assert.deepStrictEqual(await reasonOf("GET", "/api/v1/order/history?side=Buy&side=Sell"), [
      400,
      "InvalidField",
      "side"
    ])
  })
  it("takes one kind of credentials", async () => {
    const both = { body: order, headers: { "x-api-key": "k" } }
    assert.deepStrictEqual((await reasonOf("POST", CREATE, both)).slice(0, 2), [400, "AmbiguousAuth"])
    assert.deepStrictEqual((await reasonOf("POST", CREATE, { ...both, authorization: null })).slice(0, 2), [
      401,
      "UnknownApiKey"
    ])
    // another scheme than Bearer is that of a proxy in front
    const proxied = { ...both, authorization: "Basic cHJveHk6c2VjcmV0" }
    assert.deepStrictEqual((await reasonOf("POST", CREATE, proxied)).slice(0, 2), [401, "UnknownApiKey"])
  })
  it("counts a request before its nonce is spent, and its scope after it", async () => {
    const seen: Array<string> = []
    const { fetch, dispose } = gateway({
      authenticator: {
        signed: () =>
          Effect.sync(() => {
            seen.push("signed")
            return {
              caller: { ...tokenCaller, via: "api-key", credential: "key-1", scopes: new Set(["read"] as const) },
              claimNonce: Effect.suspend(() => {
                seen.push("nonce")
                return seen.length < 5
                  ? Effect.void
                  : Effect.fail(new AuthRefused({ reason: "NonceReused", details: {} }))
              })
            }
          })
      },
      limiter: {
        take: (bucket, key) =>
          Effect.sync(() => {
            seen.push(`${bucket} ${key}`)
            return { ...rate(true), bucket }
          })
      }
    })
    const ask = { body: order, authorization: null, headers: { "x-api-key": "k" } }
    const first = await fetch("POST", CREATE, ask)
    assert.deepStrictEqual(seen, ["signed", "api-key key-1", "nonce"])
    assert.strictEqual(first.status, 403)
    assert.deepStrictEqual((await refusal(first)).details, { reason: "InsufficientScope", required: "trade" })
    assert.strictEqual(first.headers.get("ratelimit-policy"), '"api-key";q=60;w=60')
    const again = await fetch("POST", CREATE, ask)
    assert.strictEqual((await refusal(again)).details?.reason, "NonceReused")
    const only = await fetch("GET", "/api/v1/user/api-keys", { authorization: null, headers: { "x-api-key": "k" } })
    assert.strictEqual(only.status, 401)
    await dispose()
  })
  it("keeps API keys off what needs a token", async () => {
    const { fetch, dispose } = gateway({
      authenticator: {
        signed: () => Effect.succeed({ caller: { ...tokenCaller, via: "api-key" }, claimNonce: Effect.void })
      }
    })
    const response = await fetch("GET", "/api/v1/user/api-keys", { authorization: null, headers: { "x-api-key": "k" } })
    assert.strictEqual(response.status, 403)
    assert.strictEqual((await refusal(response)).details?.reason, "BearerOnly")
    await dispose()
  })
  it("signs over the request target as sent, and the body's hash", async () => {
    let request: unknown
    const { fetch, dispose } = gateway({
      authenticator: {
        signed: (asked) => {
          request = asked
          return Effect.fail(new AuthRefused({ reason: "InvalidSignature", details: {} }))
        }
      }
    })
    const headers = {
      "x-api-key": "k",
      "x-signature": "s",
      "x-timestamp-ms": "1",
      "x-nonce": "n",
      "x-body-sha256": "h"
    }
    await fetch("POST", `${CREATE}?b=%7C&a=1`, { raw: "{}", authorization: null, headers })
    assert.deepStrictEqual(request, {
      method: "POST",
      uri: `${CREATE}?b=%7C&a=1`,
      api_key: "k",
      signature: "s",
      timestamp_ms: "1",
      nonce: "n",
      body_sha256: "h",
      actual_body_sha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
      client_ip: "127.0.0.1"
    })
    await dispose()
  })
})

describe("answers", () => {
  it("ask for the credentials that are missing", async () => {
    const challenge = async (method: string, path: string) =>
      (await plain.fetch(method, path, { authorization: null })).headers.get("www-authenticate")
    assert.strictEqual(await challenge("GET", "/api/v1/user/me"), "Bearer")
    assert.strictEqual(await challenge("PUT", "/api/v1/authorize/whitelist/0x1"), 'Basic realm="gateway"')
  })
  it("have the state of the bucket, and the time of the next request", async () => {
    let allowed = true
    const { fetch, dispose } = gateway({ limiter: { take: () => Effect.sync(() => rate(allowed)) } })
    const good = await fetch("GET", "/api/v1/market/time", { authorization: null })
    assert.strictEqual(good.headers.get("ratelimit-limit"), "60")
    assert.strictEqual(good.headers.get("ratelimit-remaining"), "59")
    assert.strictEqual(good.headers.get("ratelimit"), '"public";r=59;t=1')
    assert.isNull(good.headers.get("retry-after"))
    allowed = false
    const refused = await fetch("GET", "/api/v1/market/time", { authorization: null })
    assert.strictEqual(refused.status, 429)
    assert.strictEqual(refused.headers.get("retry-after"), "1")
    const { code, message } = await refusal(refused)
    assert.deepStrictEqual([code, message], ["RateLimitExceeded", "rate limit exceeded"])
    assert.isNull((await fetch("GET", "/health")).headers.get("ratelimit-limit"))
    await dispose()
  })
  it("hide what went wrong inside", async () => {
    const { fetch, dispose } = gateway({
      history: { orders: () => Effect.die(new Error("secret path /etc")) },
      sequencer: { submit: () => Effect.sync(() => JSON.parse("{")) }
    })
    for (const response of [
      await fetch("GET", "/api/v1/order/history"),
      await fetch("POST", CREATE, { body: order })
    ]) {
      assert.strictEqual(response.status, 500)
      const { code, message, details } = await refusal(response)
      assert.deepStrictEqual(
        { code, message, details },
        { code: "INTERNAL", message: "internal error", details: { reason: "InternalError" } }
      )
    }
    await dispose()
  })
  it("to a login are 400 where a check fails, and 500 where the database or the backend is lost", async () => {
    const body = { public_key: "k", signature: "s", timestamp_ms: 1, nonce: "nonce-0001" }
    for (const [error, status, code, reason] of [
      [new AuthRefused({ reason: "InvalidSignature", details: {} }), 400, "BAD_REQUEST", "InvalidSignature"],
      [new AuthUnavailable({}), 500, "INTERNAL", "InternalError"]
    ] as const) {
      const { fetch, dispose } = gateway({ authenticator: { login: () => Effect.fail(error) } })
      const response = await fetch("POST", "/api/v1/authorize", { body, authorization: null })
      assert.strictEqual(response.status, status)
      assert.deepInclude(await refusal(response), { code, details: { reason } })
      await dispose()
    }
  })
  it("have the text of the refusal, where it has one of its own", async () => {
    const text = "the database was replaced: sign with a timestamp_ms after 7"
    const { fetch, dispose } = gateway({
      authenticator: {
        signed: () => Effect.fail(new AuthRefused({ reason: "StaleTimestamp", details: {}, text }))
      },
      sequencer: {
        submit: () =>
          Effect.fail(
            new CommandRefused({
              reason: "OutOfRange",
              message: "order a-1: beyond the band",
              details: { field: "price" }
            })
          )
      }
    })
    const signed = await fetch("GET", "/api/v1/user/me", { authorization: null, headers: { "x-api-key": "k" } })
    assert.deepInclude(await refusal(signed), { message: text, details: { reason: "StaleTimestamp" } })
    const refused = await refusal(await fetch("POST", CREATE, { body: order }))
    assert.strictEqual(
      refused.message,
      `price: expected another value, got "${order.price}": order a-1: beyond the band`
    )
    assert.deepStrictEqual(refused.details, { reason: "OutOfRange", field: "price" })
    await dispose()
  })
  it("report that the outcome of a command is unknown", async () => {
    const { fetch, dispose } = gateway({ sequencer: { submit: () => Effect.fail(new OutcomeUnknown()) } })
    const response = await fetch("POST", CREATE, { body: order })
    assert.strictEqual(response.status, 503)
    assert.deepStrictEqual((await refusal(response)).details, { reason: "DeadlineExceeded", outcome: "unknown" })
    await dispose()
  })
  it("have the age of market data while the backend is unavailable, up to a minute", async () => {
    let age_ms = 12_000
    const unhealthy = () => ({ ...well, unhealthy: true, connected: false, age_ms, unhealthy_for_ms: 11_000 })
    const { fetch, dispose } = gateway({ health: { sequencer: unhealthy } })
    const path = "/api/v1/market/orderbook?symbol=BTC-USDC"
    assert.strictEqual((await fetch("GET", path)).headers.get("x-data-age-ms"), "12000")
    assert.strictEqual((await fetch("GET", "/ready")).status, 503)
    age_ms = 60_001
    const late = await fetch("GET", path)
    assert.strictEqual(late.status, 503)
    assert.strictEqual(late.headers.get("retry-after"), "1")
    assert.strictEqual((await refusal(late)).details?.reason, "BackendUnavailable")
    assert.isNull((await plain.fetch("GET", path)).headers.get("x-data-age-ms"))
    await dispose()
  })
  it("refuse orders while the backend is unhealthy, and still try cancels", async () => {
    const lagging = () => ({ ...well, unhealthy: true, lag_events: 20_000, lag_ms: 7_000 })
    const { fetch, dispose } = gateway({ health: { sequencer: lagging } })
    const create = await fetch("POST", CREATE, { body: order })
    assert.strictEqual(create.status, 503)
    assert.deepStrictEqual((await refusal(create)).details, {
      reason: "BackendLagging",
      lag_events: 20_000,
      lag_ms: 7_000
    })
    const name = { sub_account_address: v1, symbol: "BTC-USDC", order_link_id: "a-1" }
    assert.strictEqual((await fetch("POST", "/api/v1/order/amend", { body: { ...name, qty: "1" } })).status, 503)
    assert.strictEqual((await fetch("POST", "/api/v1/order/cancel", { body: name })).status, 200)
    assert.strictEqual(
      (await fetch("POST", "/api/v1/order/cancel-all", { body: { sub_account_address: v1 } })).status,
      200
    )
    assert.strictEqual((await fetch("GET", "/api/v1/order/history")).status, 503)
    assert.strictEqual((await fetch("GET", "/api/v1/account/balances")).status, 200)
    await dispose()
  })
  it("trust the configured number of proxies", async () => {
    const ips: Array<string> = []
    const seen = (trustedProxies: number) =>
      gateway({
        trustedProxies,
        limiter: {
          take: (_bucket, key) => {
            ips.push(key)
            return Effect.undefined
          }
        }
      })
    for (const n of [0, 1, 2, 3]) {
      const { fetch, dispose } = seen(n)
      const headers = { "x-forwarded-for": "9.9.9.9, 198.51.100.7, 203.0.113.1" }
      await fetch("GET", "/api/v1/market/time", { headers })
      await dispose()
    }
    assert.deepStrictEqual(ips, ["127.0.0.1", "203.0.113.1", "198.51.100.7", "9.9.9.9"])
  })
  it("write portfolio numbers digit for digit", async () => {
    const balance = {
      sub_account_address: v1,
      asset: "USDC",
      asset_addr: v1,
      wallet_balance: "9007199254740993.000000000000000001",
      equity: "-12.5",
      available_balance: "0.1",
      margin_used: "0",
      order_margin: "0",
      maintenance_margin: "0",
      unrealised_pnl: "0",
      isolated_margin: "0",
      withdrawable: "0",
      updated_time: 1,
      seq: 1
    }
    const of = { user_id: userId, sub_account_address: v1, subject: "USDC", seq: 1 }
    const record = { ...of, topic: "account_balance" as const, record: JSON.stringify(balance) }
    const { fetch, dispose } = gateway({
      history: { lastRecords: (_, topic) => Effect.succeed(topic === "position" ? [] : [record]) }
    })
    const text = await (await fetch("GET", "/api/v1/user/portfolio")).text()
    assert.include(text, '"collateral_notional":9007199254740993.000000000000000001,')
    assert.include(text, '"balance":9007199254740993.000000000000000001,')
    assert.include(text, '"total_balance":-12.5,')
    assert.doesNotThrow(() => JSON.parse(text) as unknown)
    await dispose()
  })
})

describe("the user's own endpoints", () => {
  it("show the party of a user who has one", async () => {
    const party_id = `alice::1220${"ab".repeat(32)}`
    const user = {
      user_id: userId,
      root_address: tokenCaller.root_address,
      rail: "party" as const,
      party_id,
      referral_code: "7Q2MX9KD",
      activated: false,
      badge: false,
      multiplier_bps: 10_000,
      created_time: 1
    }
    const { fetch, dispose } = gateway({ accounts: { user: () => Effect.succeed(user) } })
    assert.deepInclude(await (await fetch("GET", "/api/v1/user/me")).json(), { rail: "party", party_id })
    await dispose()
    assert.notProperty(await (await plain.fetch("GET", "/api/v1/user/me")).json(), "party_id")
  })
  it("show the whitelist beside the activation", async () => {
    for (const whitelisted of [true, false]) {
      const { fetch, dispose } = gateway({ accounts: { isWhitelisted: () => Effect.succeed(whitelisted) } })
      assert.deepInclude(await (await fetch("GET", "/api/v1/user/me")).json(), { whitelisted, activated: false })
      await dispose()
    }
  })
  it("list the sub-accounts of the credential by index, with their labels, without deleted ones", async () => {
    const stateOf = (sub_account_address: string, index: number, deleted = false) => ({
      sub_account_address,
      user_id: userId,
      root_address: tokenCaller.root_address,
      index,
      frozen: false,
      deleted,
      created_time: 1
    })
    let bound_to: ReadonlySet<string> | undefined
    const { fetch, dispose } = gateway({
      authenticator: { bearer: () => Effect.succeed({ ...tokenCaller, bound_to }) },
      accounts: { labels: () => Effect.succeed(new Map([[v1, "desk"]])) },
      history: {
        subAccounts: () => Effect.succeed([stateOf(foreign, 2, true), stateOf(v1, 1), stateOf(v0, 0)])
      }
    })
    const listed = async () => {
      const { list } = (await (await fetch("GET", "/api/v1/user/sub-accounts")).json()) as {
        readonly list: ReadonlyArray<{ readonly index: number; readonly label: string }>
      }
      return list.map(({ index, label }) => `${index} ${label}`)
    }
    assert.deepStrictEqual(await listed(), ["0 ", "1 desk"])
    bound_to = new Set([v1])
    assert.deepStrictEqual(await listed(), ["1 desk"])
    await dispose()
  })
  it("keep the label of a new sub-account", async () => {
    const labels: Array<readonly [address: string, label: string]> = []
    const { fetch, dispose } = gateway({
      accounts: { setLabel: (_, address, label) => Effect.sync(() => void labels.push([address, label])) }
    })
    const made = await fetch("POST", "/api/v1/user/sub-accounts", { body: { label: "desk" } })
    assert.deepInclude(await made.json(), { sub_account_address: v1, label: "desk" })
    assert.deepStrictEqual(labels, [[v1, "desk"]])
    await dispose()
  })
  it("pass every field of a new key and of its change on", async () => {
    const seen: Array<unknown> = []
    const { fetch, dispose } = gateway({
      apiKeys: {
        create: (_, key) =>
          Effect.andThen(
            Effect.sync(() => void seen.push(key)),
            Effect.die("seen")
          ),
        update: (_, __, change) =>
          Effect.andThen(
            Effect.sync(() => void seen.push(change)),
            Effect.die("seen")
          )
      }
    })
    const change = {
      label: "bot",
      scopes: ["read"],
      sub_account_addresses: [v1],
      ip_allowlist: ["10.0.0.0/8"],
      expires_time: 1_767_225_600_000,
      require_body_hash: true
    }
    const key = { public_key: "k", ...change }
    await fetch("POST", "/api/v1/user/api-keys", { body: key })
    await fetch("PATCH", `/api/v1/user/api-keys/${orderId}`, { body: change })
    assert.deepStrictEqual(seen, [key, change])
    await dispose()
  })
})

describe("the explorer", () => {
  it("leads from /swagger-ui/ to the explorer", async () => {
    const response = await plain.fetch("GET", "/swagger-ui/", { authorization: null })
    assert.strictEqual(response.status, 308)
    assert.strictEqual(response.headers.get("location"), "/swagger-ui")
  })

  it("is one page that needs nothing but the gateway's document", async () => {
    const response = await plain.fetch("GET", "/swagger-ui", { authorization: null })
    assert.strictEqual(response.status, 200)
    const page = await response.text()
    assert.include(page, "SwaggerUIBundle({")
    assert.include(page, 'url: "/api-docs/openapi.json"')
    assert.notMatch(page, /<(?:script|link)[^>]+(?:src|href)=["']https?:/u)
  })
})

describe("a refused field", () => {
  it("is reported with the range that it accepts, or the lower end of one without an upper end", async () => {
    const detailsOf = async (method: string, path: string, ask?: Ask) =>
      (await refusal(await plain.fetch(method, path, ask))).details
    for (const limit of ["0", "201"]) {
      assert.deepStrictEqual(await detailsOf("GET", `/api/v1/order/history?limit=${limit}`), {
        reason: "OutOfRange",
        field: "limit",
        min: 1,
        max: 200
      })
    }
    const body = { sub_account_address: v1, symbol: "BTC-USDC", order_id: orderId, qty: "1", order_iv: -1 }
    assert.deepStrictEqual(await detailsOf("POST", "/api/v1/order/amend", { body }), {
      reason: "OutOfRange",
      field: "order_iv",
      min: 0
    })
  })
  const errorOf = async (more: object) => {
    const { message, details } = await refusal(await plain.fetch("POST", CREATE, { body: { ...order, ...more } }))
    return [details?.reason, details?.field, message]
  }
  it("is reported with reason, name and expected value", async () => {
    assert.deepStrictEqual(await errorOf({ side: "buy" }), [
      "InvalidField",
      "side",
      'side: expected one of Buy, Sell, got "buy"'
    ])
    assert.deepStrictEqual(await errorOf({ time_in_force: "GTX" }), [
      "InvalidField",
      "time_in_force",
      'time_in_force: expected one of GTC, GTT, IOC, FOK, PostOnly, got "GTX"'
    ])
    assert.deepStrictEqual(await errorOf({ post_only: "true" }), [
      "InvalidField",
      "post_only",
      'post_only: expected true or false, got "true"'
    ])
    assert.deepStrictEqual(await errorOf({ qty: 1 }), [
      "InvalidDecimal",
      "qty",
      'qty: expected a decimal number as text, with at most 18 decimal places, such as "60000.1", and not negative, got 1'
    ])
    for (const qty of ["1e3", "+1", ".5", "5.", "007", "-0", "1,000", " 1", "NaN", "1".repeat(21), "-1"]) {
      assert.deepStrictEqual((await errorOf({ qty })).slice(0, 2), ["InvalidDecimal", "qty"], qty)
    }
    assert.deepStrictEqual((await errorOf({ qty: "1.0000000000000000000" })).slice(0, 2), ["TooManyDecimals", "qty"])
    assert.deepStrictEqual((await errorOf({ sub_account_address: "0X1" })).slice(0, 2), [
      "InvalidField",
      "sub_account_address"
    ])
    const inside = [
      [{ trigger: {} }, "MissingField", "trigger.trigger_price"],
      [{ trigger: { trigger_price: "1.0", trigger_by: "Mark" } }, "InvalidField", "trigger.trigger_by"],
      [{ trigger: "60000" }, "InvalidField", "trigger"],
      [{ tpsl: { mode: "Full" } }, "MissingField", "tpsl.take_profit"],
      [{ tpsl: { take_profit: { trigger_price: "1" } } }, "MissingField", "tpsl.take_profit.market"],
      [
        { tpsl: { stop_loss: { market: { trigger_price: 1 } } } },
        "InvalidDecimal",
        "tpsl.stop_loss.market.trigger_price"
      ],
      [{ expire_time: 1 }, "InvalidField", "expire_time"],
      [{ time_in_force: "GTT", expire_time: 1 }, "OutOfRange", "expire_time"]
    ] as const
    for (const [more, ...expected] of inside) assert.deepStrictEqual((await errorOf(more)).slice(0, 2), [...expected])
  })
})

describe("text", () => {
  it("that a database cannot keep is refused", async () => {
    for (const text of ["a\u0000", "\ud800", "a\udc00b"]) {
      const refused = [400, "InvalidField", "label"]
      const key = { public_key: "aa".repeat(32), scopes: ["read"], label: text }
      assert.deepStrictEqual(await reasonOf("POST", "/api/v1/user/sub-accounts", { body: { label: text } }), refused)
      assert.deepStrictEqual(await reasonOf("POST", "/api/v1/user/api-keys", { body: key }), refused)
      const code = { body: { label: text }, authorization: ADMIN }
      assert.deepStrictEqual(await reasonOf("POST", "/api/v1/admin/access-codes", code), refused)
      const change = { body: { title: text }, authorization: ADMIN }
      const path = `/api/v1/admin/competitions/${draft.id}`
      assert.deepStrictEqual(await reasonOf("PATCH", path, change), [400, "InvalidField", "title"])
    }
    const filter = await plain.fetch("GET", "/api/v1/admin/access-codes?label=a%00", { authorization: ADMIN })
    const { details, message } = await refusal(filter)
    assert.deepStrictEqual([filter.status, details?.reason, details?.field], [400, "InvalidField", "label"])
    assert.strictEqual(
      message,
      'label: expected text of at most 64 characters, without U+0000 and lone surrogates, got "a\\u{0}"'
    )
  })
})

describe("null", () => {
  it("means a value in one field only", async () => {
    const put = (body: unknown) => reasonOf("PUT", "/api/v1/admin/index-price", { body, authorization: ADMIN })
    assert.strictEqual(
      (
        await plain.fetch("PUT", "/api/v1/admin/index-price", {
          body: { symbol: btc.symbol, price: null },
          authorization: ADMIN
        })
      ).status,
      200
    )
    assert.deepStrictEqual(await put({ symbol: btc.symbol }), [400, "MissingField", "price"])
    assert.deepStrictEqual(await put({ symbol: btc.symbol, price: "0" }), [400, "OutOfRange", "price"])
    assert.strictEqual(
      (await plain.fetch("POST", CREATE, { body: { ...order, tpsl: null, order_link_id: "" } })).status,
      200
    )
  })
})
