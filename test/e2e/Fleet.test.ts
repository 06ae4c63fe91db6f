/** Two gateways over one PostgreSQL and one backend: shared state, leader election, and a lost database. */
import { Effect, Exit, Redacted, Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as Backend from "../../src/backend/Backend.ts"
import * as Postgres from "../doubles/Postgres.ts"
import { FaultProxy } from "../../verification/harness/FaultProxy.ts"
import {
  call,
  cancel,
  create,
  funded,
  listAll,
  login,
  newKeys,
  nonce,
  type Session
} from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

/** Longest wait on a busy machine, in ms. */
const PATIENCE_MS = 30_000
const SECRET = "between-gateways-and-backend"
const JWT_SIGNING_KEY = "5a".repeat(32)

const server = Postgres.throwaway()

/** A gateway of the fleet with its own connection to the database. */
interface Member {
  readonly exchange: Exchange
  readonly way: FaultProxy
}

const metric = async ({ exchange }: Member, name: string): Promise<number> => {
  const { body } = await call(exchange, "GET", "/metrics")
  return Number(new RegExp(`^${name} (\\d+)$`, "mu").exec(body)?.[1])
}
const leads = async (member: Member): Promise<boolean> => (await metric(member, "gateway_leads")) === 1
const isReady = ({ exchange }: Member) =>
  eventually(
    "ready",
    () => call(exchange, "GET", "/ready"),
    ({ status }) => status === 200,
    PATIENCE_MS
  )

/** Places an order, with retries until the response states its outcome. */
const place = async ({ exchange }: Member, user: Session, link: string): Promise<void> => {
  await eventually(
    `order ${link}`,
    () => create(exchange, user, link),
    ({ body, status }) => status === 200 || body.details?.reason === "DuplicateOrderLinkId",
    PATIENCE_MS
  )
}
const TOPICS = ["order", "execution", "position", "account_balance"]
const linkOf = ({ data, topic }: Frame): string | undefined =>
  topic === "order" ? data.list[0]?.order_link_id : undefined

/** All private events of a user from now on, from this gateway. */
const follow = async ({ exchange }: Member, { token }: Session) => {
  const socket = await Socket.open(exchange, "/ws/private")
  const seen: Array<Frame> = socket.frames
  const wait = (what: string, is: () => boolean) =>
    eventually(
      what,
      () => Promise.resolve(is()),
      (held) => {
        if (socket.closed !== undefined) throw new Error(`${what}: closed ${socket.closed.code}`)
        return held
      },
      PATIENCE_MS
    )
  socket.send({ op: "auth", bearer: token })
  assert.isTrue((await socket.next("auth", ({ op }) => op === "auth", PATIENCE_MS)).success)
  const snapshots = () => seen.filter(({ op, data }) => op === "event" && data.type === "snapshot")
  const subscribe = () => {
    const begun = new Set(snapshots().map(({ topic }) => topic))
    socket.send({ op: "subscribe", args: TOPICS.filter((topic) => !begun.has(topic)) })
  }
  subscribe()
  await wait("snapshots", () => {
    // a gateway that is not healthy yet says so for each topic
    const errors = seen.filter(({ op }) => op === "error")
    if (errors.length > 0) {
      for (const error of errors) seen.splice(seen.indexOf(error), 1)
      subscribe()
    }
    return snapshots().length === TOPICS.length
  })
  // each topic begins at its own snapshot
  const from = Math.max(...snapshots().map(({ data }) => data.seq))
  const updates = () => seen.filter(({ op, data }) => op === "event" && data.type === "update" && data.seq > from)
  return {
    socket,
    /** Waits for the event of this order, and returns all events up to it: each once, without a gap. */
    upTo: async (link: string): Promise<ReadonlyArray<Frame>> => {
      await wait(`order ${link}`, () => updates().some((frame) => linkOf(frame) === link))
      const received = updates().toSorted((a, b) => a.data.seq - b.data.seq)
      const end = received.findIndex((frame) => linkOf(frame) === link)
      received
        .slice(0, end + 1)
        .forEach(({ data }, i) => assert.strictEqual(data.seq, received[0]!.data.seq + i, "a gap, or an event twice"))
      return received.slice(0, end + 1)
    }
  }
}
/** Asserts that two gateways sent the same events where their streams overlap. */
const same = (a: ReadonlyArray<Frame>, b: ReadonlyArray<Frame>): void => {
  const from = Math.max(a[0]!.data.seq, b[0]!.data.seq)
  const overlap = (frames: ReadonlyArray<Frame>) =>
    frames
      .filter(({ data }) => data.seq >= from)
      .map(({ data, topic }) => ({ topic, seq: data.seq, prev_seq: data.prev_seq, mts: data.mts, list: data.list }))
  assert.isAbove(overlap(a).length, 0)
  assert.deepStrictEqual(overlap(a), overlap(b))
}

describe.skipIf(!Postgres.isThere)("a fleet", { timeout: 4 * PATIENCE_MS }, () => {
  const dataDir = mkdtempSync(join(tmpdir(), "fleet-"))
  const scope = Scope.makeUnsafe()
  let backendPort: number
  let a: Member
  let b: Member
  let user: Session

  const start = async (way: FaultProxy): Promise<Member> => ({
    way,
    exchange: await startExchange({
      awaitReady: false,
      dataDir,
      env: {
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${backendPort}`,
        BACKEND_SECRET: SECRET,
        DATABASE_URL: server.url("public", way.port),
        JWT_SIGNING_KEY
      }
    })
  })
  const leader = async (): Promise<{ readonly first: Member; readonly other: Member }> =>
    eventually(
      "one leads",
      async () => {
        const [first, second] = [await leads(a), await leads(b)]
        return first ? { first: a, other: b, count: second ? 2 : 1 } : { first: b, other: a, count: second ? 1 : 0 }
      },
      ({ count }) => count === 1,
      PATIENCE_MS
    )
  const duplicates = async (): Promise<void> => {
    for (const { exchange } of [a, b]) {
      const list = await listAll(exchange, `/api/v1/order/history?sub_account_address=${user.vault}`, user.token)
      const ids = list.map(({ order_id }) => order_id)
      assert.strictEqual(new Set(ids).size, ids.length, "an order is there twice")
    }
  }

  beforeAll(async () => {
    const { port } = await Effect.runPromise(
      Backend.serve({
        dataDir,
        port: 0,
        host: "127.0.0.1",
        marketsFile: undefined,
        faucetDailyLimit: "100000",
        indexSource: "manual",
        simMaker: false,
        simTakers: false,
        eventsKept: 500_000,
        openOrdersMax: 1_000_000,
        poolBaseEquity: "1000000",
        secret: Redacted.make(SECRET),
        tlsCa: undefined,
        tlsCert: undefined,
        tlsKey: undefined,
        logLevel: "error"
      }).pipe(Scope.provide(scope))
    )
    backendPort = port
    const ways = [await FaultProxy.start(server.port()), await FaultProxy.start(server.port())] as const
    // at once, on an empty database: both bring its tables up to date
    ;[a, b] = await Promise.all([start(ways[0]), start(ways[1])])
    await Promise.all([isReady(a), isReady(b)])
    // a gateway that is behind the stream refuses private reads for a moment
    const found = await eventually(
      "a user",
      () => funded(a.exchange).catch(() => undefined),
      (session) => session !== undefined,
      PATIENCE_MS
    )
    user = found!
  }, 120_000)
  afterAll(async () => {
    await Promise.all([a, b].map((member) => member?.exchange.close()))
    await Promise.all([a, b].map((member) => member?.way.close()))
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(dataDir, { recursive: true, force: true })
  })

  it("shares users, tokens and orders, and sends the same events with the same numbers", async () => {
    const [onA, onB] = [await follow(a, user), await follow(b, user)]
    for (let i = 0; i < 10; i++) await place(i % 2 === 0 ? a : b, user, `shared-${i}`)
    same(await onA.upTo("shared-9"), await onB.upTo("shared-9"))
    const found = await listAll(b.exchange, "/api/v1/order/realtime", user.token)
    assert.strictEqual(found.length, 10)
    // of two concurrent orders with one reference one is accepted
    const both = await Promise.all([create(a.exchange, user, "once"), create(b.exchange, user, "once")])
    assert.deepStrictEqual(both.map(({ status }) => status).toSorted(), [200, 409])
    await duplicates()
    onA.socket.close()
    onB.socket.close()
  })

  it("accepts a login once at any gateway, and its token at both until one of them revokes it", async () => {
    const keys = newKeys()
    const [now, fresh] = [Date.now(), nonce()]
    const body = {
      public_key: keys.publicKey,
      signature: keys.sign(`SERVICE_AUTH|LOGIN|${keys.publicKey}|${now}|${fresh}`),
      timestamp_ms: now,
      nonce: fresh
    }
    const logins = await Promise.all(
      [a, b].map(({ exchange }) => call(exchange, "POST", "/api/v1/authorize", { body }))
    )
    const accepted = logins.find(({ status }) => status === 200)!
    const refused = logins.find(({ status }) => status !== 200)!
    assert.deepStrictEqual([refused.status, refused.body.details.reason], [400, "NonceReused"])
    const { token } = accepted.body
    const ask = ({ exchange }: Member) => call(exchange, "GET", "/api/v1/user/sub-accounts", { token })
    assert.deepStrictEqual([(await ask(a)).status, (await ask(b)).status], [200, 200])
    assert.strictEqual((await call(a.exchange, "POST", "/api/v1/authorize/logout", { token })).status, 200)
    assert.strictEqual((await ask(a)).status, 401)
    const gone = await eventually(
      "revoked",
      () => ask(b),
      ({ status }) => status === 401,
      PATIENCE_MS
    )
    assert.strictEqual(gone.body.details.reason, "RevokedToken")
  })

  it("continues when the leader is suspended, without a gap, and takes it back as a follower", async () => {
    const { first, other } = await leader()
    const [onFirst, onOther] = [await follow(first, user), await follow(other, user)]
    await place(other, user, "before-1")
    same(await onFirst.upTo("before-1"), await onOther.upTo("before-1"))
    first.way.swallow()
    await place(other, user, "without-1")
    await onOther.upTo("without-1")
    await place(other, user, "without-2")
    await onOther.upTo("without-2")
    first.way.open()
    // its connections went silent in the middle of something: what was swallowed is gone
    first.way.cut()
    await isReady(first)
    await place(other, user, "after-1")
    await onOther.upTo("after-1")
    const resumed = await follow(first, user)
    await place(first, user, "after-2")
    same(await resumed.upTo("after-2"), await onOther.upTo("after-2"))
    await leader()
    await duplicates()
    for (const { socket } of [onFirst, onOther, resumed]) socket.close()
  })

  it("responds 503 without its database, authorize 500, reports it at /ready, and recovers with it", async () => {
    for (const { way } of [a, b]) way.refuse()
    const refused = await eventually(
      "the loss",
      () => call(a.exchange, "GET", "/api/v1/order/history", { token: user.token }),
      ({ status }) => status === 503,
      PATIENCE_MS
    )
    assert.strictEqual(refused.body.code, "SERVICE_UNAVAILABLE")
    const ready = await call(a.exchange, "GET", "/ready")
    assert.deepStrictEqual([ready.status, ready.body.database.connected], [503, false])
    const keys = newKeys()
    const failed = await login(a.exchange, keys).then(
      () => "logged in",
      (error: Error) => error.message
    )
    assert.match(failed, /login: 500/u)
    assert.strictEqual((await call(a.exchange, "GET", "/api/v1/market/orderbook?symbol=BTC-USDC")).status, 200)
    for (const { way } of [a, b]) way.open()
    await Promise.all([isReady(a), isReady(b)])
    await place(a, user, "back-1")
    const [onA, onB] = [await follow(a, user), await follow(b, user)]
    await place(b, user, "back-2")
    same(await onA.upTo("back-2"), await onB.upTo("back-2"))
    await duplicates()
    onA.socket.close()
    onB.socket.close()
  })

  it("does not hang on a database that does not answer", async () => {
    for (const { way } of [a, b]) way.swallow()
    const answers = await Promise.all([
      call(a.exchange, "GET", "/api/v1/order/history", { token: user.token }),
      call(b.exchange, "GET", "/api/v1/order/history", { token: user.token }),
      call(a.exchange, "GET", "/ready")
    ])
    assert.deepStrictEqual(
      answers.map(({ status }) => status),
      [503, 503, 503]
    )
    for (const { way } of [a, b]) {
      way.open()
      way.cut()
    }
    await Promise.all([isReady(a), isReady(b)])
    await place(a, user, "thawed-1")
  })

  it("Amendment 18: accepts no order at a gateway that cannot read revocations; cancels work", async () => {
    const other = await funded(a.exchange)
    for (const session of [user, other]) await place(b, session, "known-1")
    const { body: resting } = await create(a.exchange, user, "resting-1", { time_in_force: "GTC", price: "50000" })
    assert.isString(resting.order_id)
    b.way.swallow()
    const logout = await call(a.exchange, "POST", "/api/v1/authorize/logout", { token: other.token })
    assert.strictEqual(logout.status, 200)
    const answered = performance.now()
    const tries: Array<{ readonly sent: number; readonly status: number; readonly reason: string }> = []
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i * 100))
        const sent = performance.now() - answered
        const { body, status } = await create(b.exchange, other, `late-${i}`)
        tries.push({ sent, status, reason: body.details?.reason })
      })
    )
    for (const { reason, sent, status } of tries) {
      if (sent >= 1_000) assert.deepStrictEqual([status, reason], [503, "DatabaseUnavailable"])
    }
    assert.strictEqual((await cancel(b.exchange, user, "resting-1")).status, 200)
    const ready = await call(b.exchange, "GET", "/ready")
    assert.strictEqual(ready.status, 503)
    assert.include(ready.body.reasons, "DatabaseUnavailable")
    b.way.open()
    b.way.cut()
    await isReady(b)
    assert.strictEqual((await create(b.exchange, other, "after")).status, 401)
    await place(b, user, "thawed-2")
  })

  it("continues when the leader stops", async () => {
    const { first, other } = await leader()
    const onOther = await follow(other, user)
    await place(first, user, "last-1")
    await first.exchange.close()
    await place(other, user, "last-2")
    assert.includeMembers((await onOther.upTo("last-2")).map(linkOf), ["last-1", "last-2"])
    await eventually(
      "it leads",
      () => leads(other),
      (it) => it,
      PATIENCE_MS
    )
    onOther.socket.close()
  })
})
