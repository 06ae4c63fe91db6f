/**
 * Access limits over real sockets: rates, scopes, bindings and allowed addresses.
 * Source: docs/contract/authentication.md#api-keys, #scopes, docs/contract/limits.md.
 */
import { randomUUID } from "node:crypto"
import { request } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import {
  type Answer,
  apiKeyHeaders,
  call,
  funded,
  type Keys,
  login,
  newKeys,
  type Session
} from "../../verification/harness/RestClient.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const reasonOf = ({ body, status }: Answer) => [status, body.code, body.details?.reason]

describe("rates", () => {
  let exchange: Exchange
  let known: Session
  beforeAll(async () => {
    exchange = await startExchange({ env: { RATE_LIMIT_MODE: "enforce" } })
    known = await login(exchange, newKeys())
  })
  afterAll(() => exchange?.close())

  /** Sends requests until one is refused: `limit` responses with decreasing remaining counts, then 429. */
  const exhausts = async (bucket: string, limit: number, taken: number, ask: () => Promise<Answer>): Promise<void> => {
    for (let i = taken; i < limit; i++) {
      const { headers, status } = await ask()
      assert.strictEqual(status, 200, `request ${i + 1} of ${limit}`)
      assert.strictEqual(headers.get("ratelimit-limit"), String(limit))
      assert.strictEqual(headers.get("ratelimit-remaining"), String(limit - 1 - i))
      assert.strictEqual(headers.get("ratelimit-policy"), `"${bucket}";q=${limit};w=60`)
      assert.match(headers.get("ratelimit") ?? "", new RegExp(`^"${bucket}";r=${limit - 1 - i};t=\\d+$`, "u"))
      assert.match(headers.get("ratelimit-reset") ?? "", /^\d+$/u)
    }
    const refused = await ask()
    assert.deepStrictEqual(
      [refused.status, refused.body.code, refused.body.message],
      [429, "RateLimitExceeded", "rate limit exceeded"]
    )
    const wait = Number(refused.headers.get("retry-after"))
    assert.isTrue(Number.isInteger(wait) && wait >= 1 && wait <= 60, `Retry-After: ${wait}`)
    assert.strictEqual(refused.headers.get("ratelimit-remaining"), "0")
  }

  it("are 30 per token, 600 per API key and 60 per address, each separate", { timeout: 90_000 }, async () => {
    const keys = newKeys()
    const first = await login(exchange, newKeys())
    const second = await login(exchange, newKeys())
    // the login's read of the sub-accounts used one of its 30
    const registered = await call(exchange, "POST", "/api/v1/user/api-keys", {
      token: first.token,
      body: { public_key: keys.publicKey, scopes: ["read"] }
    })
    assert.strictEqual(registered.status, 201)
    await exhausts("token", 30, 2, () => call(exchange, "GET", "/api/v1/user/me", { token: first.token }))
    assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { token: second.token })).status, 200)

    const uri = "/api/v1/user/me"
    await exhausts("api-key", 600, 0, () => call(exchange, "GET", uri, { headers: apiKeyHeaders(keys, "GET", uri) }))
    // logins have a separate bucket
    await exhausts("public", 60, 0, () => call(exchange, "GET", "/api/v1/market/time"))
    const documents = ["/swagger-ui", "/api-docs/openapi.json", "/api-docs/asyncapi.json"]
    for (const path of ["/health", "/ready", "/.well-known/jwks.json", ...documents]) {
      const { headers, status } = await call(exchange, "GET", path)
      assert.strictEqual(status, 200, path)
      assert.isNull(headers.get("ratelimit-limit"), path)
    }
    // private requests do not count for the address
    assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { token: second.token })).status, 200)
  })

  it("limit guesses of passwords and tokens", async () => {
    const guess = (password: string) =>
      call(exchange, "GET", `/api/v1/authorize/whitelist/0x${"11".repeat(32)}`, {
        headers: { authorization: `Basic ${Buffer.from(`admin:${password}`).toString("base64")}` }
      })
    for (let i = 0; i < 10; i++) {
      const wrong = await guess(`wrong-${i}`)
      assert.deepStrictEqual(reasonOf(wrong), [401, "UNAUTHORIZED", "BadCredentials"])
      assert.strictEqual(wrong.headers.get("www-authenticate"), 'Basic realm="gateway"')
    }
    assert.strictEqual((await guess("wrong")).status, 429)
    // a token that was verified before is not blocked by other callers of the same address
    assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { token: known.token })).status, 200)
    for (let i = 0; i < 60; i++) {
      const wrong = await call(exchange, "GET", "/api/v1/user/me", { token: `x${i}.y.z` })
      assert.deepStrictEqual(reasonOf(wrong), [401, "UNAUTHORIZED", "InvalidToken"])
      assert.strictEqual(wrong.headers.get("www-authenticate"), "Bearer")
    }
    assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { token: "x.y.z" })).status, 429)
    assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { token: known.token })).status, 200)
  })
})

