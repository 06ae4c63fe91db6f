/**
 * A backend that dies, hangs and recovers, as clients of the gateway see it. Source: docs/contract/boundary.md#errors,
 * #lagging, docs/contract/websocket.md#close-codes.
 */
import { Effect, Redacted } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { freePort } from "../../verification/harness/Programs.ts"
import {
  type Answer,
  call,
  cancel,
  create,
  funded,
  listAll,
  type Session
} from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"
import { isUnavailable, UNKNOWN, UNSENT, whatOf } from "./Unavailable.ts"
import { movableClock } from "../../verification/harness/Clocks.ts"
import * as GrpcSequencer from "../../src/layers/grpc/GrpcSequencer.ts"
import { Sequencer } from "../../src/services/Sequencer.ts"
import { type BackendProcess, startBackend } from "../../verification/harness/BackendProcess.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

const SECRET = "between-gateway-and-backend"
/** Deadline of a command's response, plus the delay of a busy machine, in ms. */
const ANSWERED_MS = 20_000

/** The duration of a response, in ms. */
const timed = async (answer: Promise<Answer>): Promise<Answer & { readonly took_ms: number }> => {
  const from = performance.now()
  return { ...(await answer), took_ms: performance.now() - from }
}
const isWell = (exchange: Exchange) =>
  eventually(
    "ready",
    () => call(exchange, "GET", "/ready"),
    ({ status }) => status === 200
  )

