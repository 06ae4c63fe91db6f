/**
 * The order of the checks of docs/contract/rest.md#order-of-the-checks, pair by pair: each request has the fault of its
 * step and that of the next one, and is answered for the first.
 */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { AuthRefused } from "../../src/services/identity/AuthErrors.ts"
import { type Ask, type Doubles, gateway, rate, tokenCaller, v0, v1, well } from "./Fixture.ts"

const CREATE = "/api/v1/order/create"
const order = {
  sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
}
const large = { raw: "x".repeat(256 * 1024 + 1) }
const text = { raw: "{", headers: { "content-type": "text/plain" } }
const key = { authorization: null, headers: { "x-api-key": "k" } }

const refused = (reason: "IpNotAllowed" | "InvalidSignature" | "NonceReused") =>
  Effect.fail(new AuthRefused({ reason, details: {} }))
/** A key whose signature is good: what else is wrong with it is given. */
const signed = (of: { readonly nonce?: "reused"; readonly scopes?: ReadonlyArray<"read" | "trade"> }): Doubles => ({
  authenticator: {
    signed: () =>
      Effect.succeed({
        caller: {
          ...tokenCaller,
          via: "api-key",
          credential: "key-1",
          scopes: new Set(of.scopes ?? (["read", "trade"] as const)),
          bound_to: new Set([v1])
        },
        claimNonce: of.nonce === "reused" ? refused("NonceReused") : Effect.void
      })
  }
})
const fullBucket: Doubles = { limiter: { take: () => Effect.succeed(rate(false)) } }
const closed: Doubles = { accessMode: "closed" }
const unhealthy: Doubles = { health: { sequencer: () => ({ ...well, unhealthy: true, connected: false }) } }

const answer = async (doubles: Doubles, method: string, path: string, ask: Ask = {}) => {
  const { dispose, fetch } = gateway(doubles)
  const response = await fetch(method, path, ask)
  const { details } = (await response.json()) as { readonly details?: { readonly reason?: string } }
  await dispose()
  return [response.status, details?.reason]
}

