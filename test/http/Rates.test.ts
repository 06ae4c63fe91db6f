/**
 * The rates of docs/contract/limits.md over HTTP: every bucket, exact at its boundary, and what each response reports of
 * it. The policies are the real ones and time is the test's; behind the surface are doubles.
 */
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { afterEach, assert, describe, it } from "vitest"
import { activationMessage, hashOfCode } from "../../src/domain/AccessCode.ts"
import { rootOfKey, userIdOf } from "../../src/domain/Address.ts"
import type { Bucket } from "../../src/domain/RateHeaders.ts"
import { Accounts } from "../../src/services/identity/Accounts.ts"
import { Activation } from "../../src/services/identity/Activation.ts"
import { ApiKeys } from "../../src/services/identity/ApiKeys.ts"
import { Administrators } from "../../src/services/identity/Administrators.ts"
import { Authenticator } from "../../src/services/identity/Authenticator.ts"
import { type Limits, RateLimiter, type RateLimiterOptions } from "../../src/services/operations/RateLimiter.ts"
import * as Wallets from "../doubles/Wallets.ts"
import { type Ask, type Gateway, gateway, v0 } from "./Fixture.ts"
import { parseList } from "./StructuredFields.ts"
import * as SqliteStores from "../doubles/SqliteStores.ts"

const START = 1_767_225_600_000
const owner = Wallets.walletNo(1)
const bot = Wallets.walletNo(2)

/** Time that stands until it is moved. */
class ManualClock implements Clock.Clock {
  now = START
  currentTimeMillisUnsafe = () => this.now
  currentTimeMillis = Effect.sync(() => this.now)
  currentTimeNanosUnsafe = () => BigInt(this.now) * 1_000_000n
  currentTimeNanos = Effect.sync(() => BigInt(this.now) * 1_000_000n)
  monotonicTimeNanosUnsafe = () => BigInt(this.now) * 1_000_000n
  monotonicTimeNanos = Effect.sync(() => BigInt(this.now) * 1_000_000n)
  sleep = () => Effect.never
}

interface World {
  readonly clock: ManualClock
  readonly fetch: (method: string, path: string, ask: Ask & { readonly ip: string }) => Promise<Response>
  readonly token: (ip?: string) => Promise<string>
}

const disposals: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const dispose of disposals.splice(0)) await dispose()
})

const world = async (rate: RateLimiterOptions = { mode: "enforce" }): Promise<World> => {
  const clock = new ManualClock()
  const runtime = ManagedRuntime.make(
    Activation.layer().pipe(
      Layer.provideMerge(SqliteStores.accessCodes),
      Layer.provideMerge(Wallets.layer({ rate })),
      Layer.provide(Layer.succeed(Clock.Clock, clock))
    )
  )
  const timed = Effect.provideService(Clock.Clock, clock)
  const services = await runtime.runPromise(
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const accounts = yield* Accounts
      const root_address = rootOfKey(owner.publicKey)
      const user_id = userIdOf(root_address)
      yield* accounts.ensureUser({ user_id, root_address, rail: "address", party_id: undefined })
      yield* apiKeys.create(user_id, {
        public_key: bot.hex,
        label: "",
        scopes: ["read"],
        sub_account_addresses: undefined,
        ip_allowlist: [],
        expires_time: undefined,
        require_body_hash: undefined
      })
      return {
        accounts,
        activation: yield* Activation,
        administrators: yield* Administrators,
        authenticator: yield* Authenticator,
        limiter: yield* RateLimiter
      }
    }).pipe(timed)
  )
  const door: Gateway = gateway({ ...services, trustedProxies: 1, clock })
  disposals.push(door.dispose, () => runtime.dispose())
  const fetch: World["fetch"] = (method, path, { ip, ...ask }) =>
    door.fetch(method, path, { authorization: null, ...ask, headers: { ...ask.headers, "x-forwarded-for": ip } })
  return {
    clock,
    fetch,
    token: async (ip = "203.0.113.1") => {
      const answer = await fetch("POST", "/api/v1/authorize", { ip, body: login(clock.now, owner) })
      assert.strictEqual(answer.status, 200)
      return ((await answer.json()) as { readonly token: string }).token
    }
  }
}

