/**
 * A closed launch over a real socket: docs/contract/stories.md#activation, the vectors, access codes and the restriction.
 * Source: docs/contract/rest-access.md, docs/contract/authentication.md#scopes, #activation.
 */
import { createHash } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { rootOfKey } from "../../src/domain/Address.ts"
import { vectors } from "./AdmissionVectors.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import {
  type Answer,
  apiKeyHeaders,
  call,
  type Keys,
  keysOfSeed,
  login,
  newKeys
} from "../../verification/harness/RestClient.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { frozenClock, movableClock } from "../../verification/harness/Clocks.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const now = vectors.server_time_ms
const CODES = "/api/v1/admin/access-codes"
const CODE = "ALPHA-7Q2M-X9KD"

const reasonOf = ({ body, status }: Answer) => [status, body.code, body.details?.reason]
const issue = (exchange: Exchange, body: object) => call(exchange, "POST", CODES, { headers: basic, body })
const activate = (exchange: Exchange, body: unknown) => call(exchange, "POST", "/api/v1/access/activate", { body })

/** The body that a wallet on the address rail sends. */
const bodyOf = (keys: Keys, code: string, at_ms = Date.now()) => {
  const hash = createHash("sha256").update(code).digest("hex")
  const signed_at = Math.floor(at_ms / 1000)
  const root = rootOfKey(Buffer.from(keys.publicKey, "hex"))
  const signature = keys.sign(`service-stage1-activate:${hash}:${root}:${signed_at}`)
  return { code, public_key: keys.publicKey, signature, signed_at, nonce: null, party_id: null }
}

describe("activation vectors", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ clock: frozenClock(now) })
  })
  afterAll(() => exchange?.close())

  it("matches the contract's story, from the code to the 404 of a gateway without the module", async () => {
    const made = await issue(exchange, { codes: [CODE], badge: true, multiplier_bps: 12500 })
    assert.strictEqual(made.status, 201)
    const [first] = vectors.activation
    const done = await activate(exchange, first.body)
    assert.deepStrictEqual([done.status, done.body], [200, { activated: true, badge: true, multiplier_bps: 12500 }])
    assert.deepStrictEqual(reasonOf(await activate(exchange, first.body)), [409, "CONFLICT", "WalletAlreadyActivated"])
    const other = bodyOf(newKeys(), CODE, now)
    assert.deepStrictEqual(reasonOf(await activate(exchange, other)), [409, "CONFLICT", "CodeAlreadyUsed"])
    for (const text of ["ALPHA-0000-0000", "A"]) {
      const unknown = await activate(exchange, bodyOf(newKeys(), text, now))
      assert.deepStrictEqual(reasonOf(unknown), [400, "BAD_REQUEST", "InvalidCode"])
    }
    const forged = await activate(exchange, { ...other, signature: "00".repeat(64) })
    assert.deepStrictEqual(reasonOf(forged), [401, "UNAUTHORIZED", "InvalidSignature"])
    assert.strictEqual(forged.headers.get("www-authenticate"), "Bearer")

    // the wallet had never logged in; after its login it has the benefits of the code
    const { seed, public_key } = vectors.keys.wallet
    const { token } = await login(exchange, keysOfSeed(seed, public_key.hex_0x), now)
    const { body: me } = await call(exchange, "GET", "/api/v1/user/me", { token })
    assert.deepInclude(me, { whitelisted: true, activated: true, badge: true, multiplier_bps: 12500 })
  })

  it("accepts both rails, in all four spellings of a signature", async () => {
    for (const vector of vectors.activation) {
      await call(exchange, "DELETE", `/api/v1/authorize/whitelist/${vector.expect.root_address}`, { headers: basic })
      for (const signature of Object.values(vector.signature)) {
        const { status, body } = await activate(exchange, { ...vector.body, signature })
        // the signature is valid: the code is used up, and the nonce is spent
        assert.include([409, 401], status, JSON.stringify(body))
        assert.include(["WalletAlreadyActivated", "CodeAlreadyUsed", "NonceReused"], body.details.reason, vector.name)
      }
    }
  })

  for (const vector of vectors.negatives.filter(({ mechanism }) => mechanism === "activation")) {
    it(`refuses: ${vector.name}`, async () => {
      const { status, body } = await activate(exchange, vector.body)
      assert.deepStrictEqual([status, body.code], [vector.expect.status, vector.expect.code], JSON.stringify(body))
      assert.isString(body.details.reason)
    })
  }
})

