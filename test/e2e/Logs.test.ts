/**
 * Log output while valid and invalid secrets arrive over every endpoint, with healthy and with broken databases: complete
 * lines of JSON without any secret, in the log and at the collector. Level trace prints what every other level prints.
 */
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Collector } from "../doubles/Collector.ts"
import { type GatewayProcess, startGateway } from "../../verification/harness/GatewayProcess.ts"
import { rootOfKey } from "../../src/domain/Address.ts"
import { apiKeyHeaders, call, type Keys, newKeys, nonce } from "../../verification/harness/RestClient.ts"
import { Socket } from "../../verification/harness/Socket.ts"

/** Text that breaks a line and looks like another entry. */
const BREAK = '\n{"level":"INFO","message":"forged"}\r\n\u2028'
const canary = (name: string) => `${name}-${randomBytes(12).toString("hex")}`

const secrets = new Map<string, string>()
/** Records a secret with its kind. */
const keep = (what: string, secret: string): string => {
  secrets.set(secret, what)
  return secret
}

const dataDir = mkdtempSync(join(tmpdir(), "gateway-logs-"))
const lines: Array<string> = []
const password = keep("the password", canary("admin-password"))
const seed = keep("the signing key", randomBytes(32).toString("hex"))
let collector: Collector
let gateway: GatewayProcess
let doors: { readonly url: string; readonly wsUrl: string }
let keys: Keys
let bot: Keys
let token = ""

const basicOf = (word: string) => ({
  authorization: keep("basic credentials", `Basic ${Buffer.from(`admin:${word}`).toString("base64")}`)
})
const signedBy = (wallet: Keys, what: string, message: string) => keep(`the signature of ${what}`, wallet.sign(message))

const login = (wallet: Keys, more: object = {}) => {
  const [now, fresh] = [Date.now(), nonce()]
  const signature = signedBy(wallet, "a login", `SERVICE_AUTH|LOGIN|${wallet.publicKey}|${now}|${fresh}`)
  const body = { public_key: wallet.publicKey, signature, timestamp_ms: now, nonce: fresh, ...more }
  return call(doors, "POST", "/api/v1/authorize", { body })
}
const activate = (wallet: Keys, code: string) => {
  const signed_at = Math.floor(Date.now() / 1000)
  const hash = keep("the hash of a code", createHash("sha256").update(code.trim().toUpperCase()).digest("hex"))
  const root = rootOfKey(Buffer.from(wallet.publicKey, "hex"))
  const signature = signedBy(wallet, "an activation", `service-stage1-activate:${hash}:${root}:${signed_at}`)
  const body = { code: keep("a code", code), public_key: wallet.publicKey, signature, signed_at }
  return call(doors, "POST", "/api/v1/access/activate", { body })
}
const signed = (wallet: Keys, method: string, uri: string, body?: string) => {
  const headers = apiKeyHeaders(wallet, method, uri, body === undefined ? {} : { body })
  keep("the signature of a request", headers["x-signature"]!)
  keep("an API key", headers["x-api-key"]!)
  return call(doors, method, uri, { headers, ...(body === undefined ? {} : { body }) })
}

/** Sends every kind of secret, valid and invalid, to every endpoint. */
const knock = async (): Promise<ReadonlyArray<number>> => {
  const badToken = keep("a bad token", `${canary("head")}.${canary("payload")}.${canary("tail")}`)
  const badCode = `BAD-${randomBytes(8).toString("hex").toUpperCase()}`
  const goodCode = `GOOD-${randomBytes(8).toString("hex").toUpperCase()}`
  const order = {
    sub_account_address: "0x1",
    symbol: `X${BREAK}`,
    side: BREAK,
    order_type: "Limit",
    qty: "1",
    price: "1"
  }
  const text = JSON.stringify(order)
  const answers = [
    await login(keys),
    await login(keys, { signature: keep("a bad signature", canary("signature")) }),
    await login(keys, { nonce: BREAK, verifying_key: keep("a verifying key", canary("key")) }),
    await call(doors, "POST", "/api/v1/admin/access-codes", {
      headers: basicOf(password),
      body: { codes: [keep("a code", goodCode)], label: BREAK }
    }),
    await call(doors, "GET", "/api/v1/admin/access-codes", {
      headers: basicOf(keep("a wrong password", canary("wrong")))
    }),
    await call(doors, "PUT", `/api/v1/authorize/whitelist/0x1?password=${password}`, { headers: basicOf(password) }),
    await activate(newKeys(), ` ${goodCode.toLowerCase()} `),
    await activate(newKeys(), badCode),
    await activate(newKeys(), `${badCode}${BREAK}`),
    await call(doors, "POST", "/api/v1/access/activate", { body: `{"code":"${badCode}"` }),
    await call(doors, "GET", "/api/v1/user/me", { token }),
    await call(doors, "GET", "/api/v1/user/me", { token: badToken }),
    await call(doors, "GET", `/api/v1/user/me?token=${token}`, { token: badToken }),
    await call(doors, "GET", `/api/v1/${badToken}`, { headers: { "x-request-id": "a b", "user-agent": badToken } }),
    await call(doors, "POST", "/api/v1/order/create", { token, body: order }),
    await call(doors, "GET", "/api/v1/order/history", { token }),
    await call(doors, "GET", "/api/v1/account/transactions", { token }),
    await call(doors, "POST", "/api/v1/user/api-keys", {
      token,
      body: { public_key: keep("an API key", newKeys().publicKey), label: BREAK, scopes: ["read"] }
    }),
    await signed(bot, "GET", "/api/v1/user/me"),
    await signed(bot, "GET", "/api/v1/order/realtime"),
    await signed(bot, "POST", "/api/v1/order/create", text),
    await signed(newKeys(), "GET", "/api/v1/user/me"),
    await call(doors, "GET", "/api/v1/user/me", {
      headers: {
        ...apiKeyHeaders(bot, "GET", "/api/v1/user/me"),
        "x-signature": keep("a bad signature", "ab".repeat(64))
      }
    })
  ]
  for (const frame of [
    { op: "auth", bearer: token },
    { op: "auth", bearer: badToken },
    { op: "subscribe", args: ["order", badToken, BREAK], req_id: badToken.slice(0, 64) },
    { op: badToken, [badToken]: BREAK }
  ]) {
    await answered(frame)
  }
  const now = Date.now()
  const fresh = nonce()
  const signature = signedBy(bot, "a socket", `SERVICE_WS|AUTH|${now}|${fresh}`)
  await answered({ op: "auth", api_key: bot.publicKey, signature, timestamp_ms: now, nonce: fresh })
  await answered({ op: "auth", api_key: bot.publicKey, signature: badToken, timestamp_ms: now, nonce: fresh })
  await answered(`{"bearer":"${badToken}`)
  return answers.map(({ status }) => status)
}