let nonces = 0
const login = (timestamp_ms: number, wallet: Wallets.Wallet) => {
  const nonce = `nonce-${String(nonces++).padStart(6, "0")}`
  const signature = wallet.sign(`SERVICE_AUTH|LOGIN|${wallet.hex}|${timestamp_ms}|${nonce}`)
  return { public_key: wallet.hex, signature, timestamp_ms, nonce }
}
const activation = (now: number, wallet: Wallets.Wallet) => {
  const signed_at = now / 1000
  const of = {
    code_hash: hashOfCode("NO-CODE"),
    root_address: rootOfKey(wallet.publicKey),
    signed_at,
    nonce: undefined
  }
  return { code: "NO-CODE", public_key: wallet.hex, signature: wallet.sign(activationMessage(of)), signed_at }
}
const signed = (now: number, uri: string, method = "GET") => {
  const nonce = `nonce-${String(nonces++).padStart(6, "0")}`
  return {
    "x-api-key": bot.hex,
    "x-signature": bot.sign(`SERVICE_API|${method}|${uri}|${now}|${nonce}`),
    "x-timestamp-ms": String(now),
    "x-nonce": nonce
  }
}

interface RateReport {
  readonly bucket: string
  readonly limit: number
  readonly remaining: number
  readonly reset: number
}
/** The values of both families of headers, which are equal. */
const rateOf = ({ headers }: Response): RateReport => {
  const number = (name: string) => {
    assert.match(headers.get(name) ?? "absent", /^\d+$/u, name)
    return Number(headers.get(name))
  }
  const [limit, remaining, reset] = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(number) as [
    number,
    number,
    number
  ]
  const policy = parseList(headers.get("ratelimit-policy")!)
  const state = parseList(headers.get("ratelimit")!)
  const bucket = policy[0]![0] as string
  assert.deepStrictEqual(policy, [
    [
      bucket,
      [
        ["q", limit],
        ["w", 60]
      ]
    ]
  ])
  assert.deepStrictEqual(state, [
    [
      bucket,
      [
        ["r", remaining],
        ["t", reset]
      ]
    ]
  ])
  return { bucket, limit, remaining, reset }
}

/** How a bucket is filled: `ask` is one request that counts in it and, as far as can be, in no other that is full. */
interface Case {
  readonly limit: number
  readonly status: number
  readonly ask: (world: World, i: number) => Promise<Response>
  /** Limits that leave the others of the same request behind; default: those of the contract. */
  readonly limits?: Partial<Limits>
}
const ME = "/api/v1/user/me"
const WHITELIST = "/api/v1/authorize/whitelist/0x1"
/** Another address each time. */
const far = (i: number) => `198.51.100.${i % 250}`
const here = "192.0.2.7"
let held = ""
/** Tokens of one user. */
let logins: ReadonlyArray<string> = []
const CANCEL = "/api/v1/order/cancel"