describe("party activation vectors", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ clock: frozenClock(now) })
  })
  afterAll(() => exchange?.close())

  it("admits the party, and recognises its key at login", async () => {
    const vector = vectors.activation.find(({ body }) => body.party_id !== null)!
    assert.strictEqual((await issue(exchange, { codes: [vector.body.code.trim()] })).status, 201)
    const done = await activate(exchange, vector.body)
    assert.deepStrictEqual([done.status, done.body], [200, { activated: true, badge: false, multiplier_bps: 10000 }])
    const bound = vectors.login.find(
      ({ body }) => body.public_key === vector.body.party_id && body.verifying_key === undefined
    )!
    const logged = await call(exchange, "POST", "/api/v1/authorize", { body: bound.body })
    assert.strictEqual(logged.status, 200, JSON.stringify(logged.body))
    const { body: me } = await call(exchange, "GET", "/api/v1/user/me", { token: logged.body.token })
    assert.deepInclude(me, { whitelisted: true, activated: true })
  })
})

describe("access codes", () => {
  let exchange: Exchange
  const clock = movableClock()
  beforeAll(async () => {
    exchange = await startExchange({ clock: clock.layer })
  })
  afterAll(() => exchange?.close())

  it("are generated or given, and shown once", async () => {
    const { body, status } = await issue(exchange, { count: 3, label: "wave 1", max_uses: 2 })
    assert.strictEqual(status, 201)
    assert.strictEqual(body.list.length, 3)
    for (const made of body.list) {
      assert.match(made.code, /^[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){2}$/u)
      assert.strictEqual(made.code_hash, createHash("sha256").update(made.code).digest("hex"))
      assert.deepInclude(made, { label: "wave 1", max_uses: 2, uses: 0, badge: false, multiplier_bps: 10000 })
      assert.notProperty(made, "expires_time")
    }
    const own = await issue(exchange, { codes: ["own-code-1", "OWN-CODE-2"], count: 2, label: "own" })
    assert.deepStrictEqual(
      own.body.list.map(({ code }: { code: string }) => code),
      ["OWN-CODE-1", "OWN-CODE-2"]
    )
    const listed = await call(exchange, "GET", `${CODES}?label=own`, { headers: basic })
    assert.strictEqual(listed.body.list.length, 2)
    assert.strictEqual(listed.body.next_page_cursor, "")
    for (const code of listed.body.list) assert.notProperty(code, "code")
    assert.notInclude(JSON.stringify(listed.body), "OWN-CODE")
  })

  it("are unique whatever their case; a request creates all of its codes or none", async () => {
    const again = await issue(exchange, { codes: ["FRESH-CODE", "Own-Code-2"] })
    assert.deepStrictEqual(reasonOf(again), [409, "CONFLICT", "CodeExists"])
    assert.strictEqual(again.body.details.field, "codes.1")
    assert.strictEqual((await issue(exchange, { codes: ["FRESH-CODE"] })).status, 201)
    assert.deepStrictEqual(reasonOf(await issue(exchange, { codes: ["twice-1", "TWICE-1"] })).slice(2), ["CodeExists"])
  })

  it("are refused in any other form", async () => {
    const bad: ReadonlyArray<readonly [object, string, string]> = [
      [{ count: 0 }, "OutOfRange", "count"],
      [{ count: 1001 }, "OutOfRange", "count"],
      [{ count: 2, codes: ["ONE-CODE"] }, "InvalidField", "count"],
      [{ codes: [] }, "InvalidField", "codes"],
      [{ codes: ["short"] }, "InvalidField", "codes.0"],
      [{ codes: ["with space"] }, "InvalidField", "codes.0"],
      [{ max_uses: 0 }, "OutOfRange", "max_uses"],
      [{ multiplier_bps: 100001 }, "OutOfRange", "multiplier_bps"],
      [{ multiplier_bps: -1 }, "OutOfRange", "multiplier_bps"],
      [{ expires_time: clock.now() }, "OutOfRange", "expires_time"],
      [{ label: "x".repeat(65) }, "InvalidField", "label"]
    ]
    for (const [body, reason, field] of bad) {
      const answer = await issue(exchange, body)
      assert.deepStrictEqual(reasonOf(answer), [400, "BAD_REQUEST", reason], JSON.stringify(body))
      assert.strictEqual(answer.body.details.field, field)
    }
    assert.deepStrictEqual(reasonOf(await call(exchange, "POST", CODES, { body: {} })), [
      401,
      "UNAUTHORIZED",
      "BadCredentials"
    ])
  })

  it("are listed with cursors that are bound to the filter", async () => {
    await issue(exchange, { count: 5, label: "paged" })
    const seen: Array<string> = []
    let cursor = ""
    do {
      const path = `${CODES}?label=paged&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`
      const { body } = await call(exchange, "GET", path, { headers: basic })
      seen.push(...body.list.map(({ code_id }: { code_id: string }) => code_id))
      cursor = body.next_page_cursor
      if (cursor === "") break
      const foreign = await call(exchange, "GET", `${CODES}?limit=2&cursor=${cursor}`, { headers: basic })
      assert.deepStrictEqual(reasonOf(foreign), [400, "BAD_REQUEST", "InvalidCursor"])
    } while (seen.length < 100)
    assert.strictEqual(new Set(seen).size, 5)
    assert.strictEqual(seen.length, 5)
  })

  it("end: revoked, expired, used up", async () => {
    const expires_time = clock.now() + 60_000
    const [gone, late, twice] = ["GONE-CODE", "LATE-CODE", "TWICE-CODE"]
    const { body } = await issue(exchange, { codes: [gone] })
    await issue(exchange, { codes: [late], expires_time })
    await issue(exchange, { codes: [twice], max_uses: 2 })
    const path = `${CODES}/${body.list[0].code_id}`
    for (let i = 0; i < 2; i++) {
      const revoked = await call(exchange, "DELETE", path, { headers: basic })
      assert.deepStrictEqual([revoked.status, revoked.body], [200, { code_id: body.list[0].code_id, revoked: true }])
    }
    for (const id of ["018f3f1e-5d5b-4a00-8000-000000000009", "x"]) {
      const none = await call(exchange, "DELETE", `${CODES}/${id}`, { headers: basic })
      assert.deepStrictEqual(reasonOf(none), [404, "NOT_FOUND", "AccessCodeNotFound"])
    }
    const wallet = newKeys()
    const ask = (code: string, keys = wallet) => activate(exchange, bodyOf(keys, code, clock.now()))
    assert.deepStrictEqual(reasonOf(await ask(gone)), [400, "BAD_REQUEST", "CodeRevoked"])
    clock.skip(60_001)
    assert.deepStrictEqual(reasonOf(await ask(late)), [400, "BAD_REQUEST", "CodeExpired"])
    // of three concurrent wallets two get the two uses
    const answers = await Promise.all([newKeys(), newKeys(), newKeys()].map((keys) => ask(twice, keys)))
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 409])
    assert.deepStrictEqual(reasonOf(answers.find(({ status }) => status === 409)!), [
      409,
      "CONFLICT",
      "CodeAlreadyUsed"
    ])
  })
})

