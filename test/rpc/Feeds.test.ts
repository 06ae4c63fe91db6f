/** The feeds as RPC streams of a complete exchange: snapshots, updates, disconnects and refusals. */
import { Effect, Fiber, Queue, Stream } from "effect"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { WebSocket } from "ws"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { AccountMessage } from "../../src/rpc/api/Feeds.ts"
import { FaultProxy } from "../../verification/harness/FaultProxy.ts"
import { apiKeyHeaders, call, create, funded, newKeys, nonce } from "../../verification/harness/RestClient.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { exchangeBytes } from "../e2e/RawHttp.ts"
import { as, type Caller, callers, overHttp, overWebSocket } from "./Callers.ts"
import { callOf } from "./RawCalls.ts"

const TIMEOUT = 30_000
type OrderMessage = Extract<AccountMessage, { readonly kind: "order" }>
const isOrder = (message: AccountMessage): message is OrderMessage => message.kind === "order"
const linksOf = ({ data }: OrderMessage) => data.list.map(({ order_link_id }) => order_link_id)
const placed = (exchange: Exchange, session: Parameters<typeof create>[1], link: string) =>
  Effect.promise(async () => assert.strictEqual((await create(exchange, session, link)).status, 200))

/** The error of a program. */
const refusalOf = (caller: Caller, exchange: Exchange, program: Parameters<Caller>[1]) =>
  caller(exchange, (client) => Effect.flip(program(client))) as Promise<{
    readonly code: string
    readonly details: Record<string, unknown>
  }>