/** The step that answers, the one that does not get to, and the request with both faults. */
const pairs: ReadonlyArray<readonly [string, string, () => Promise<unknown>, readonly [number, string]]> = [
  ["path", "size", () => answer({}, "POST", "/api/v1/order/crate", large), [404, "NoSuchRoute"]],
  ["method", "type", () => answer({}, "PUT", CREATE, text), [405, "MethodNotAllowed"]],
  ["size", "credentials", () => answer({}, "POST", CREATE, { ...large, authorization: null }), [413, "BodyTooLarge"]],
  [
    "type",
    "credentials",
    () => answer({}, "POST", CREATE, { ...text, authorization: "Bearer bad" }),
    [415, "WrongMediaType"]
  ],
  [
    "one kind of credentials",
    "good ones",
    () => answer({}, "POST", CREATE, { ...key, body: order, authorization: "Bearer bad" }),
    [400, "AmbiguousAuth"]
  ],
  [
    "credentials",
    "rate",
    () => answer(fullBucket, "POST", CREATE, { body: order, authorization: "Bearer bad" }),
    [401, "InvalidToken"]
  ],
  [
    "the key's addresses",
    "rate",
    () =>
      answer({ ...fullBucket, authenticator: { signed: () => refused("IpNotAllowed") } }, "POST", CREATE, {
        ...key,
        body: order
      }),
    [403, "IpNotAllowed"]
  ],
  [
    "rate",
    "nonce",
    () => answer({ ...fullBucket, ...signed({ nonce: "reused" }) }, "POST", CREATE, { ...key, body: order }),
    [429, "RateLimitExceeded"]
  ],
  [
    "nonce",
    "scope",
    () => answer(signed({ nonce: "reused", scopes: ["read"] }), "POST", CREATE, { ...key, body: order }),
    [401, "NonceReused"]
  ],
  [
    "nonce",
    "token only",
    () => answer(signed({ nonce: "reused" }), "GET", "/api/v1/user/api-keys", key),
    [401, "NonceReused"]
  ],
  [
    "scope",
    "gate",
    () => answer({ ...closed, ...signed({ scopes: ["read"] }) }, "POST", CREATE, { ...key, body: order }),
    [403, "InsufficientScope"]
  ],
  [
    "token only",
    "gate",
    () => answer({ ...closed, ...signed({}) }, "GET", "/api/v1/user/api-keys", key),
    [403, "BearerOnly"]
  ],
  [
    "scope",
    "shape",
    () => answer(signed({ scopes: ["read"] }), "POST", CREATE, { ...key, raw: "{" }),
    [403, "InsufficientScope"]
  ],
  ["gate", "shape", () => answer(closed, "POST", CREATE, { raw: "{" }), [403, "NotWhitelisted"]],
  ["gate", "shape of the query", () => answer(closed, "GET", "/api/v1/user/api-keys?a=1&a=2"), [403, "NotWhitelisted"]],
  [
    "shape",
    "resources",
    () => answer({}, "POST", CREATE, { body: { ...order, symbol: "NO-SUCH", qty: 1 } }),
    [400, "InvalidDecimal"]
  ],
  [
    "resources",
    "limits and state",
    () => answer(signed({}), "POST", CREATE, { ...key, body: { ...order, sub_account_address: v0, qty: "0.0001" } }),
    [404, "SubAccountNotFound"]
  ],
  [
    "resources",
    "backend",
    () => answer(unhealthy, "POST", CREATE, { body: { ...order, symbol: "NO-SUCH" } }),
    [404, "SymbolNotFound"]
  ],
  [
    "limits and state",
    "backend",
    () => answer(unhealthy, "POST", CREATE, { body: { ...order, qty: "0.0001" } }),
    [400, "NotMultipleOfStep"]
  ],
  ["nothing", "backend", () => answer(unhealthy, "POST", CREATE, { body: order }), [503, "BackendUnavailable"]],
  // an endpoint that anybody may ask: module, rate, shape
  [
    "module",
    "rate",
    () => answer({ ...fullBucket, accessMode: "off" }, "POST", "/api/v1/access/activate", { raw: "{" }),
    [404, "ModuleDisabled"]
  ],
  [
    "size",
    "module",
    () => answer({ accessMode: "off" }, "POST", "/api/v1/access/activate", large),
    [413, "BodyTooLarge"]
  ],
  [
    "rate",
    "shape",
    () => answer(fullBucket, "POST", "/api/v1/access/activate", { raw: "{", authorization: null }),
    [429, "RateLimitExceeded"]
  ],
  [
    "rate",
    "shape of a login",
    () => answer(fullBucket, "POST", "/api/v1/authorize", { raw: "{", authorization: null }),
    [429, "RateLimitExceeded"]
  ],
  // the administrator's
  [
    "password",
    "shape",
    () => answer({}, "POST", "/api/v1/admin/access-codes", { raw: "{", authorization: null }),
    [401, "BadCredentials"]
  ]
]

describe("of two faults", () => {
  for (const [first, second, ask, expected] of pairs) {
    it(`${first} is reported before ${second}`, async () => {
      assert.deepStrictEqual(await ask(), expected)
    })
  }
})

describe("a closed launch", () => {
  it("leaves reads and logout to wallets that are not whitelisted, and nothing else", async () => {
    const cases: ReadonlyArray<readonly [method: string, path: string, reason: string | undefined]> = [
      ["GET", "/api/v1/order/history", undefined],
      ["GET", "/api/v1/user/me", undefined],
      ["POST", "/api/v1/authorize/logout", undefined],
      ["POST", CREATE, "NotWhitelisted"],
      ["POST", "/api/v1/order/cancel", "NotWhitelisted"],
      ["POST", "/api/v1/account/transfer", "NotWhitelisted"],
      ["POST", "/api/v1/user/sub-accounts", "NotWhitelisted"],
      ["GET", "/api/v1/user/api-keys", "NotWhitelisted"]
    ]
    for (const [method, path, reason] of cases) {
      const expected = reason === undefined ? [200, undefined] : [403, reason]
      assert.deepStrictEqual(await answer(closed, method, path), expected, `${method} ${path}`)
    }
    const known: Doubles = { ...closed, accounts: { isWhitelisted: () => Effect.succeed(true) } }
    assert.deepStrictEqual(await answer(known, "POST", CREATE, { body: order }), [200, undefined])
  })
})