describe("a closed launch", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ env: { ACCESS_MODE: "closed" } })
  })
  afterAll(() => exchange?.close())

  it("lets all wallets log in and read, and only admitted ones trade", async () => {
    const keys = newKeys()
    const user = await login(exchange, keys)
    const refused = [403, "FORBIDDEN", "NotWhitelisted"]
    const order = {
      sub_account_address: user.vault,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.001",
      price: "59000"
    }
    const { token } = user
    const gated: ReadonlyArray<readonly [string, string, unknown?]> = [
      ["POST", "/api/v1/order/create", order],
      ["POST", "/api/v1/order/cancel", { symbol: "BTC-USDC", sub_account_address: user.vault, order_link_id: "a" }],
      ["POST", "/api/v1/account/faucet", { sub_account_address: user.vault, asset: "USDC", amount: "1" }],
      ["POST", "/api/v1/user/sub-accounts", { label: "b" }],
      ["GET", "/api/v1/user/api-keys"],
      // the restriction is checked before the body
      ["POST", "/api/v1/user/api-keys", "{"]
    ]
    for (const [method, path, body] of gated) {
      assert.deepStrictEqual(reasonOf(await call(exchange, method, path, { token, body })), refused, path)
    }
    for (const path of ["/api/v1/user/me", "/api/v1/order/realtime", "/api/v1/account/balances"]) {
      assert.strictEqual((await call(exchange, "GET", path, { token })).status, 200, path)
    }
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer: token })
    assert.isTrue((await socket.next("auth", ({ op }) => op === "auth")).success)
    socket.send({ op: "subscribe", args: ["order"] })
    assert.deepStrictEqual((await socket.next("subscribed", ({ op }) => op === "subscribed")).args, ["order"])

    // a code admits the wallet at once
    await issue(exchange, { codes: ["OPEN-SESAME"] })
    assert.strictEqual((await activate(exchange, bodyOf(keys, "OPEN-SESAME"))).status, 200)
    for (const [method, path, body] of gated.slice(2, 5)) {
      assert.isBelow((await call(exchange, method, path, { token, body })).status, 300, path)
    }
    const bot = newKeys()
    const registered = await call(exchange, "POST", "/api/v1/user/api-keys", {
      token,
      body: { public_key: bot.publicKey, scopes: ["trade", "read"] }
    })
    assert.strictEqual(registered.status, 201)

    // removal from the whitelist takes effect at once, for the wallet's API keys too
    await call(exchange, "DELETE", `/api/v1/authorize/whitelist/${user.root_address}`, { headers: basic })
    assert.deepStrictEqual(
      reasonOf(await call(exchange, "POST", "/api/v1/order/create", { token, body: order })),
      refused
    )
    const text = JSON.stringify(order)
    const signed = await call(exchange, "POST", "/api/v1/order/create", {
      headers: apiKeyHeaders(bot, "POST", "/api/v1/order/create", { body: text }),
      body: text
    })
    assert.deepStrictEqual(reasonOf(signed), refused)
    const me = "/api/v1/user/me"
    assert.strictEqual((await call(exchange, "GET", me, { headers: apiKeyHeaders(bot, "GET", me) })).status, 200)
    assert.strictEqual((await call(exchange, "POST", "/api/v1/authorize/logout", { token })).status, 200)
    socket.close()
  })
})