describe("the feeds", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange()
  }, TIMEOUT)
  afterAll(() => exchange?.close())

  for (const [way, caller] of Object.entries(callers)) {
    it(
      `send an account's state over ${way}, and then its events`,
      async () => {
        const alice = await funded(exchange)
        const heard = await caller(exchange, (client) =>
          client["feed.account"]({ topics: ["order"] }, as(alice)).pipe(
            Stream.tap((message) =>
              isOrder(message) && message.data.type === "snapshot" ? placed(exchange, alice, "one") : Effect.void
            ),
            Stream.take(3),
            Stream.runCollect
          )
        )
        const [first, snapshot, update] = heard
        assert.deepStrictEqual(first, { kind: "subscribed", topics: ["order"] })
        assert(snapshot?.kind === "order" && update?.kind === "order")
        assert.deepStrictEqual(linksOf(snapshot), [])
        assert.deepStrictEqual(linksOf(update), ["one"])
      },
      TIMEOUT
    )

    it(
      `send a market's state over ${way}, and then its events`,
      async () => {
        const heard = await caller(exchange, (client) =>
          client["feed.market"]({ topics: ["orderbook.50.BTC-USDC", "ticker.BTC-USDC"] }).pipe(
            Stream.take(3),
            Stream.runCollect
          )
        )
        assert.deepStrictEqual(
          heard.map(({ kind }) => kind),
          ["subscribed", "orderbook", "ticker"]
        )
      },
      TIMEOUT
    )

    it(
      `refuse an unauthenticated caller and an unknown topic over ${way}`,
      async () => {
        const nobody = await refusalOf(caller, exchange, (client) =>
          Stream.runDrain(client["feed.account"]({ topics: ["order"] }))
        )
        assert.strictEqual(nobody.code, "UNAUTHORIZED")
        const nothing = await refusalOf(caller, exchange, (client) =>
          Stream.runDrain(client["feed.market"]({ topics: ["orderbook.50.NO-SUCH"] }))
        )
        assert.strictEqual(nothing.code, "NOT_FOUND")
        assert.strictEqual(nothing.details["reason"], "SymbolNotFound")
      },
      TIMEOUT
    )
  }

  it(
    "resume after a disconnect, without a gap",
    async () => {
      const alice = await funded(exchange)
      const proxy = await FaultProxy.start(Number(new URL(exchange.url).port))
      const cut = { ...exchange, url: `http://127.0.0.1:${proxy.port}` }
      try {
        const before = await overWebSocket(cut, (client) =>
          Effect.gen(function* () {
            const heard = yield* Queue.unbounded<AccountMessage>()
            const follower = yield* client["feed.account"]({ topics: ["order"] }, as(alice)).pipe(
              Stream.runForEach((message) => Queue.offer(heard, message)),
              Effect.forkChild
            )
            const orders = Stream.filter(Stream.fromQueue(heard), isOrder)
            // the snapshot first: its position is that of the stream of all topics, not of its own event
            yield* Stream.runHead(orders)
            yield* placed(exchange, alice, "before")
            const last = yield* Stream.runHead(Stream.filter(orders, (message) => linksOf(message).includes("before")))
            proxy.refuse()
            assert.strictEqual((yield* Fiber.await(follower))._tag, "Failure")
            return last
          })
        )
        assert(before._tag === "Some")
        const { seq, stream_id } = before.value.data
        await create(exchange, alice, "meanwhile-1")
        await create(exchange, alice, "meanwhile-2")
        proxy.open()
        const after = await overWebSocket(cut, (client) =>
          client["feed.account"]({ topics: ["order"], since: { stream_id, seq } }, as(alice)).pipe(
            Stream.takeUntil((message) => isOrder(message) && linksOf(message).includes("meanwhile-2")),
            Stream.runCollect
          )
        )
        const [first, ...rest] = after
        assert(first?.kind === "subscribed")
        assert.isTrue(first.resume?.recovered)
        let at = seq
        for (const message of rest) {
          assert(isOrder(message) && message.data.type === "update")
          assert.strictEqual(message.data.prev_seq, at)
          at = message.data.seq
        }
        assert.deepStrictEqual(rest.filter(isOrder).flatMap(linksOf), ["meanwhile-1", "meanwhile-2"])
      } finally {
        await proxy.close()
      }
    },
    TIMEOUT
  )

  it(
    "report that they could not resume, and start again",
    async () => {
      const alice = await funded(exchange)
      const [first, second] = await overHttp()(exchange, (client) =>
        client["feed.account"]({ topics: ["order"], since: { stream_id: "another", seq: 1 } }, as(alice)).pipe(
          Stream.take(2),
          Stream.runCollect
        )
      )
      assert(first?.kind === "subscribed" && second?.kind === "order")
      assert.isFalse(first.resume?.recovered)
      assert.strictEqual(second.data.type, "snapshot")
    },
    TIMEOUT
  )

  it(
    "end with the credential",
    async () => {
      const alice = await funded(exchange)
      const { code, details } = await refusalOf(overWebSocket, exchange, (client) =>
        client["feed.account"]({ topics: ["order"] }, as(alice)).pipe(
          Stream.tap((message) => (isOrder(message) ? client["authorize.logout"](undefined, as(alice)) : Effect.void)),
          Stream.runDrain
        )
      )
      assert.strictEqual(code, "UNAUTHORIZED")
      assert.strictEqual(details["close_code"], 4010)
    },
    TIMEOUT
  )

  it(
    "accept the scheme of a token in lower case, as the procedures do",
    async () => {
      const alice = await funded(exchange)
      const headers = { authorization: `bearer ${alice.token}` }
      const [me, first] = await overHttp()(exchange, (client) =>
        Effect.all([
          client["user.me"](undefined, { headers }),
          Stream.runHead(client["feed.account"]({ topics: ["order"] }, { headers }))
        ])
      )
      assert.strictEqual(me.user_id, alice.user_id)
      assert.strictEqual(first._tag, "Some")
    },
    TIMEOUT
  )

  it(
    "accept API keys by their signatures, as the procedures do",
    async () => {
      const alice = await funded(exchange)
      const keys = newKeys()
      const body = { public_key: keys.publicKey, scopes: ["read", "trade"], require_body_hash: true }
      const { status } = await call(exchange, "POST", "/api/v1/user/api-keys", { token: alice.token, body })
      assert.strictEqual(status, 201)
      const [me, first] = await overWebSocket(exchange, (client) =>
        Effect.gen(function* () {
          const me = yield* client["user.me"](undefined, {
            headers: apiKeyHeaders(keys, "GET", "/api/v1/user/me")
          })
          const stamp = { "x-timestamp-ms": String(Date.now()), "x-nonce": nonce() }
          const signature = keys.sign(`SERVICE_WS|AUTH|${stamp["x-timestamp-ms"]}|${stamp["x-nonce"]}`)
          const headers = { "x-api-key": keys.publicKey, "x-signature": signature, ...stamp }
          const first = yield* Stream.runHead(client["feed.account"]({ topics: ["order"] }, { headers }))
          return [me, first] as const
        })
      )
      assert.strictEqual(me.user_id, alice.user_id)
      assert.strictEqual(first._tag, "Some")
      const all = { sub_account_address: alice.vault }
      const signed = apiKeyHeaders(keys, "POST", "/api/v1/order/cancel-all", { body: JSON.stringify(all) })
      await overHttp()(exchange, (client) => client["order.cancelAll"]({ payload: all }, { headers: signed }))
      const refused = await refusalOf(overHttp(), exchange, (client) =>
        client["authorize.logout"](undefined, { headers: apiKeyHeaders(keys, "POST", "/api/v1/authorize/logout") })
      )
      assert.strictEqual(refused.details["reason"], "BearerOnly")
    },
    TIMEOUT
  )
})