describe("access", () => {
  let exchange: Exchange
  let user: Session
  beforeAll(async () => {
    exchange = await startExchange()
    user = await funded(exchange)
  })
  afterAll(() => exchange?.close())

  const register = async (fields: object): Promise<Keys & { readonly id: string }> => {
    const keys = newKeys()
    const { body, status } = await call(exchange, "POST", "/api/v1/user/api-keys", {
      token: user.token,
      body: { public_key: keys.publicKey, ...fields }
    })
    assert.strictEqual(status, 201, JSON.stringify(body))
    return { ...keys, id: body.api_key_id }
  }
  const signed = (keys: Keys, method: string, uri: string, body?: object) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return call(exchange, method, uri, {
      headers: apiKeyHeaders(keys, method, uri, text === undefined ? {} : { body: text }),
      ...(text === undefined ? {} : { body: text })
    })
  }
  const order = (vault: string) => ({
    sub_account_address: vault,
    symbol: "BTC-USDC",
    side: "Buy",
    order_type: "Limit",
    qty: "0.001",
    price: "59000"
  })

  it("of an API key is limited to its scopes", async () => {
    const reader = await register({ scopes: ["read"] })
    assert.strictEqual((await signed(reader, "GET", "/api/v1/account/balances")).status, 200)
    const refused = await signed(reader, "POST", "/api/v1/order/create", order(user.vault))
    assert.deepStrictEqual(reasonOf(refused), [403, "FORBIDDEN", "InsufficientScope"])
    assert.strictEqual(refused.body.details.required, "trade")
    const trader = await register({ scopes: ["trade"] })
    assert.strictEqual((await signed(trader, "POST", "/api/v1/order/create", order(user.vault))).status, 200)
    assert.deepStrictEqual(reasonOf(await signed(trader, "GET", "/api/v1/account/balances")), [
      403,
      "FORBIDDEN",
      "InsufficientScope"
    ])
    for (const [method, path] of [
      ["GET", "/api/v1/user/api-keys"],
      ["POST", "/api/v1/authorize/logout"]
    ] as const) {
      assert.deepStrictEqual(reasonOf(await signed(trader, method, path)), [403, "FORBIDDEN", "BearerOnly"])
    }
  })

  it("of a bound API key is limited to its sub-accounts", async () => {
    const other = await call(exchange, "POST", "/api/v1/user/sub-accounts", { token: user.token, body: { label: "b" } })
    const vault: string = other.body.sub_account_address
    const bound = await register({ scopes: ["read", "trade", "account", "transfer"], sub_account_addresses: [vault] })
    const seen = await signed(bound, "GET", "/api/v1/user/sub-accounts")
    assert.deepStrictEqual(
      seen.body.list.map((account: { readonly sub_account_address: string }) => account.sub_account_address),
      [vault]
    )
    const notFound = [404, "NOT_FOUND", "SubAccountNotFound"]
    assert.deepStrictEqual(reasonOf(await signed(bound, "POST", "/api/v1/order/create", order(user.vault))), notFound)
    const path = `/api/v1/order/realtime?sub_account_address=${user.vault}`
    assert.deepStrictEqual(reasonOf(await signed(bound, "GET", path)), notFound)
    const transfer = {
      transfer_id: randomUUID(),
      from_sub_account_address: user.vault,
      to_sub_account_address: vault,
      asset: "USDC",
      amount: "1"
    }
    assert.deepStrictEqual(reasonOf(await signed(bound, "POST", "/api/v1/account/transfer", transfer)), notFound)
    // a transfer from another sub-account is in the transactions; its source is shown only to keys of both sub-accounts
    const { token } = user
    const moved = await call(exchange, "POST", "/api/v1/account/transfer", { token, body: transfer })
    assert.strictEqual(moved.status, 200, JSON.stringify(moved.body))
    const whole = await call(exchange, "GET", "/api/v1/account/transfer", { token })
    assert.deepInclude(whole.body.list[0], { transfer_id: transfer.transfer_id, from_sub_account_address: user.vault })
    assert.deepStrictEqual((await signed(bound, "GET", "/api/v1/account/transfer")).body.list, [])
    const received = await signed(bound, "GET", "/api/v1/account/transactions")
    assert.deepInclude(received.body.list[0], { type: "transfer_in", amount: "1", sub_account_address: vault })
    assert.notInclude(JSON.stringify(received.body), user.vault)
    const both = await register({ scopes: ["read"], sub_account_addresses: [vault, user.vault] })
    assert.strictEqual((await signed(both, "GET", "/api/v1/account/transfer")).body.list.length, 1)
    assert.deepStrictEqual(reasonOf(await signed(bound, "POST", "/api/v1/user/sub-accounts", { label: "c" })), [
      403,
      "FORBIDDEN",
      "InsufficientScope"
    ])
  })

  it("of an API key is limited by its addresses, its body hash and its nonces", async () => {
    const far = await register({ scopes: ["read"], ip_allowlist: ["10.0.0.0/8"] })
    assert.deepStrictEqual(reasonOf(await signed(far, "GET", "/api/v1/user/me")), [403, "FORBIDDEN", "IpNotAllowed"])
    const near = await register({ scopes: ["read"], ip_allowlist: ["10.0.0.0/8", "127.0.0.0/8"] })
    assert.strictEqual((await signed(near, "GET", "/api/v1/user/me")).status, 200)

    const strict = await register({ scopes: ["trade"], require_body_hash: true })
    const body = JSON.stringify(order(user.vault))
    const bare = apiKeyHeaders(strict, "POST", "/api/v1/order/create")
    const unbound = await call(exchange, "POST", "/api/v1/order/create", { headers: bare, body })
    assert.deepStrictEqual(reasonOf(unbound), [401, "UNAUTHORIZED", "InvalidSignature"])
    const hashed = apiKeyHeaders(strict, "POST", "/api/v1/order/create", { body })
    const altered = await call(exchange, "POST", "/api/v1/order/create", {
      headers: hashed,
      body: body.replace("59000", "59001")
    })
    assert.deepStrictEqual(reasonOf(altered), [401, "UNAUTHORIZED", "InvalidSignature"])
    assert.strictEqual((await call(exchange, "POST", "/api/v1/order/create", { headers: hashed, body })).status, 200)
    assert.deepStrictEqual(reasonOf(await call(exchange, "POST", "/api/v1/order/create", { headers: hashed, body })), [
      401,
      "UNAUTHORIZED",
      "NonceReused"
    ])
  })

  it("ends with the key, and so do its sockets", async () => {
    const keys = await register({ scopes: ["read"] })
    const socket = await Socket.open(exchange, "/ws/private")
    const at_ms = Date.now()
    const fresh = "a-nonce-of-a-socket"
    socket.send({
      op: "auth",
      api_key: keys.publicKey,
      timestamp_ms: at_ms,
      nonce: fresh,
      signature: keys.sign(`SERVICE_WS|AUTH|${at_ms}|${fresh}`)
    })
    const auth = await socket.next("auth", ({ op }) => op === "auth")
    assert.isTrue(auth.success, JSON.stringify(auth))
    const removed = await call(exchange, "DELETE", `/api/v1/user/api-keys/${keys.id}`, { token: user.token })
    assert.deepStrictEqual([removed.status, removed.body], [200, { api_key_id: keys.id, revoked: true }])
    assert.strictEqual((await socket.closing()).code, 4010)
    assert.deepStrictEqual(reasonOf(await signed(keys, "GET", "/api/v1/user/me")), [
      401,
      "UNAUTHORIZED",
      "UnknownApiKey"
    ])
    const again = await call(exchange, "POST", "/api/v1/user/api-keys", {
      token: user.token,
      body: { public_key: keys.publicKey, scopes: ["read"] }
    })
    assert.deepStrictEqual(reasonOf(again), [409, "CONFLICT", "KeyAlreadyRegistered"])
  })

  it("ends with the logout, and so do the token's sockets", async () => {
    const wallet = newKeys()
    const [first, second] = [await login(exchange, wallet), await login(exchange, wallet)]
    const open = async (bearer: string) => {
      const socket = await Socket.open(exchange, "/ws/private")
      socket.send({ op: "auth", bearer })
      assert.isTrue((await socket.next("auth", ({ op }) => op === "auth")).success)
      return socket
    }
    const [ended, kept] = [await open(first.token), await open(second.token)]
    const out = await call(exchange, "POST", "/api/v1/authorize/logout", { token: first.token })
    assert.deepStrictEqual([out.status, out.body], [200, { revoked: true }])
    assert.strictEqual((await ended.closing()).code, 4010)
    assert.deepStrictEqual(reasonOf(await call(exchange, "GET", "/api/v1/user/me", { token: first.token })), [
      401,
      "UNAUTHORIZED",
      "RevokedToken"
    ])
    assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { token: second.token })).status, 200)
    kept.send({ op: "ping" })
    await kept.next("pong", ({ op }) => op === "pong")
    kept.close()
  })

  it("requires a single kind of credential", async () => {
    const keys = await register({ scopes: ["read"] })
    const both = await call(exchange, "GET", "/api/v1/user/me", {
      token: user.token,
      headers: apiKeyHeaders(keys, "GET", "/api/v1/user/me")
    })
    assert.deepStrictEqual(reasonOf(both), [400, "BAD_REQUEST", "AmbiguousAuth"])
    const doubled = await new Promise<{ readonly status: number | undefined; readonly text: string }>(
      (resolve, reject) => {
        const headers = ["Host", "x", "Authorization", `Bearer ${user.token}`, "Authorization", `Bearer ${user.token}`]
        const sent = request(`${exchange.url}/api/v1/user/me`, { headers }, (response) => {
          let text = ""
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
          response.on("end", () => resolve({ status: response.statusCode, text }))
        })
        sent.on("error", reject)
        sent.end()
      }
    )
    assert.strictEqual(doubled.status, 400, doubled.text)
    assert.strictEqual(JSON.parse(doubled.text).details.reason, "AmbiguousAuth")
  })

  it("of an administrator includes the whitelist", async () => {
    const path = `/api/v1/authorize/whitelist/${user.root_address}`
    const entry = (whitelisted: boolean) => [200, { root_address: user.root_address, whitelisted }]
    const ask = async (method: string) => {
      const { body, status } = await call(exchange, method, path, { headers: basic })
      return [status, body]
    }
    assert.deepStrictEqual(await ask("GET"), entry(false))
    for (const method of ["PUT", "PUT", "GET"]) assert.deepStrictEqual(await ask(method), entry(true), method)
    assert.deepStrictEqual(await ask("DELETE"), entry(false))
    assert.deepStrictEqual(await ask("GET"), entry(false))
    const stranger = await call(exchange, "PUT", path, { token: user.token })
    assert.deepStrictEqual(reasonOf(stranger), [401, "UNAUTHORIZED", "BadCredentials"])
    assert.strictEqual(stranger.headers.get("www-authenticate"), 'Basic realm="gateway"')
  })

  it("from a browser needs CORS headers, and receives them", async () => {
    const { body, headers, status } = await call(exchange, "OPTIONS", "/api/v1/order/create", {
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-request-id"
      }
    })
    assert.deepStrictEqual([status, body], [204, ""])
    assert.strictEqual(headers.get("access-control-allow-origin"), "*")
    assert.include(headers.get("access-control-allow-methods"), "POST")
    assert.strictEqual(headers.get("access-control-allow-headers"), "authorization,content-type,x-request-id")
    assert.strictEqual(headers.get("access-control-max-age"), "86400")
    assert.isNull(headers.get("access-control-allow-credentials"))
    const answer = await call(exchange, "GET", "/api/v1/user/me", { headers: { origin: "https://app.example" } })
    assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
    for (const name of ["RateLimit", "Retry-After", "X-Request-Id", "X-Data-Age-Ms"]) {
      assert.include(answer.headers.get("access-control-expose-headers"), name)
    }
  })
})
