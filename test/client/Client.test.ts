import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { FetchHttpClient } from "effect/http"
import { WebSocketConstructor } from "effect/socket/Socket"
import { Client, Wallet } from "../../src/client/index.ts"
import { authMessage } from "../../src/domain/SigningMessages.ts"
import { until, WAIT_MS } from "../../verification/harness/Wait.ts"
import { FakeSocket, polite } from "./FakeSockets.ts"

interface Asked {
  readonly method: string
  readonly uri: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

/** A server that records requests and responds from a table of paths. */
const serve = (
  answers: Record<
    string,
    (asked: Asked) => readonly [status: number, body: object, headers?: Readonly<Record<string, string>>]
  >
) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly asked: Array<Asked>; readonly server: Http.Server }>((resume) => {
      const asked: Array<Asked> = []
      const server = Http.createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => (body += chunk))
        request.on("end", () => {
          const one = { method: request.method!, uri: request.url!, headers: request.headers, body }
          asked.push(one)
          const [status, answer, headers] = answers[request.url!.split("?")[0]!]?.(one) ?? [
            404,
            { code: "NOT_FOUND", message: "no such route" }
          ]
          response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(answer))
        })
      })
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server }))
      )
    }),
    ({ server }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const verifies = (public_key: string, message: string, signature: string): boolean =>
  verify(
    null,
    Buffer.from(message),
    createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(public_key.slice(2), "hex").toString("base64url") },
      format: "jwk"
    }),
    Buffer.from(signature.slice(2), "hex")
  )