const cancelWith = (authorization: string) => ({ authorization, raw: "{" })
const cases: Record<Bucket, Case> = {
  public: { limit: 60, status: 200, ask: ({ fetch }) => fetch("GET", "/api/v1/market/time", { ip: here }) },
  token: {
    limit: 30,
    status: 200,
    ask: ({ fetch }, i) => fetch("GET", ME, { ip: far(i), authorization: `Bearer ${held}` })
  },
  user: {
    limit: 120,
    status: 200,
    limits: { token: 1_000 },
    ask: ({ fetch }, i) => fetch("GET", ME, { ip: far(i), authorization: `Bearer ${logins[i % logins.length]}` })
  },
  "token-cancels": {
    limit: 30,
    status: 400,
    ask: ({ fetch }, i) => fetch("POST", CANCEL, { ip: far(i), ...cancelWith(`Bearer ${held}`) })
  },
  "user-cancels": {
    limit: 120,
    status: 400,
    limits: { token: 1_000 },
    ask: ({ fetch }, i) => fetch("POST", CANCEL, { ip: far(i), ...cancelWith(`Bearer ${logins[i % logins.length]}`) })
  },
  "api-key-cancels": {
    limit: 600,
    status: 403,
    ask: ({ clock, fetch }, i) =>
      fetch("POST", CANCEL, { ip: far(i), raw: "{", headers: signed(clock.now, CANCEL, "POST") })
  },
  "api-key": {
    limit: 600,
    status: 200,
    ask: ({ clock, fetch }, i) => fetch("GET", ME, { ip: far(i), headers: signed(clock.now, ME) })
  },
  "authorize-ip": {
    limit: 20,
    status: 400,
    // counted before the body is looked at
    ask: ({ fetch }) => fetch("POST", "/api/v1/authorize", { ip: here, raw: "{" })
  },
  "authorize-key": {
    limit: 10,
    status: 200,
    ask: ({ clock, fetch }, i) => fetch("POST", "/api/v1/authorize", { ip: far(i), body: login(clock.now, bot) })
  },
  "activate-ip": {
    limit: 10,
    status: 400,
    ask: ({ fetch }) => fetch("POST", "/api/v1/access/activate", { ip: here, raw: "{" })
  },
  "activate-root": {
    limit: 5,
    status: 400,
    ask: ({ clock, fetch }, i) => {
      const body = activation(Math.floor(clock.now / 1000) * 1000, bot)
      return fetch("POST", "/api/v1/access/activate", { ip: far(i), body })
    }
  },
  "basic-failures": {
    limit: 10,
    status: 401,
    ask: ({ fetch }) => fetch("GET", WHITELIST, { ip: here, authorization: `Basic ${btoa("admin:wrong password")}` })
  },
  "auth-failures": {
    limit: 60,
    status: 401,
    ask: ({ fetch }, i) => fetch("GET", ME, { ip: here, authorization: `Bearer x.y.${i}` })
  }
}

describe("a bucket", () => {
  for (const [bucket, { ask, limit, limits = {}, status }] of Object.entries(cases)) {
    it(`${bucket}: ${limit} in 60 000 ms, refused at 59 999, free at 60 000`, { timeout: 60_000 }, async () => {
      const here = await world({ mode: "enforce", limits })
      held = await here.token()
      logins = [held, await here.token(), await here.token(), await here.token()]
      for (let i = 0; i < limit; i++) {
        // the first slot is free before the others
        if (i === 1) here.clock.now += 10
        const answer = await ask(here, i)
        assert.strictEqual(answer.status, status, `${i + 1} of ${limit}`)
        const { remaining, ...rest } = rateOf(answer)
        assert.deepInclude(rest, { bucket, limit })
        assert.strictEqual(remaining, limit - 1 - i)
        assert.isNull(answer.headers.get("retry-after"))
      }
      for (const [at, wait] of [
        [10, 60],
        [30_000, 30],
        [59_001, 1],
        [59_999, 1]
      ] as const) {
        here.clock.now = START + at
        const refused = await ask(here, limit)
        assert.strictEqual(refused.status, 429, `after ${at} ms`)
        assert.deepStrictEqual(rateOf(refused), { bucket, limit, remaining: 0, reset: wait })
        assert.strictEqual(refused.headers.get("retry-after"), String(wait))
        assert.deepInclude(await refused.json(), { code: "RateLimitExceeded", message: "rate limit exceeded" })
      }
      here.clock.now = START + 60_000
      assert.strictEqual((await ask(here, limit)).status, status)
      // the second pass was 10 ms later than the first
      assert.strictEqual((await ask(here, limit)).status, 429)
      here.clock.now = START + 60_010
      assert.strictEqual((await ask(here, limit)).status, status)
    })
  }
})