describe("a separate backend process", () => {
  const clock = movableClock({ passes: true })
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const backendDir = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  let port: number
  let backend: BackendProcess
  let exchange: Exchange
  let user: Session
  /** The outcome of each requested order, by its order_link_id. */
  const acknowledged = new Map<string, string>()
  const uncertain = new Set<string>()
  const refused = new Set<string>()

  const start = () => startBackend({ dataDir: backendDir, port, env: { BACKEND_SECRET: SECRET } })
  const place = async (link: string): Promise<void> => {
    const answer = await create(exchange, user, link)
    if (answer.status === 200) return void acknowledged.set(link, answer.body.order_id)
    isUnavailable(answer)
    ;(answer.body.details.reason === "DeadlineExceeded" ? uncertain : refused).add(link)
  }
  /** The backend's own list of open orders. */
  const openAtBackend = () =>
    Effect.runPromise(
      Effect.flatMap(Sequencer, (sequencer) => sequencer.openOrders).pipe(
        Effect.provide(
          GrpcSequencer.layer({ address: `127.0.0.1:${port}`, secret: Redacted.make(SECRET), tls: undefined })
        )
      )
    )
  /** Every acknowledged order is in the history once, no refused one is, and the backend agrees. */
  const nothingLost = async (): Promise<void> => {
    const { orders } = await openAtBackend()
    const atBackend = new Map(orders.map(({ order }) => [order.order_link_id, order]))
    const path = `/api/v1/order/history?sub_account_address=${user.vault}`
    const history = await eventually(
      "all orders of the backend in the history",
      () => listAll(exchange, path, user.token),
      (list) =>
        list.length >= acknowledged.size && orders.every(({ order }) => list.some((o) => o.order_id === order.order_id))
    )
    const links = history.map((order) => order.order_link_id)
    assert.strictEqual(new Set(links).size, links.length, "an order is there twice")
    const idOf = new Map(history.map((order: Frame) => [order.order_link_id, order.order_id]))
    for (const [link, order_id] of acknowledged) assert.strictEqual(idOf.get(link), order_id, link)
    for (const link of refused) assert.isFalse(idOf.has(link), `${link} was refused`)
    for (const link of links) assert.isTrue(acknowledged.has(link) || uncertain.has(link), link)
    const open = await listAll(exchange, "/api/v1/order/realtime", user.token)
    assert.deepStrictEqual(open.map((order) => order.order_id).sort(), orders.map(({ order }) => order.order_id).sort())
    for (const order of open) {
      const { leaves_qty, order_status, version } = atBackend.get(order.order_link_id)!
      assert.deepStrictEqual(
        [order.leaves_qty, order.order_status, order.version],
        [leaves_qty, order_status, version],
        order.order_link_id
      )
    }
  }
  const bookIsTheBackends = async (book: Frame): Promise<void> => {
    const { body } = await call(exchange, "GET", "/api/v1/market/orderbook?symbol=BTC-USDC&depth=50")
    assert.deepStrictEqual([book.b, book.a], [body.b, body.a])
  }
  const privateSocket = async (): Promise<Socket> => {
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer: user.token })
    assert.isTrue((await socket.next("auth", ({ op }) => op === "auth")).success)
    socket.send({ op: "subscribe", args: ["order"] })
    await socket.next("subscribed", ({ op }) => op === "subscribed")
    return socket
  }
  const publicSocket = async (): Promise<Socket> => {
    const socket = await Socket.open(exchange, "/ws/public")
    socket.send({ op: "subscribe", args: ["orderbook.50.BTC-USDC"] })
    await socket.event("orderbook.50.BTC-USDC", (data) => data.type === "snapshot")
    return socket
  }

  beforeAll(async () => {
    port = await freePort()
    exchange = await startExchange({
      awaitReady: false,
      clock: clock.layer,
      dataDir,
      env: {
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${port}`,
        BACKEND_SECRET: SECRET,
        WS_KEEPALIVE_TIMEOUT_MS: "600000"
      }
    })
  })
  afterAll(async () => {
    await exchange?.close()
    await backend?.kill()
    rmSync(dataDir, { recursive: true, force: true })
    rmSync(backendDir, { recursive: true, force: true })
  })

  it("may start after the gateway", async () => {
    const { body, status } = await call(exchange, "GET", "/ready")
    assert.deepStrictEqual([status, body.status, body.sequencer.connected], [503, "not_ready", false])
    assert.strictEqual((await call(exchange, "GET", "/health")).status, 200)
    isUnavailable(await call(exchange, "GET", "/api/v1/market/instruments-info"))
    const socket = await Socket.open(exchange, "/ws/public")
    socket.send({ op: "subscribe", args: ["orderbook.50.BTC-USDC"] })
    assert.strictEqual((await socket.next("error", ({ op }) => op === "error")).code, "SERVICE_UNAVAILABLE")
    socket.close()
    backend = await start()
    await isWell(exchange)
    user = await funded(exchange)
    for (let i = 0; i < 20; i++) await place(`before-${i}`)
    assert.strictEqual(acknowledged.size, 20)
  })

  it("that is killed under load: orders are refused in time, market data continues, everything recovers", async () => {
    const feed = await privateSocket()
    const book = await publicSocket()

    // the kill falls into a stream of orders; each gets its outcome in time
    const load = Array.from({ length: 150 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 2))
      const from = performance.now()
      await place(`during-${i}`)
      assert.isBelow(performance.now() - from, ANSWERED_MS)
    })
    await new Promise((resolve) => setTimeout(resolve, 120))
    await backend.kill()
    await Promise.all(load)
    assert.isAbove(refused.size + uncertain.size, 0, "the kill came too late")

    // orders after the kill are certainly not sequenced
    const order = await timed(create(exchange, user, "down"))
    isUnavailable(order)
    assert.deepStrictEqual(whatOf(order), UNSENT)
    assert.isBelow(order.took_ms, ANSWERED_MS)
    refused.add("down")
    // a cancel is tried until a command's deadline
    const tried = await timed(cancel(exchange, user, "before-0"))
    isUnavailable(tried)
    assert.isBelow(tried.took_ms, ANSWERED_MS)
    for (const path of [
      "/order/realtime",
      "/order/history",
      "/execution/list",
      "/position/list",
      "/account/balances"
    ]) {
      isUnavailable(await call(exchange, "GET", `/api/v1${path}`, { token: user.token }))
    }
    for (const path of ["orderbook?symbol=BTC-USDC", "tickers?symbol=BTC-USDC", "recent-trade?symbol=BTC-USDC"]) {
      const answer = await call(exchange, "GET", `/api/v1/market/${path}`)
      assert.strictEqual(answer.status, 200, path)
      assert.match(answer.headers.get("x-data-age-ms") ?? "", /^[0-9]+$/u, path)
    }
    assert.strictEqual((await call(exchange, "GET", "/ready")).status, 200)

    // after ten seconds the feed is reported as stale
    clock.skip(10_001)
    assert.strictEqual((await feed.closing()).code, 1013)
    const notReady = await call(exchange, "GET", "/ready")
    assert.deepStrictEqual([notReady.status, notReady.body.status], [503, "not_ready"])
    assert.isFalse(notReady.body.sequencer.connected)
    await Socket.open(exchange, "/ws/private").then(
      () => assert.fail("a private socket was let in"),
      (error: Error) => assert.match(error.message, /503/u)
    )
    assert.isUndefined(book.closed, "public sockets stay for a minute")
    book.frames.length = 0

    backend = await start()
    const snapshot = book.event("orderbook.50.BTC-USDC", (data) => data.type === "snapshot", 15_000)
    await isWell(exchange)
    // healthy is later than ready: two seconds below half of each limit
    await eventually(
      "an order",
      () => create(exchange, user, "after-0"),
      ({ status, body }) => {
        if (status === 200) acknowledged.set("after-0", body.order_id)
        return status === 200
      }
    )
    await bookIsTheBackends((await snapshot).data)
    await nothingLost()
    const again = await privateSocket()
    await place("after-1")
    await again.event("order", (data) => data.type === "update" && data.list[0].order_link_id === "after-1")
    assert.strictEqual((await cancel(exchange, user, "before-0")).status, 200)
    again.close()
    book.close()
  })

  it("that hangs: orders are reported as unknown within their deadline", async () => {
    const book = await publicSocket()
    backend.freeze()
    const hung = await timed(create(exchange, user, "hung"))
    isUnavailable(hung)
    assert.deepStrictEqual(whatOf(hung), UNKNOWN)
    assert.isBelow(hung.took_ms, ANSWERED_MS)
    uncertain.add("hung")
    const reading = await timed(call(exchange, "GET", "/api/v1/account/balances", { token: user.token }))
    assert.include([200, 503], reading.status)
    assert.isBelow(reading.took_ms, ANSWERED_MS)

    // silence is unhealthy after five seconds of this process's own time, and a minute later market data is unavailable
    await eventually(
      "the age of market data",
      () => call(exchange, "GET", "/api/v1/market/orderbook?symbol=BTC-USDC"),
      ({ headers }) => headers.has("x-data-age-ms")
    )
    clock.skip(60_001)
    assert.strictEqual((await book.closing()).code, 1013)
    const stale = await call(exchange, "GET", "/api/v1/market/orderbook?symbol=BTC-USDC")
    assert.deepStrictEqual([stale.status, stale.body.code], [503, "SERVICE_UNAVAILABLE"])
    assert.include(["BackendUnavailable", "BackendLagging"], stale.body.details.reason)
    assert.strictEqual((await call(exchange, "GET", "/api/v1/market/time")).status, 200)

    // the operator's remedy
    await backend.kill()
    backend = await start()
    await isWell(exchange)
    await eventually(
      "an order",
      () => create(exchange, user, "woken"),
      ({ status, body }) => {
        if (status === 200) acknowledged.set("woken", body.order_id)
        return status === 200
      }
    )
    await nothingLost()
  })
})