const wallet = Wallet.fromSeed("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
const vault = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
const loggedIn = {
  token: "TK",
  user_id: wallet.user_id,
  expires_at_ms: 1767830400000,
  root_address: wallet.root_address
}
const order = {
  sub_account_address: vault,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000",
  order_link_id: "a-1"
} as const
const ref = { order_id: "018f3f1e-5d5b-7a00-8000-000000000001", order_link_id: "a-1" }
const noOrders = { list: [], next_page_cursor: "" }

describe("Client", () => {
  it.live("logs a wallet in, then sends its token", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({
        "/api/v1/authorize": () => [200, loggedIn],
        "/api/v1/order/create": () => [200, ref]
      })
      const client = yield* Client.make({ baseUrl: `${url}/` })
      const answer = yield* client.login(wallet)
      assert.strictEqual(answer.user_id, wallet.user_id)
      const body = JSON.parse(asked[0]!.body)
      assert.strictEqual(asked[0]!.headers.authorization, undefined)
      assert.isTrue(Math.abs(Date.now() - body.timestamp_ms) < 5_000)
      const message = `SERVICE_AUTH|LOGIN|${body.public_key}|${body.timestamp_ms}|${body.nonce}`
      assert.isTrue(verifies(wallet.public_key, message, body.signature))

      assert.deepStrictEqual(yield* client.order.create({ payload: order }), ref)
      assert.deepStrictEqual([asked[1]!.method, asked[1]!.uri], ["POST", "/api/v1/order/create"])
      assert.strictEqual(asked[1]!.headers.authorization, "Bearer TK")
      assert.deepStrictEqual(JSON.parse(asked[1]!.body), order)
    })
  )

  it.live("signs the exact request target, and the body on request", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({
        "/api/v1/order/create": () => [200, ref],
        "/api/v1/order/history": () => [200, noOrders]
      })
      const client = yield* Client.make({ baseUrl: url, credential: { type: "api-key", key: wallet } })
      yield* client.order.history({ query: { symbol: "BTC-USDC", order_status: ["New", "Filled"], limit: 50 } })
      client.use({ type: "api-key", key: wallet, bodyHash: true })
      yield* client.order.create({ payload: order })
      const nonces = new Set<unknown>()
      for (const { body, headers, method, uri } of asked) {
        const hash = method === "POST" ? `|${createHash("sha256").update(body).digest("hex")}` : ""
        const message = `SERVICE_API|${method}|${uri}|${headers["x-timestamp-ms"]}|${headers["x-nonce"]}${hash}`
        assert.isTrue(verifies(wallet.public_key, message, String(headers["x-signature"])), message)
        assert.strictEqual(headers["x-api-key"], wallet.public_key)
        nonces.add(headers["x-nonce"])
      }
      assert.strictEqual(nonces.size, 2)
      assert.include(asked[0]!.uri, "symbol=BTC-USDC")
      assert.strictEqual(asked[1]!.headers["x-body-sha256"], createHash("sha256").update(asked[1]!.body).digest("hex"))
    })
  )

  it.live("sends the credentials of an administrator with administrator endpoints, if it has them", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({ "/api/v1/admin/access-codes": () => [200, noOrders] })
      const admin = { username: "admin", password: "a secret" }
      for (const options of [{ admin }, {}]) {
        const client = yield* Client.make({ baseUrl: url, ...options })
        yield* client.accessCodes.list({ query: {} })
      }
      const basic = `Basic ${Buffer.from("admin:a secret").toString("base64")}`
      assert.deepStrictEqual(
        asked.map(({ headers }) => headers.authorization),
        [basic, undefined]
      )
    })
  )

  it.live("sends no request with a field that the endpoint does not take", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({ "/api/v1/order/create": () => [200, ref] })
      const client = yield* Client.make({ baseUrl: url, credential: { type: "token", token: "TK" } })
      // the compiler finds it in a literal alone
      const payload = { ...order, reduceOnly: true }
      const query = { symbol: "BTC-USDC", orderStatus: "New" }
      const calls: ReadonlyArray<readonly [Effect.Effect<unknown, unknown>, string]> = [
        [client.order.create({ payload }), "reduceOnly"],
        [client.order.createBatch({ payload: { orders: [payload] } }), "reduceOnly"],
        [client.order.history({ query }), "orderStatus"]
      ]
      for (const [call, name] of calls) {
        const error = yield* Effect.flip(call)
        assert.isTrue(Schema.isSchemaError(error))
        assert.include(String(error), name)
      }
      assert.deepStrictEqual(asked, [])
    })
  )

  it.live("fails with the error in the response body", () =>
    Effect.gen(function* () {
      const conflict = { code: "CONFLICT", message: "used", details: { reason: "DuplicateOrderLinkId", order_id: "x" } }
      const { url } = yield* serve({ "/api/v1/order/create": () => [409, conflict] })
      const client = yield* Client.make({ baseUrl: url, credential: { type: "token", token: "TK" } })
      const error = yield* Effect.flip(client.order.create({ payload: order }))
      assert.strictEqual("code" in error && error.code, "CONFLICT")
      assert.deepStrictEqual<unknown>("details" in error && error.details, conflict.details)
    })
  )

  it.live("repeats a call with a new signature while the gateway is overloaded", () =>
    Effect.gen(function* () {
      const refusal = (reason: string) => ({ code: "SERVICE_UNAVAILABLE", message: "busy", details: { reason } })
      const busy = [503, refusal("Overloaded"), { "retry-after": "0" }] as const
      let tries = 0
      const { asked, url } = yield* serve({
        "/api/v1/order/create": () => (++tries < 3 ? busy : [200, ref]),
        "/api/v1/order/cancel": () => [503, refusal("BackendLagging"), { "retry-after": "0" }]
      })
      const client = yield* Client.make({ baseUrl: url, credential: { type: "api-key", key: wallet } })
      assert.deepStrictEqual(yield* client.order.create({ payload: order }), ref)
      assert.strictEqual(new Set(asked.map(({ headers }) => headers["x-nonce"])).size, 3)
      // other refusals are not retried
      const { sub_account_address, symbol } = order
      const cancel = { sub_account_address, symbol, order_link_id: "a-1" }
      const error = yield* Effect.flip(client.order.cancel({ payload: cancel }))
      assert.strictEqual("code" in error && error.code, "SERVICE_UNAVAILABLE")
      assert.lengthOf(asked, 4)
    })
  )

  it.live("uses the server's clock for signatures", () =>
    Effect.gen(function* () {
      const ahead = 3_600_000
      const { asked, url } = yield* serve({
        "/api/v1/market/time": () => {
          const server_ts_ms = Date.now() + ahead
          return [
            200,
            { server_ts_ms, time_second: Math.floor(server_ts_ms / 1000), time_nano: `${server_ts_ms}000000` }
          ]
        },
        "/api/v1/authorize": () => [200, loggedIn]
      })
      const client = yield* Client.make({ baseUrl: url })
      assert.closeTo(yield* client.syncTime, ahead, 1_000)
      yield* client.login(wallet)
      assert.closeTo(JSON.parse(asked[1]!.body).timestamp_ms, Date.now() + ahead, 2_000)
    })
  )

  it.live("takes half of the round trip for the way of the server's clock", () =>
    Effect.gen(function* () {
      // the request and its answer take 4 s together, by a clock that only they move
      let now = 1_767_225_600_000
      const clock: Clock.Clock = Object.assign(Object.create(Clock.Clock.defaultValue()), {
        currentTimeMillisUnsafe: () => now,
        currentTimeMillis: Effect.sync(() => now)
      })
      const { url } = yield* serve({
        "/api/v1/market/time": () => {
          const server_ts_ms = now + 2_000 + 60_000
          now += 4_000
          return [
            200,
            { server_ts_ms, time_second: Math.floor(server_ts_ms / 1000), time_nano: `${server_ts_ms}000000` }
          ]
        }
      })
      const ahead = yield* Effect.gen(function* () {
        const client = yield* Client.make({ baseUrl: url })
        return yield* client.syncTime
      }).pipe(Effect.provideService(Clock.Clock, clock))
      assert.strictEqual(ahead, 60_000)
    })
  )
})