describe("an address", () => {
  it("is one client per IPv6 network, and the one that the proxy forwards", async () => {
    const { fetch } = await world()
    const left = async (ip: string) => rateOf(await fetch("GET", "/api/v1/market/time", { ip })).remaining
    assert.strictEqual(await left("2001:db8:1:2::1"), 59)
    assert.strictEqual(await left("2001:db8:1:2:ffff::"), 58)
    assert.strictEqual(await left("2001:db8:1:3::1"), 59)
    assert.strictEqual(await left("6.6.6.6, 2001:db8:1:2::9"), 57)
    assert.strictEqual(await left("[2001:db8:1:2::8]:4711"), 56)
  })

  it("that failed too often is refused before its password is compared, a correct one too, on every path but its own", async () => {
    const { fetch } = await world()
    const admin = (password: string, ip = here) =>
      fetch("GET", WHITELIST, { ip, authorization: `Basic ${btoa(`admin:${password}`)}` })
    // many at once are no more than one after the other
    const guesses = await Promise.all(Array.from({ length: 50 }, (_, i) => admin(`guess ${i}`)))
    assert.strictEqual(guesses.filter(({ status }) => status === 401).length, 10)
    assert.strictEqual(guesses.filter(({ status }) => status === 429).length, 40)
    assert.strictEqual((await admin("correct horse battery")).status, 429)
    assert.strictEqual((await admin("correct horse battery", "192.0.2.8")).status, 200)
    assert.strictEqual((await fetch("GET", "/api/v1/market/time", { ip: here })).status, 200)
  })
})

describe("an answer", () => {
  it("reports the tightest of the buckets that counted it", async () => {
    const { clock, fetch } = await world()
    const enter = () => fetch("POST", "/api/v1/authorize", { ip: here, body: login(clock.now, bot) })
    assert.deepInclude(rateOf(await enter()), { bucket: "authorize-key", remaining: 9 })
    for (let i = 0; i < 8; i++) await enter()
    const bad = await fetch("POST", "/api/v1/authorize", { ip: here, raw: "{" })
    assert.deepInclude(rateOf(bad), { bucket: "authorize-ip", remaining: 10 })
    assert.deepInclude(rateOf(await enter()), { bucket: "authorize-key", remaining: 0 })
    const refused = await enter()
    assert.strictEqual(refused.status, 429)
    assert.deepInclude(rateOf(refused), { bucket: "authorize-key", remaining: 0 })
    for (let i = 0; i < 52; i++) await fetch("GET", "/api/v1/market/time", { ip: here })
    // 8 are left to the address, 10 to its activations
    const asked = fetch("POST", "/api/v1/access/activate", { ip: here, raw: "{" })
    assert.deepInclude(rateOf(await asked), { bucket: "public", remaining: 7 })
    // the service counts the activation too: 9 are left to the address, 4 to the wallet
    const counted = await fetch("POST", "/api/v1/access/activate", { ip: here, body: activation(clock.now, bot) })
    assert.deepInclude(rateOf(counted), { bucket: "activate-root", remaining: 4 })
    for (let i = 0; i < 4; i++) await fetch("GET", "/api/v1/market/time", { ip: here })
    const other = await fetch("POST", "/api/v1/access/activate", { ip: here, body: activation(clock.now, owner) })
    assert.deepInclude(rateOf(other), { bucket: "public", remaining: 1 })
  })

  it("reports for a token the bucket of its user, where that is the tighter one", async () => {
    const { fetch, token } = await world({ mode: "enforce", limits: { user: 40 } })
    const ask = (bearer: string) => fetch("GET", ME, { ip: here, authorization: `Bearer ${bearer}` })
    const [one, other] = [await token(), await token()]
    for (let i = 0; i < 29; i++) assert.deepInclude(rateOf(await ask(one)), { bucket: "token", remaining: 29 - i })
    assert.deepInclude(rateOf(await ask(other)), { bucket: "user", limit: 40, remaining: 10 })
  })

  it("of every kind reports its bucket if it was counted, and nothing otherwise", async () => {
    const { clock, fetch, token } = await world()
    const authorization = `Bearer ${await token()}`
    const counted: ReadonlyArray<readonly [number, Promise<Response>]> = [
      [200, fetch("GET", ME, { ip: here, authorization })],
      [400, fetch("GET", "/api/v1/order/history?limit=0", { ip: here, authorization })],
      [401, fetch("GET", ME, { ip: here, authorization: "Bearer x" })],
      [401, fetch("GET", ME, { ip: here })],
      [403, fetch("GET", "/api/v1/user/api-keys", { ip: here, headers: signed(clock.now, "/api/v1/user/api-keys") })],
      [404, fetch("GET", "/api/v1/market/tickers?symbol=NO-SUCH", { ip: here })],
      [400, fetch("GET", "/api/v1/market/tickers?symbol=%", { ip: here })]
    ]
    for (const [status, asked] of counted) {
      const answer = await asked
      assert.strictEqual(answer.status, status)
      rateOf(answer)
    }
    // a forged signature counts as a failure of the address
    const forged = { ...signed(clock.now, ME), "x-signature": "00".repeat(64) }
    const failed = await fetch("GET", ME, { ip: here, headers: forged })
    assert.strictEqual(failed.status, 401)
    assert.deepInclude(rateOf(failed), { bucket: "auth-failures", limit: 60 })
    for (const [method, path] of [
      ["GET", "/health"],
      ["GET", "/ready"],
      ["GET", "/.well-known/jwks.json"],
      ["GET", "/swagger-ui"],
      ["GET", "/api-docs/openapi.json"],
      ["OPTIONS", ME],
      ["GET", "/nope"],
      ["DELETE", ME]
    ] as const) {
      const { headers } = await fetch(method, path, { ip: here, authorization })
      for (const name of ["ratelimit", "ratelimit-policy", "ratelimit-limit", "retry-after"]) {
        assert.isNull(headers.get(name), `${method} ${path}: ${name}`)
      }
    }
  })

  it("is never 429 where limits are only reported, and has no headers where they are off", async () => {
    const reporting = await world({ mode: "report" })
    const ask = ({ fetch }: World) => fetch("GET", "/api/v1/market/time", { ip: here })
    for (let i = 0; i < 60; i++) assert.strictEqual(rateOf(await ask(reporting)).remaining, 59 - i)
    const beyond = await ask(reporting)
    assert.strictEqual(beyond.status, 200)
    assert.deepInclude(rateOf(beyond), { remaining: 0, reset: 60 })
    for (let i = 0; i < 12; i++) assert.strictEqual((await cases["basic-failures"].ask(reporting, i)).status, 401)
    const off = await world({ mode: "off" })
    for (let i = 0; i < 70; i++) {
      const answer = await ask(off)
      assert.strictEqual(answer.status, 200)
      assert.isNull(answer.headers.get("ratelimit"))
    }
  })
})

