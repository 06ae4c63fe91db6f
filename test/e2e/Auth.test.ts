/** Every signature of the vectors over sockets, at the time of the vectors. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, keysOfSeed, login } from "../../verification/harness/RestClient.ts"
import { frozenClock } from "../../verification/harness/Clocks.ts"
import { Socket } from "../../verification/harness/Socket.ts"
import { vectors as read } from "../vectors.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- the vectors are JSON of many shapes
const vectors: any = read("auth.json")
const now: number = vectors.server_time_ms

/** Registers the API key of the vectors with the wallet of the vectors. */
const registerKey = async (exchange: Exchange) => {
  const wallet = await login(exchange, keysOfSeed(vectors.keys.wallet.seed, vectors.keys.wallet.public_key.hex_0x), now)
  const { status, body } = await call(exchange, "POST", "/api/v1/user/api-keys", {
    token: wallet.token,
    body: { public_key: vectors.keys.api_key.public_key.hex_0x, scopes: ["read", "trade", "account"] }
  })
  assert.strictEqual(status, 201, JSON.stringify(body))
  return wallet
}

describe("authentication vectors", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ clock: frozenClock(now) })
  })
  afterAll(() => exchange?.close())

  const authorize = (body: unknown) => call(exchange, "POST", "/api/v1/authorize", { body })

  for (const vector of vectors.login) {
    it(`login: ${vector.name}`, async () => {
      const { status, body } = await authorize(vector.body)
      assert.strictEqual(status, 200, JSON.stringify(body))
      assert.strictEqual(body.user_id, vector.expect.user_id)
      if (vector.expect.root_address !== undefined) assert.strictEqual(body.root_address, vector.expect.root_address)
      assert.strictEqual(body.expires_at_ms, Math.floor(now / 1_000) * 1_000 + 7 * 86_400_000)
    })
  }

  for (const vector of vectors.negatives.filter((n: { mechanism: string }) => n.mechanism === "login")) {
    it(`login refused: ${vector.name}`, async () => {
      for (let i = 1; i < (vector.send_times ?? 1); i++) {
        assert.strictEqual((await authorize(vector.body)).status, vector.expect.first_status)
      }
      const { status, body } = await authorize(vector.body)
      assert.strictEqual(status, vector.expect.status, JSON.stringify(body))
      assert.strictEqual(body.code, vector.expect.code)
      assert.isString(body.details.reason)
    })
  }
})

describe("API key vectors", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ clock: frozenClock(now) })
    await registerKey(exchange)
  })
  afterAll(() => exchange?.close())

  interface Signed {
    readonly method: string
    readonly uri: string
    readonly headers: Record<string, string>
    readonly body?: string
  }
  const send = (vector: Signed) =>
    call(exchange, vector.method, vector.uri, {
      headers: { ...vector.headers, ...(vector.method === "POST" ? { "content-type": "application/json" } : {}) },
      ...(vector.body === undefined ? {} : { body: vector.body })
    })

  for (const vector of vectors.api_key) {
    it(`accepted: ${vector.name}`, async () => {
      const { status, body } = await send(vector)
      // authenticated: any other error is not about the credentials
      assert.notInclude([401, 403], status, JSON.stringify(body))
      assert.isBelow(status, 500)
    })
  }

  for (const vector of vectors.negatives.filter((n: { mechanism: string }) => n.mechanism === "api_key")) {
    it(`refused: ${vector.name}`, async () => {
      for (let i = 1; i < (vector.send_times ?? 1); i++) {
        assert.notInclude([401, 403], (await send(vector)).status)
      }
      const { status, body } = await send(vector)
      assert.strictEqual(status, vector.expect.status, JSON.stringify(body))
      assert.strictEqual(body.code, vector.expect.code)
      assert.isString(body.details.reason)
    })
  }

  for (const vector of vectors.ws_auth) {
    it(`socket accepted: ${vector.name}`, async () => {
      const socket = await Socket.open(exchange, "/ws/private")
      socket.send(vector.frame)
      const answer = await socket.next("auth", (frame) => frame.op === "auth")
      assert.isTrue(answer.success, JSON.stringify(answer))
      assert.strictEqual(answer.user_id, vectors.derivation.address_rail[0].user_id)
      assert.strictEqual(answer.req_id, vector.frame.req_id)
      socket.close()
    })
  }

  for (const vector of vectors.negatives.filter((n: { mechanism: string }) => n.mechanism === "ws_auth")) {
    it(`socket refused: ${vector.name}`, async () => {
      const socket = await Socket.open(exchange, "/ws/private")
      socket.send(vector.frame)
      const answer = await socket.next("auth", (frame) => frame.op === "auth")
      assert.isFalse(answer.success)
      assert.isNull(answer.user_id)
      socket.close()
    })
  }
})