describe("the shutdown of the gateway", () => {
  it(
    "ends the streams with an error, and closes an idle socket without delay",
    async () => {
      const exchange = await startExchange()
      const idle = new WebSocket(`${exchange.wsUrl}/rpc`)
      await once(idle, "open")
      const closed = once(idle, "close")
      const { code } = await refusalOf(overWebSocket, exchange, (client) =>
        client["feed.market"]({ topics: ["trade.BTC-USDC"] }).pipe(
          Stream.tap(() => Effect.sync(() => void exchange.close())),
          Stream.runDrain
        )
      )
      assert.strictEqual(code, "SERVICE_UNAVAILABLE")
      assert.strictEqual((await closed)[0], 1001)
      await exchange.close()
    },
    TIMEOUT
  )
})

describe("the limits", () => {
  it(
    "apply to the address of the connection where no proxy is trusted",
    async () => {
      const exchange = await startExchange({ env: { RATE_LIMIT_MODE: "enforce", RATE_PUBLIC: "3" } })
      const { port } = exchange.server.address() as AddressInfo
      const body = callOf(1, "market.time")
      const bytes = `POST /rpc HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      const isRefused = async (from: string) =>
        (await exchangeBytes(port, [bytes], { from }))[0]!.includes('"RateLimitExceeded"')
      const refused: Array<boolean> = []
      for (let i = 0; i < 4; i++) refused.push(await isRefused("127.0.0.1"))
      assert.deepStrictEqual(refused, [false, false, false, true])
      assert.isFalse(await isRefused("127.0.0.2"))
      await exchange.close()
    },
    TIMEOUT
  )

  it(
    "apply to the calling address, whatever headers the call carries",
    async () => {
      const exchange = await startExchange({
        env: { RATE_LIMIT_MODE: "enforce", RATE_PUBLIC: "3", TRUSTED_PROXIES: "1", WS_CONNECTIONS_PER_IP: "1" }
      })
      try {
        const from = (ip: string) => overHttp({ "x-forwarded-for": ip })
        const time = (ip: string, said: string) =>
          from(ip)(exchange, (client) =>
            Effect.result(client["market.time"](undefined, { headers: { "x-forwarded-for": said } }))
          )
        for (let i = 0; i < 3; i++) assert.strictEqual((await time("203.0.113.1", `198.51.100.${i}`))._tag, "Success")
        const fourth = await time("203.0.113.1", "198.51.100.9")
        assert(fourth._tag === "Failure" && "code" in fourth.failure)
        assert.strictEqual(fourth.failure.code, "RateLimitExceeded")
        assert.strictEqual((await time("203.0.113.2", "203.0.113.1"))._tag, "Success")
        const second = await refusalOf(from("203.0.113.3"), exchange, (client) =>
          client["feed.market"]({ topics: ["trade.BTC-USDC"] }).pipe(
            Stream.tap(() => Stream.runDrain(client["feed.market"]({ topics: ["trade.BTC-USDC"] }))),
            Stream.runDrain
          )
        )
        assert.strictEqual(second.code, "RateLimitExceeded")
        // a stream whose client leaves gives its place back
        const read = () =>
          from("203.0.113.4")(exchange, (client) =>
            Effect.exit(Stream.runHead(client["feed.market"]({ topics: ["trade.BTC-USDC"] })))
          )
        assert.strictEqual((await read())._tag, "Success")
        await eventually("the place is free", read, ({ _tag }) => _tag === "Success")
      } finally {
        await exchange.close()
      }
    },
    TIMEOUT
  )
})