describe("what is counted apart", () => {
  it("Amendment 19: a client at the limit of the public bucket can log in", async () => {
    const { clock, fetch } = await world()
    const read = () => fetch("GET", "/api/v1/market/time", { ip: here })
    for (let i = 0; i < 60; i++) assert.strictEqual((await read()).status, 200)
    assert.strictEqual((await read()).status, 429)
    const entered = await fetch("POST", "/api/v1/authorize", { ip: here, body: login(clock.now, owner) })
    assert.strictEqual(entered.status, 200)
    assert.include(["authorize-ip", "authorize-key"], rateOf(entered).bucket)
    // an activation draws on the public bucket, as before
    const activate = await fetch("POST", "/api/v1/access/activate", { ip: here, raw: "{" })
    assert.deepInclude(rateOf(activate), { bucket: "public", remaining: 0 })
    assert.strictEqual(activate.status, 429)
  })

  it("Amendment 19: a login takes nothing from the public bucket", async () => {
    const { fetch } = await world()
    for (let i = 0; i < 20; i++) await fetch("POST", "/api/v1/authorize", { ip: here, raw: "{" })
    assert.deepInclude(rateOf(await fetch("GET", "/api/v1/market/time", { ip: here })), {
      bucket: "public",
      remaining: 59
    })
  })

  const link = { sub_account_address: v0, symbol: "BTC-USDC", order_link_id: "a-1" }
  const cancels: Readonly<Record<string, readonly [path: string, body: object]>> = {
    cancel: ["/api/v1/order/cancel", link],
    "cancel-all": ["/api/v1/order/cancel-all", { sub_account_address: v0 }],
    "cancel-batch": ["/api/v1/order/cancel-batch", { orders: [link] }],
    "the dead-man's switch": [
      "/api/v1/order/disconnect-cancel-all",
      { sub_account_address: v0, enabled: true, time_window: 10 }
    ]
  }
  for (const [name, [path, body]] of Object.entries(cancels)) {
    it(`Amendment 20: ${name} is not refused for what other requests have used up, of the token and of the user`, async () => {
      const { fetch, token } = await world({ mode: "enforce", limits: { user: 45 } })
      const [one, other] = [await token(), await token()]
      const ask = (bearer: string, method: string, at: string, sent?: object) =>
        fetch(method, at, {
          ip: here,
          authorization: `Bearer ${bearer}`,
          ...(sent === undefined ? {} : { body: sent })
        })
      for (let i = 0; i < 30; i++) assert.strictEqual((await ask(one, "GET", ME)).status, 200)
      for (let i = 0; i < 15; i++) assert.strictEqual((await ask(other, "GET", ME)).status, 200)
      assert.deepInclude(rateOf(await ask(one, "GET", ME)), { remaining: 0 })
      assert.strictEqual((await ask(other, "GET", ME)).status, 429)
      for (let i = 0; i < 30; i++) {
        const answer = await ask(one, "POST", path, body)
        assert.notStrictEqual(answer.status, 429, `${name} ${i + 1}`)
        assert.deepInclude(rateOf(answer), { bucket: "token-cancels", limit: 30, remaining: 29 - i })
      }
      assert.strictEqual((await ask(one, "POST", path, body)).status, 429)
      for (let i = 0; i < 15; i++) assert.notStrictEqual((await ask(other, "POST", path, body)).status, 429)
      const refused = await ask(other, "POST", path, body)
      assert.deepInclude(rateOf(refused), { bucket: "user-cancels", limit: 45, remaining: 0 })
      assert.strictEqual(refused.status, 429)
    })
  }

  it("Amendment 21: ten logins of one user pass no more often than RATE_USER, and API keys not less for it", async () => {
    const { clock, fetch, token } = await world()
    const tokens: Array<string> = []
    for (let i = 0; i < 10; i++) tokens.push(await token(far(i)))
    let passed = 0
    for (let i = 0; i < 300; i++) {
      const { status } = await fetch("GET", ME, { ip: far(i), authorization: `Bearer ${tokens[i % 10]}` })
      assert.include([200, 429], status)
      if (status === 200) passed++
    }
    assert.strictEqual(passed, 120)
    // what the user's bucket refused was not counted against the token
    clock.now += 60_000
    const after = await fetch("GET", ME, { ip: here, authorization: `Bearer ${tokens[0]}` })
    assert.deepInclude(rateOf(after), { bucket: "token", remaining: 29 })
    assert.strictEqual((await fetch("GET", ME, { ip: here, headers: signed(clock.now, ME) })).status, 200)
  })

  it("Amendment 21: a request that one bucket refuses is counted in no other", async () => {
    const { fetch, token } = await world({ mode: "enforce", limits: { token: 5, user: 12 } })
    const [one, other] = [await token(), await token()]
    const ask = (bearer: string) => fetch("GET", ME, { ip: here, authorization: `Bearer ${bearer}` })
    for (let i = 0; i < 20; i++) await ask(one)
    assert.deepInclude(rateOf(await ask(other)), { bucket: "token", remaining: 4 })
    for (let i = 0; i < 4; i++) assert.strictEqual((await ask(other)).status, 200)
    // 5 and 5 of 12 are gone: the refused ones of both tokens left the user's bucket alone
    const third = await token()
    assert.strictEqual((await ask(third)).status, 200)
    assert.deepInclude(rateOf(await ask(third)), { bucket: "user", remaining: 0 })
  })
})