describe("without the access module", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ env: { ACCESS_MODE: "off", RATE_LIMIT_MODE: "enforce" } })
  })
  afterAll(() => exchange?.close())

  it("activation is 404, for any request and at any rate", async () => {
    for (let i = 0; i < 70; i++) {
      const answer = await activate(exchange, "{")
      assert.deepStrictEqual(reasonOf(answer), [404, "NOT_FOUND", "ModuleDisabled"])
      assert.isNull(answer.headers.get("ratelimit-limit"))
    }
    assert.strictEqual((await login(exchange, newKeys())).token.split(".").length, 3)
  })
})

describe("activation rates", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ env: { RATE_LIMIT_MODE: "enforce" } })
  })
  afterAll(() => exchange?.close())

  it("are 5 per wallet with a valid signature, and 10 per address before the body is read", async () => {
    const keys = newKeys()
    for (let i = 0; i < 5; i++) {
      const { headers, ...answer } = await activate(exchange, bodyOf(keys, "NO-SUCH-CODE"))
      assert.deepStrictEqual(reasonOf({ headers, ...answer }), [400, "BAD_REQUEST", "InvalidCode"])
      // the wallet's bucket is the smallest
      assert.strictEqual(headers.get("ratelimit-policy"), '"activate-root";q=5;w=60')
      assert.strictEqual(headers.get("ratelimit-remaining"), String(4 - i))
    }
    const wallet = await activate(exchange, bodyOf(keys, "NO-SUCH-CODE"))
    assert.strictEqual(wallet.status, 429)
    assert.match(wallet.headers.get("ratelimit")!, /^"activate-root";r=0;t=\d+$/u)
    for (let i = 6; i < 10; i++) {
      const bad = await activate(exchange, "{")
      assert.deepStrictEqual(reasonOf(bad), [400, "BAD_REQUEST", "MalformedJson"])
      assert.strictEqual(bad.headers.get("ratelimit-policy"), '"activate-ip";q=10;w=60')
    }
    const refused = await activate(exchange, "{")
    assert.deepStrictEqual([refused.status, refused.body.code], [429, "RateLimitExceeded"])
    assert.isAtLeast(Number(refused.headers.get("retry-after")), 1)
    // ten were counted with the address's public requests; refused ones were not
    const time = await call(exchange, "GET", "/api/v1/market/time")
    assert.strictEqual(time.headers.get("ratelimit-remaining"), "49")
  })
})
