/** Error responses with a remedy: the verified text, and the nearest accepted values and names. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { apiKeyHeaders, call, create, funded, newKeys, nonce } from "../../verification/harness/RestClient.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const ENCODINGS = ["hex", "0x-hex", "base64", "base64url"]
const ME = "/api/v1/user/me"

/** A login with the signature of another wallet. */
const forgedLogin = () => ({
  public_key: newKeys().publicKey,
  signature: newKeys().sign("SERVICE_AUTH|LOGIN|"),
  timestamp_ms: Date.now(),
  nonce: nonce()
})

describe("outside production", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange()
  })
  afterAll(() => exchange?.close())

  it("a refused login shows the text that was verified", async () => {
    const body = forgedLogin()
    const { body: refused, status } = await call(exchange, "POST", "/api/v1/authorize", { body })
    assert.strictEqual(status, 400)
    assert.deepStrictEqual(refused.details, {
      reason: "InvalidSignature",
      signed_string: `SERVICE_AUTH|LOGIN|${body.public_key}|${body.timestamp_ms}|${body.nonce}`,
      signature_encodings: ENCODINGS
    })
  })

  it("a signature in an unknown form lists the accepted forms", async () => {
    const body = { ...forgedLogin(), signature: "not a signature" }
    const { details } = (await call(exchange, "POST", "/api/v1/authorize", { body })).body
    assert.deepInclude(details, { reason: "InvalidSignature", signature_encodings: ENCODINGS })
    assert.match(details.hint, /64 bytes/u)
  })

  it("a clock difference is reported with its size", async () => {
    const body = { ...forgedLogin(), timestamp_ms: Date.now() - 3_600_000 }
    const { details } = (await call(exchange, "POST", "/api/v1/authorize", { body })).body
    assert.strictEqual(details.reason, "StaleTimestamp")
    assert.strictEqual(details.skew_ms, body.timestamp_ms - details.server_time_ms)
  })

  it("an API key receives the text that its request should have signed, over REST and WebSocket", async () => {
    const { token } = await funded(exchange)
    const keys = newKeys()
    const { status } = await call(exchange, "POST", "/api/v1/user/api-keys", {
      token,
      body: { public_key: keys.publicKey, scopes: ["read", "trade"] }
    })
    assert.strictEqual(status, 201)

    const forged = apiKeyHeaders(keys, "POST", ME)
    const wrongMethod = await call(exchange, "GET", ME, { headers: forged })
    assert.strictEqual(wrongMethod.status, 401)
    assert.strictEqual(
      wrongMethod.body.details.signed_string,
      `SERVICE_API|GET|${ME}|${forged["x-timestamp-ms"]}|${forged["x-nonce"]}`
    )

    const changed = apiKeyHeaders(keys, "POST", "/api/v1/order/create", { body: "{}" })
    const otherBody = await call(exchange, "POST", "/api/v1/order/create", { headers: changed, body: { symbol: "X" } })
    assert.match(otherBody.body.details.hint, /the body that arrived has the SHA-256 [0-9a-f]{64}$/u)

    const socket = await Socket.open(exchange, "/ws/private")
    const at = Date.now()
    const fresh = nonce()
    socket.send({ op: "auth", api_key: keys.publicKey, signature: keys.sign("else"), timestamp_ms: at, nonce: fresh })
    const refused = await socket.next("refusal", ({ code }) => code === "UNAUTHORIZED")
    assert.strictEqual(refused.details.signed_string, `SERVICE_WS|AUTH|${at}|${fresh}`)
    socket.close()
  })

  it("an activation receives the text that its wallet should have signed", async () => {
    const keys = newKeys()
    const body = { code: "ALPHA-7Q2M-X9KD", public_key: keys.publicKey, signed_at: Math.floor(Date.now() / 1_000) }
    const asked = { ...body, signature: keys.sign("else") }
    const { details } = (await call(exchange, "POST", "/api/v1/access/activate", { body: asked })).body
    assert.match(details.signed_string, /^service-stage1-activate:[0-9a-f]{64}:0x[0-9a-f]{64}:\d+$/u)
  })

  it("an order between two steps receives the nearest valid values", async () => {
    const session = await funded(exchange)
    const price = await create(exchange, session, "t-1", { price: "59000.05" })
    assert.deepStrictEqual(price.body.details, {
      reason: "NotMultipleOfTick",
      field: "price",
      step: "0.1",
      nearest: ["59000", "59000.1"]
    })
    assert.match(price.body.message, /nearest: 59000, 59000\.1, got "59000\.05"$/u)
    const qty = await create(exchange, session, "t-2", { qty: "0.0015" })
    assert.deepStrictEqual(qty.body.details.nearest, ["0.001", "0.002"])
    const { body } = await call(exchange, "POST", "/api/v1/position/set-leverage", {
      token: session.token,
      body: { sub_account_address: session.vault, symbol: "BTC-USDC", leverage: "5.005" }
    })
    assert.deepStrictEqual(body.details.nearest, ["5", "5.01"])
  })

  it("an order with a misspelled field receives the correct name", async () => {
    const session = await funded(exchange)
    for (const [field, near] of [
      ["reduceOnly", "reduce_only"],
      ["timeInForce", "time_in_force"],
      ["orderLinkID", "order_link_id"],
      ["subAccountAdress", "sub_account_address"]
    ] as const) {
      const { body } = await create(exchange, session, "t-3", { [field]: true })
      assert.deepStrictEqual(body.details, { reason: "UnknownField", field, nearest: [near] })
      assert.strictEqual(body.message, `unknown field ${field}; did you mean ${near}?`)
    }
    const nested = await create(exchange, session, "t-4", { trigger: { triggerPrice: "60000" } })
    assert.deepInclude(nested.body.details, { field: "trigger.triggerPrice", nearest: ["trigger_price"] })
    const foreign = await create(exchange, session, "t-5", { colourOfMoney: 1 })
    assert.deepStrictEqual(foreign.body.details, { reason: "UnknownField", field: "colourOfMoney" })
  })
})

describe("in production", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ env: { ENVIRONMENT: "production" } })
  })
  afterAll(() => exchange?.close())

  it("the verified text is not shown", async () => {
    const { body } = await call(exchange, "POST", "/api/v1/authorize", { body: forgedLogin() })
    assert.deepStrictEqual(body.details, { reason: "InvalidSignature" })
  })
})
