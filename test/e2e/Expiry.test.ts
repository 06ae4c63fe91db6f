/**
 * Credentials that expire while their sockets are open. Source: docs/contract/authentication.md#tokens,
 * docs/contract/websocket.md#close-codes.
 */
import { createPrivateKey, sign } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, login, newKeys, type Session } from "../../verification/harness/RestClient.ts"
import { movableClock } from "../../verification/harness/Clocks.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const SEED = "19".repeat(32)
/** Below the ten seconds after which a backend counts as lost: a jump of the clock looks like silence. */
const LIFE_MS = 8_000
const WAIT_MS = 20_000

/** A valid token of the same session with a shorter life. */
const shortened = (token: string, expires_s: number): string => {
  const [header, payload] = token.split(".") as [string, string]
  const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), exp: expires_s }
  const text = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`
  const key = createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(SEED, "hex")]),
    format: "der",
    type: "pkcs8"
  })
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`
}

describe("a socket whose credential expires", () => {
  const clock = movableClock()
  let exchange: Exchange
  let user: Session
  beforeAll(async () => {
    exchange = await startExchange({
      clock: clock.layer,
      env: { JWT_SIGNING_KEY: SEED, WS_KEEPALIVE_TIMEOUT_MS: "600000" }
    })
    user = await login(exchange, newKeys(), clock.now())
  })
  afterAll(() => exchange?.close())

  const open = async (credential: object) => {
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", ...credential })
    const auth = await socket.next("auth", ({ op }) => op === "auth", WAIT_MS)
    assert.isTrue(auth.success, JSON.stringify(auth))
    return { socket, auth }
  }

  it("is closed with 4010, and other sockets of the user stay open", async () => {
    const ends = Math.ceil((clock.now() + LIFE_MS) / 1_000)
    const token = await open({ bearer: shortened(user.token, ends) })
    assert.strictEqual(token.auth.expires_at_ms, ends * 1_000)

    const keys = newKeys()
    const registered = await call(exchange, "POST", "/api/v1/user/api-keys", {
      token: user.token,
      body: { public_key: keys.publicKey, scopes: ["read"], expires_time: ends * 1_000 }
    })
    assert.strictEqual(registered.status, 201, JSON.stringify(registered.body))
    const timestamp_ms = clock.now()
    const nonce = "a-nonce-of-a-short-life"
    const signature = keys.sign(`SERVICE_WS|AUTH|${timestamp_ms}|${nonce}`)
    const key = await open({ api_key: keys.publicKey, signature, timestamp_ms, nonce })
    assert.strictEqual(key.auth.expires_at_ms, ends * 1_000)

    // a socket that authenticates again in time continues with the new credential
    const renewed = await open({ bearer: shortened(user.token, ends) })
    renewed.socket.send({ op: "auth", bearer: user.token })
    const again = await renewed.socket.next("auth", ({ op }) => op === "auth", WAIT_MS)
    assert.isAbove(again.expires_at_ms, ends * 1_000)

    clock.skip(Math.max(0, ends * 1_000 + 1 - clock.now()))
    assert.strictEqual((await token.socket.closing(WAIT_MS)).code, 4010)
    assert.strictEqual((await key.socket.closing(WAIT_MS)).code, 4010)
    renewed.socket.send({ op: "ping" })
    await renewed.socket.next("pong", ({ op }) => op === "pong", WAIT_MS)
    renewed.socket.close()
  })
})
