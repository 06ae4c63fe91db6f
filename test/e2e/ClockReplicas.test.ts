/**
 * Three gateways of one fleet, two of them half a minute off, with a Redis on its own clock (libfaketime). Nonces are claimed
 * once, limits are counted together, and no clock makes a nonce or a token valid again.
 */
import { Redacted } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type GatewayProcess, startGateway } from "../../verification/harness/GatewayProcess.ts"
import * as Postgres from "../doubles/Postgres.ts"
import { isRedisInstalled, RedisServer } from "../../verification/harness/RedisServer.ts"
import { type BackendProcess, startBackend } from "../../verification/harness/BackendProcess.ts"
import { freePort } from "../../verification/harness/Programs.ts"
import { apiKeyHeaders, call, type Keys, login, newKeys, nonce } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type FakeTime, fakeTime, isFakeTimeInstalled, shownBy } from "../../verification/harness/FakeTime.ts"

const START_MS = 120_000
const PATIENCE_MS = 30_000
const OFF_S = 30
const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S
const LIMIT = 50
const ME = "/api/v1/user/me"
const MARKER = "{gateway:nonces}"
/** The log line of a gateway that counts limits locally, because Redis did not respond in time. */
const ALONE = "this process counts rate limits alone"

const server = Postgres.throwaway()

interface Replica {
  readonly off_s: number
  readonly clock: FakeTime
  readonly gateway: GatewayProcess
}