/** Sends a frame and waits for its response, or the response to a later one. */
const answered = async (frame: unknown) => {
  const socket = await Socket.open(doors as never, "/ws/private")
  if (typeof frame === "string") socket.ws.send(frame)
  else socket.send(frame)
  socket.send({ op: "ping", req_id: "last" })
  await socket.next("an answer", ({ op, req_id }) => op === "pong" && req_id === "last").catch(() => undefined)
  socket.close()
}

/** Drops every table of the stores, as a bad restore might. */
const breakDatabases = () => {
  for (const file of readdirSync(dataDir).filter((name) => name.endsWith(".sqlite"))) {
    const database = new DatabaseSync(join(dataDir, file), { timeout: 5_000 })
    const tables = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all() as Array<{ readonly name: string }>
    for (const { name } of tables) database.exec(`DROP TABLE "${name}"`)
    database.close()
  }
}

beforeAll(async () => {
  collector = await Collector.start()
  gateway = await startGateway({
    dataDir,
    onLine: (line) => lines.push(line),
    env: {
      LOG_LEVEL: "trace",
      RATE_LIMIT_MODE: "report",
      SIM_MAKER: "off",
      INDEX_SOURCE: "manual",
      ADMIN_USERNAME: "admin",
      ADMIN_PASSWORD: password,
      JWT_SIGNING_KEY: seed,
      DATABSE_URL: keep("a misspelt setting", canary("postgres://gateway")),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${keep("what the collector asks", canary("collector"))}`
    }
  })
  doors = { url: gateway.url, wsUrl: gateway.url.replace("http", "ws") }
  keys = newKeys()
  bot = newKeys()
  const entered = await login(keys)
  token = keep("a token", entered.body.token)
  const registered = await call(doors, "POST", "/api/v1/user/api-keys", {
    token,
    body: { public_key: bot.publicKey, scopes: ["read", "trade"] }
  })
  assert.strictEqual(registered.status, 201)
}, 60_000)
afterAll(async () => {
  await gateway?.kill()
  await collector?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

describe("the log", () => {
  it("warns of a variable that is a misspelt setting", () => {
    const warnings = lines.filter((line) => line.includes("DATABSE_URL"))
    assert.lengthOf(warnings, 1)
    assert.include(warnings[0], '"message":"DATABSE_URL is no setting; did you mean DATABASE_URL?","level":"WARN"')
  })

  it("contains no secret and no broken line, for any input and any failure", { timeout: 120_000 }, async () => {
    const well = await knock()
    assert.deepStrictEqual(
      well.filter((status) => status >= 500),
      []
    )
    const before = lines.length
    breakDatabases()
    const broken = await knock()
    assert.isAbove(broken.filter((status) => status >= 500).length, 5, broken.join(" "))
    await gateway.stop()

    // failures are logged, so there are lines to check
    const logged = lines.filter((line) => line.startsWith("{"))
    assert.isAbove(logged.length, 0)
    assert.isAbove(lines.length, before)
    for (const line of logged) {
      const entry = JSON.parse(line) as { readonly message?: unknown; readonly level?: unknown }
      assert.isString(entry.level, line)
      assert.notStrictEqual(entry.message, "forged")
    }
    // the greeting is the only text that is no entry; its last line names the next command
    const greeted = lines.findIndex((line) => /npm run demo|npx trading-gateway/u.test(line))
    assert.isAbove(greeted, 0)
    assert.deepStrictEqual(
      lines.slice(greeted + 1).filter((line) => !line.startsWith("{")),
      []
    )

    // the collector receives exactly the same lines, and a span for each request
    const posts = collector.posts.map(({ text }) => text)
    assert.isAbove(collector.logs.length, 0)
    assert.isAtLeast(collector.spans.filter(({ kind }) => kind === 2).length, well.length + broken.length)
    const all = [...lines, ...posts].join("\n")
    for (const [secret, what] of secrets) {
      for (const form of [secret, secret.trim().toUpperCase(), encodeURIComponent(secret)]) {
        const at = all.indexOf(form)
        assert.strictEqual(at, -1, `${what} is logged: ${all.slice(Math.max(0, at - 300), at + 300)}`)
      }
    }
    assert.isAbove(secrets.size, 50)
  })
})
