/** Kills under load: every acknowledged order is present after a restart. `KILLS=20` for more rounds. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type GatewayProcess, startGateway } from "../../verification/harness/GatewayProcess.ts"
import { verifyJournal } from "../../verification/harness/BackendProcess.ts"
import {
  apiKeyHeaders,
  call,
  funded,
  listAll,
  newKeys,
  nonce,
  type Session
} from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"

const KILLS = Number(process.env["KILLS"] ?? 2)
/** Callers that each send one order after the other. */
const CALLERS = 8

describe(`${KILLS} kills under load`, () => {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const keys = newKeys()
  let gateway: GatewayProcess
  let user: Session
  const acknowledged = new Map<string, string>()
  const asked = new Set<string>()
  /** Reasons of refused orders, for the failure message. */
  const refusals: Array<string> = []

  const start = () =>
    startGateway({
      dataDir,
      env: {
        RATE_LIMIT_MODE: "off",
        SIM_MAKER: "off",
        INDEX_SOURCE: "manual",
        LOG_LEVEL: "error",
        FAUCET_DAILY_LIMIT: "1000000"
      }
    })
  const history = async (more: string) => {
    const path = `/api/v1/order/history?sub_account_address=${user.vault}${more}`
    // on a busy machine a restarted gateway may still be catching up
    await eventually(
      "a gateway that keeps up",
      () => call(gateway, "GET", path, { token: user.token }),
      ({ status }) => status === 200
    )
    return listAll(gateway, path, user.token)
  }
  /** Every acknowledged order is present under its id, once, and no other order is. */
  const holds = (orders: ReadonlyArray<Frame>, links: Iterable<string>): void => {
    const idOf = new Map(orders.map((order) => [order.order_link_id, order.order_id]))
    assert.strictEqual(idOf.size, orders.length, "an order is there twice")
    for (const link of links) assert.strictEqual(idOf.get(link), acknowledged.get(link), link)
    for (const link of idOf.keys()) assert.isTrue(asked.has(link), link)
  }
  const post = (path: string, body: object) => call(gateway, "POST", path, { token: user.token, body })

  beforeAll(async () => {
    gateway = await start()
    user = await funded(gateway, "1000000")
    const registered = await post("/api/v1/user/api-keys", { public_key: keys.publicKey, scopes: ["read"] })
    assert.strictEqual(registered.status, 201, JSON.stringify(registered.body))
  })
  afterAll(async () => {
    await gateway?.kill()
    rmSync(dataDir, { recursive: true, force: true })
  })

  /** Creates, amends and cancels orders until the gateway is gone. */
  const trade = async (caller: string): Promise<void> => {
    const name = { sub_account_address: user.vault, symbol: "BTC-USDC" }
    for (let i = 0; ; i++) {
      const order_link_id = `${caller}-${i}`
      asked.add(order_link_id)
      const side = i % 2 === 0 ? "Buy" : "Sell"
      const price = i % 2 === 0 ? "59000" : "61000"
      try {
        const order = { ...name, order_link_id, side, order_type: "Limit", qty: "0.001", price }
        const { body, status } = await post("/api/v1/order/create", order)
        if (status === 200) acknowledged.set(order_link_id, body.order_id)
        else {
          assert.strictEqual(status, 503, JSON.stringify(body))
          refusals.push(body.details.reason)
        }
        await post("/api/v1/order/cancel", { ...name, order_link_id })
      } catch (error) {
        // the connection was cut: the outcome of the request is unknown
        if (error instanceof TypeError || error instanceof SyntaxError) return
        throw error
      }
    }
  }
  /** Subscribes to the user's orders and returns the position of the stream. */
  const head = async (): Promise<{ readonly stream_id: string; readonly head_seq: number }> => {
    const socket = await Socket.open(gateway, "/ws/private")
    socket.send({ op: "auth", bearer: user.token })
    const auth: Frame = await socket.next("auth", ({ op }) => op === "auth")
    assert.isTrue(auth.success, "the token went with the process")
    socket.close()
    return auth
  }

  for (let round = 0; round < KILLS; round++) {
    it(`round ${round}: loses and repeats nothing`, async () => {
      const uri = "/api/v1/user/me"
      const spent = apiKeyHeaders(keys, "GET", uri, { nonce: nonce() })
      assert.strictEqual((await call(gateway, "GET", uri, { headers: spent })).status, 200)
      const login = await loginOnce(gateway)
      const socket = await Socket.open(gateway, "/ws/private")
      socket.send({ op: "auth", bearer: user.token })
      const auth = await socket.next("auth", ({ op }) => op === "auth")
      socket.send({ op: "subscribe", args: ["order"] })
      await socket.next("subscribed", ({ op }) => op === "subscribed")

      const already = acknowledged.size
      const since = Date.now()
      const load = Array.from({ length: CALLERS }, (_, i) => trade(`r${round}-${i}`))
      await eventually(
        "an order under load",
        async () => ({ acknowledged: acknowledged.size - already, refusals }),
        (so) => so.acknowledged > 0
      )
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 700))
      await gateway.kill()
      await Promise.all(load)
      assert.isAbove(acknowledged.size, already, "nothing was acknowledged before the kill")
      const seen = socket.frames.filter(({ op }) => op === "event").at(-1)

      gateway = await start()
      // earlier streams resume
      const { head_seq, stream_id } = await head()
      assert.strictEqual(stream_id, auth.stream_id)
      assert.isAtLeast(head_seq, seen?.data.seq ?? auth.head_seq)
      const replayed = await call(gateway, "GET", uri, { headers: spent })
      assert.deepStrictEqual([replayed.status, replayed.body.details.reason], [401, "NonceReused"])
      const relogged = await call(gateway, "POST", "/api/v1/authorize", { body: login })
      assert.deepStrictEqual([relogged.status, relogged.body.details.reason], [400, "NonceReused"])

      // the orders of this round; all others are checked again at the end
      holds(await history(`&start_time=${since}`), [...acknowledged.keys()].slice(already))
    })
  }

  it("has every order of every round once", { timeout: 120_000 }, async () => {
    holds(await history(""), acknowledged.keys())
  })

  it("leaves a journal that replays to the same state", async () => {
    await gateway.kill()
    assert.match(verifyJournal(dataDir).state_hash, /^[0-9a-f]{64}$/u)
  })
})

/** A login request that was accepted, to be replayed. */
const loginOnce = async (gateway: GatewayProcess): Promise<object> => {
  const keys = newKeys()
  const at_ms = Date.now()
  const fresh = nonce()
  const body = {
    public_key: keys.publicKey,
    signature: keys.sign(`SERVICE_AUTH|LOGIN|${keys.publicKey}|${at_ms}|${fresh}`),
    timestamp_ms: at_ms,
    nonce: fresh
  }
  assert.strictEqual((await call(gateway, "POST", "/api/v1/authorize", { body })).status, 200)
  return body
}