describe.skipIf(!isFakeTimeInstalled || !isRedisInstalled || !Postgres.isThere)("the clocks of a fleet", () => {
  const folder = mkdtempSync(join(tmpdir(), "clocks-"))
  let backend: BackendProcess
  let redis: RedisServer
  let redisClock: FakeTime
  let replicas: ReadonlyArray<Replica> = []
  let alone = 0
  let key: Keys
  let token: string

  const start = async (off_s: number, port: number): Promise<Replica> => {
    const clock = fakeTime(folder, `gateway${off_s}`, off_s)
    const gateway = await startGateway({
      dataDir: join(folder, `gateway${off_s}`),
      ready_ms: START_MS,
      onLine: (line) => {
        if (line.includes(ALONE)) alone++
      },
      env: {
        ...clock.env,
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${port}`,
        DATABASE_URL: server.url("public"),
        REDIS_URL: Redacted.value(redis.url),
        JWT_SIGNING_KEY: "5a".repeat(32),
        TRUSTED_PROXIES: "1",
        RATE_PUBLIC: String(LIMIT),
        RATE_TOKEN: "1000000",
        RATE_USER: "1000000",
        RATE_API_KEY: "1000000",
        LOG_LEVEL: "warn"
      }
    })
    return { off_s, clock, gateway }
  }
  const at = (off_s: number): Replica => replicas.find((replica) => replica.off_s === off_s)!
  /** Sets a gateway's clock, and waits until it takes effect. */
  const set = async ({ clock, gateway }: Replica, by_s: number): Promise<void> => {
    clock.set(by_s)
    const isThere = (shown: number) => Math.abs(shown - Date.now() - by_s * 1_000) < PATIENCE_MS
    await eventually(`the clock ${by_s} s off`, () => shownBy(gateway), isThere, PATIENCE_MS)
  }
  const signed = async ({ gateway }: Replica, headers: Record<string, string>): Promise<number> =>
    (await call(gateway, "GET", ME, { headers })).status
  const bearer = async ({ gateway }: Replica, token: string): Promise<number> =>
    (await call(gateway, "GET", ME, { token })).status
  /** A current signature that this gateway accepted. */
  const taken = async (replica: Replica): Promise<Record<string, string>> => {
    let headers = apiKeyHeaders(key, "GET", ME)
    await eventually(
      "a signature is taken",
      () => {
        headers = apiKeyHeaders(key, "GET", ME, { at_ms: Date.now() + replica.off_s * 1_000 })
        return signed(replica, headers)
      },
      (status) => status === 200,
      PATIENCE_MS
    )
    return headers
  }

  beforeAll(async () => {
    redisClock = fakeTime(folder, "redis")
    redis = await RedisServer.start({ keeps: "always", env: redisClock.env })
    const port = await freePort()
    backend = await startBackend({
      dataDir: join(folder, "backend"),
      port,
      ready_ms: START_MS,
      env: { INDEX_SOURCE: "manual" }
    })
    // the first gateway creates the tables, for which the others would have to wait
    const first = await start(0, port)
    replicas = [first, ...(await Promise.all([-OFF_S, OFF_S].map((off_s) => start(off_s, port))))]
    // waits for the end of the window after the first start of a Redis, in which nonces are refused
    await eventually(
      "the marker of the nonces",
      () => redis.use((client) => client.hExists(MARKER, "since")),
      (it) => Number(it) === 1,
      PATIENCE_MS
    )
    await redis.use((client) => client.hSet(MARKER, "since", "0"))
    key = newKeys()
    // a gateway that catches up refuses private reads for a moment, and logins are rate limited
    const begin = () =>
      login(at(0).gateway, newKeys()).catch(() => new Promise<undefined>((resolve) => setTimeout(resolve, 3_000)))
    const session = await eventually("a user", begin, (it) => it !== undefined, PATIENCE_MS)
    token = session!.token
    const body = { public_key: key.publicKey, scopes: ["read"] }
    const { status } = await call(at(0).gateway, "POST", "/api/v1/user/api-keys", { token, body })
    assert.strictEqual(status, 201)
  }, 2 * START_MS)
  afterAll(async () => {
    for (const { gateway } of replicas) await gateway.kill()
    await backend?.kill()
    await redis?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  it("let one of three claims of a nonce win, and none after it", { timeout: 90_000 }, async () => {
    let raced = 0
    for (let i = 0; raced < 20; i++) {
      assert.isBelow(i, 200, "Redis does not answer in time")
      // in the windows of the middle gateway and of one other
      const at_ms = Date.now() + (i % 2 === 0 ? 15_000 : -15_000)
      const headers = apiKeyHeaders(key, "GET", ME, { at_ms, nonce: nonce() })
      const first = await Promise.all(replicas.map((replica) => signed(replica, headers)))
      const second = await Promise.all(replicas.map((replica) => signed(replica, headers)))
      const wins = (statuses: ReadonlyArray<number>) => statuses.filter((status) => status === 200).length
      assert.isAtMost(wins(first) + wins(second), 1, JSON.stringify([first, second]))
      // claims that Redis did not answer in time do not count
      if ([...first, ...second].includes(503)) continue
      assert.strictEqual(wins(first), 1, JSON.stringify(first))
      raced++
    }
  })

  it("count a limit together, to the last request", { timeout: 90_000 }, async () => {
    for (let i = 0; ; i++) {
      assert.isBelow(i, 10, "Redis does not answer in time")
      const before = alone
      const began = performance.now()
      let passed = 0
      for (let n = 0; n < LIMIT + 9; n++) {
        const { gateway } = replicas[n % replicas.length]!
        // a new user at each attempt
        const headers = { "x-forwarded-for": `10.9.0.${i}` }
        const { status } = await fetch(`${gateway.url}/api/v1/market/tickers?symbol=BTC-USDC`, { headers })
        if (status === 200) passed++
      }
      // an attempt counted locally, or over more than a window, does not count
      if (alone > before || performance.now() - began > 50_000) continue
      assert.strictEqual(passed, LIMIT)
      return
    }
  })

  it("accept a token during its life, each by its own clock", { timeout: 120_000 }, async () => {
    const [behind, true_, ahead] = [at(-OFF_S), at(0), at(OFF_S)]
    const early = (await login(ahead.gateway, newKeys(), Date.now() + OFF_S * 1_000)).token
    assert.deepStrictEqual([await bearer(true_, token), await bearer(ahead, token)], [200, 200])
    assert.deepStrictEqual([await bearer(ahead, early), await bearer(true_, early)], [200, 401])
    assert.strictEqual(await bearer(behind, early), 401)
    await set(ahead, 7 * DAY_S + HOUR_S)
    assert.strictEqual(await bearer(ahead, token), 401)
    await set(ahead, OFF_S)
    assert.strictEqual(await bearer(ahead, token), 200)
    await set(ahead, -HOUR_S)
    assert.strictEqual(await bearer(ahead, token), 401)
    await set(ahead, OFF_S)
    assert.strictEqual(await bearer(ahead, token), 200)
  })

  it("accept no signature at a gateway whose clock is far from that of Redis", { timeout: 120_000 }, async () => {
    const [true_, ahead] = [at(0), at(OFF_S)]
    await set(ahead, HOUR_S)
    // its nonce would expire an hour before its signature
    const there = apiKeyHeaders(key, "GET", ME, { at_ms: Date.now() + HOUR_S * 1_000 })
    assert.strictEqual(await signed(ahead, there), 503)
    await taken(true_)
    await set(ahead, OFF_S)
    await taken(ahead)
  })

  it("keep nonces invalid when the clock of Redis is set forward", { timeout: 120_000 }, async () => {
    const spent = await taken(at(0))
    // its nonces have expired
    redisClock.set(HOUR_S)
    const fresh = () => signed(at(0), apiKeyHeaders(key, "GET", ME))
    await eventually("nothing is taken", fresh, (status) => status === 503, PATIENCE_MS)
    for (const replica of replicas) assert.notStrictEqual(await signed(replica, spent), 200, `${replica.off_s} s off`)
    // nor when it is set right: the nonces that expired meanwhile are unknown
    redisClock.set(0)
    for (const replica of replicas) assert.notStrictEqual(await signed(replica, spent), 200, `${replica.off_s} s off`)
  })
})