describe("a feed of a client whose credential has ended", () => {
  /** A client over the server, with a private feed over scripted sockets. */
  const followed = Effect.fnUntraced(function* (
    url: string,
    options: Partial<Client.Options>,
    begin: (client: Client.Client) => Effect.Effect<unknown, unknown> = () => Effect.void
  ) {
    const sockets: Array<FakeSocket> = []
    const client = yield* Client.makeWith({ baseUrl: url, ...options }).pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.provideService(WebSocketConstructor, () => {
        const socket = new FakeSocket(polite)
        sockets.push(socket)
        queueMicrotask(() => socket.open())
        return socket
      })
    )
    yield* Effect.orDie(begin(client))
    const feed = yield* client.feed({ topics: ["order"] })
    const reached = (state: string, look: () => boolean) => Effect.promise(() => until(state, look, WAIT_MS))
    return {
      client,
      feed,
      /** The authentication of the connection with this number. */
      auth: (connection: number) => sockets[connection - 1]!.sent[0],
      end: Effect.sync(() => sockets.at(-1)!.drop(4010)),
      ended: reached("an end", () => feed.state.get().type === "ended"),
      live: (connections: number) =>
        reached("a live feed", () => sockets.length === connections && feed.state.get().type === "live")
    }
  })
  /** Each login has another token. */
  const logins = (statuses: ReadonlyArray<number> = []) => {
    let count = 0
    return () => {
      const status = statuses[count++] ?? 200
      return status === 200
        ? ([200, { ...loggedIn, token: `TK${count}` }] as const)
        : ([status, { code: "BAD_REQUEST", message: "no", details: { reason: "InvalidSignature" } }] as const)
    }
  }

  it.live("logs its wallet in again, also after a refusal for the moment", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({ "/api/v1/authorize": logins([200, 503]) })
      const { auth, end, live } = yield* followed(url, {}, (client) => client.login(wallet))
      assert.strictEqual(auth(1).bearer, "TK1")
      yield* end
      yield* live(2)
      // the second login found the gateway unavailable, so the connection is tried with what there is
      assert.strictEqual(auth(2).bearer, "TK1")
      yield* end
      yield* live(3)
      assert.strictEqual(auth(3).bearer, "TK3")
      assert.lengthOf(asked, 3)
    })
  )

  it.live("ends where the login is refused for good", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ "/api/v1/authorize": logins([200, 400]) })
      const { end, ended, feed } = yield* followed(url, {}, (client) => client.login(wallet))
      yield* end
      yield* ended
      assert.include(feed.state.get(), { type: "ended", code: 4010 })
    })
  )

  it.live("does not log in with a wallet whose token was replaced", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serve({ "/api/v1/authorize": logins() })
      const { auth, end, ended } = yield* followed(url, {}, (client) =>
        Effect.tap(client.login(wallet), () => Effect.sync(() => client.use({ type: "token", token: "OTHER" })))
      )
      assert.strictEqual(auth(1).bearer, "OTHER")
      yield* end
      yield* ended
      assert.lengthOf(asked, 1)
    })
  )

  it.live("of an API key signs again with the server's time", () =>
    Effect.gen(function* () {
      const ahead_ms = 3_600_000
      const { asked, url } = yield* serve({
        "/api/v1/market/time": () => {
          const server_ts_ms = Date.now() + ahead_ms
          return [
            200,
            { server_ts_ms, time_second: Math.floor(server_ts_ms / 1000), time_nano: `${server_ts_ms}000000` }
          ]
        }
      })
      const { auth, end, live } = yield* followed(url, { credential: { type: "api-key", key: wallet } })
      yield* end
      yield* live(2)
      assert.lengthOf(asked, 1)
      const [first, second] = [auth(1), auth(2)]
      assert.isAbove(second.timestamp_ms - first.timestamp_ms, ahead_ms - 10_000)
      assert.notStrictEqual(second.nonce, first.nonce)
      for (const { api_key, nonce, signature, timestamp_ms } of [first, second]) {
        assert.strictEqual(api_key, wallet.public_key)
        assert.isTrue(verifies(wallet.public_key, authMessage(timestamp_ms, nonce), signature))
      }
    })
  )
})
