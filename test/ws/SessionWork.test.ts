/** A feed session without a socket and without a server: its limits, its waits, and what it releases at its end. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Grant } from "../../src/domain/Grant.ts"
import type { PrivateTopic } from "../../src/domain/Topic.ts"
import type { Caller } from "../../src/domain/User.ts"
import { AuthLimited, AuthUnavailable, type AuthError } from "../../src/services/identity/AuthErrors.ts"
import { LEASE_WAIT } from "../../src/services/identity/CredentialLease.ts"
import { type Snapshot, SnapshotUnavailable } from "../../src/services/read-model/UserSnapshots.ts"
import type { UserEvent } from "../../src/services/History.ts"
import type { EndReason } from "../../src/ws/Connection.ts"
import { textsOf } from "../../src/ws/Frame.ts"
import { defaults, type Limits } from "../../src/ws/Limits.ts"
import { Flusher } from "../../src/ws/Outbox.ts"
import { BUFFERED_MAX, type PrivateFeed, UserMessage } from "../../src/ws/PrivateFeed.ts"
import { Session, type SessionDeps } from "../../src/ws/Session.ts"
import { FakeMarket, SYMBOL, USER } from "../../verification/harness/WebSocketWorld.ts"
import { ManualLease } from "../doubles/ManualLease.ts"
import { tokenCaller } from "../http/Fixture.ts"

const turn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
const event = (seq: number, topic: PrivateTopic = "order"): UserEvent => ({
  seq,
  topic,
  prev_seq: seq - 1,
  sub_account_address: "",
  mts: 0,
  record: "{}"
})

/** A session, what the test answers it, and what it does. */
const opened = (endpoint: "public" | "private", limits: Partial<Limits> = {}) =>
  Effect.map(Effect.context<never>(), (context) => {
    const market = new FakeMarket()
    const did = {
      // oxlint-disable-next-line typescript/no-explicit-any
      sent: [] as Array<any>,
      ends: [] as Array<EndReason>,
      faults: [] as Array<unknown>,
      /** Topics that it holds at the hub, and feeds that are attached. */
      joined: [] as Array<string>,
      feeds: new Map<PrivateFeed, () => void>(),
      admitted: 0,
      pings: 0,
      /** Bytes that the socket has not taken. */
      pending: 0,
      /** Addresses with which keys were checked. */
      checked: [] as Array<string>
    }
    const lease = new ManualLease()
    const answers = {
      isAdmitted: true,
      auth: Effect.succeed({ ...tokenCaller, grant: new Grant("token", USER, lease) }) as Effect.Effect<
        Caller,
        AuthError
      >,
      take: Effect.succeed({ stream_id: "s1", seq: 0, list: [] }) as Effect.Effect<Snapshot, SnapshotUnavailable>,
      replay: Effect.succeed(undefined) as Effect.Effect<ReadonlyArray<UserEvent> | undefined, SnapshotUnavailable>
    }
    const at = { now: 0 }
    const monotonic = () => at.now
    const report = (fault: unknown) => void did.faults.push(fault)
    const deps = {
      hub: {
        now: monotonic,
        monotonic,
        flusher: new Flusher({ now: monotonic, monotonic }, report),
        report,
        join: (name: string) => void did.joined.push(name),
        leave: (name: string) => void did.joined.splice(did.joined.indexOf(name), 1),
        attach: (feed: PrivateFeed, onRestart: () => void) => {
          did.feeds.set(feed, onRestart)
          return () => void did.feeds.delete(feed)
        }
      },
      authenticator: {
        bearerSocket: () => answers.auth,
        signedSocket: ({ client_ip }: { readonly client_ip: string }) => {
          did.checked.push(client_ip)
          return answers.auth
        }
      },
      snapshots: { take: () => answers.take, replay: () => answers.replay },
      streams: { streamId: () => "s1", head: () => 0 },
      view: market.service,
      limits: { ...defaults, ...limits },
      run: (effect: Effect.Effect<void>) => void Effect.runForkWith(context)(effect),
      admit: () => ++did.admitted > 0 && answers.isAdmitted,
      ending: (reason: EndReason) => void did.ends.push(reason),
      gone: () => {}
    } as unknown as SessionDeps
    const session = new Session(
      deps,
      {
        deflated: false,
        write: (bytes) => void did.sent.push(...textsOf(bytes).map((text) => JSON.parse(text))),
        pending: () => did.pending,
        whenTaken: () => {},
        close: () => {},
        ping: () => void did.pings++,
        pong: () => {},
        terminate: () => {}
      },
      endpoint,
      "203.0.113.1"
    )
    /** Checks the deadlines at a time. */
    const check = (monotonic_ms: number) => {
      at.now = monotonic_ms
      session.tick({ monotonic_ms, wall_ms: 0 }, { private: false, public: false })
    }
    const send = (message: object) => session.text(JSON.stringify(message))
    /** The messages since the last look, after all work that can proceed. */
    const sent = Effect.map(Effect.andThen(turn, turn), () => did.sent.splice(0))
    const login = Effect.andThen(
      Effect.sync(() => send({ op: "auth", bearer: "x" })),
      Effect.map(sent, ([reply]) => reply)
    )
    const feed = (): PrivateFeed => [...did.feeds.keys()][0]!
    const interrupt = (): void => did.feeds.get(feed())!()
    return { session, did, answers, at, check, lease, market, send, sent, login, feed, interrupt }
  })

describe("the checks of a session", () => {
  it.effect("ping once an interval, however often they are made", () =>
    Effect.gen(function* () {
      const { check, did } = yield* opened("public", { ping_interval_ms: 1_000, silence_ms: 10_000 })
      const pings = [999, 1_000, 1_500, 1_999, 2_000, 2_500].map((now) => {
        check(now)
        return did.pings
      })
      assert.deepStrictEqual(pings, [0, 1, 1, 1, 2, 2])
    })
  )

  it.effect("end it where its socket does not take what must not be lost", () =>
    Effect.gen(function* () {
      const { check, did, send, sent } = yield* opened("public", { outbound_age_ms: 1_000 })
      did.pending = 1
      send({ op: "ping" })
      assert.lengthOf(yield* sent, 1)
      check(1_000)
      assert.deepStrictEqual(did.ends, [])
      check(1_001)
      assert.deepStrictEqual(did.ends, ["SlowConsumer"])
    })
  )
})

describe("the end of a session", () => {
  it.effect("leaves its public topics", () =>
    Effect.gen(function* () {
      const { did, send, session } = yield* opened("public")
      send({ op: "subscribe", args: [`trade.${SYMBOL}`, `ticker.${SYMBOL}`] })
      assert.lengthOf(did.joined, 2)
      session.closed()
      assert.deepStrictEqual([did.joined, did.ends], [[], ["Peer"]])
    })
  )

  it.effect("is counted once, by the reason for which its bytes were refused", () =>
    Effect.gen(function* () {
      const { did, session } = yield* opened("public")
      session.refused("TooBig")
      session.refused("TooMany")
      session.closed()
      assert.deepStrictEqual(did.ends, ["TooBig"])
    })
  )

  it.effect("detaches it from the stream and the credential of its user", () =>
    Effect.gen(function* () {
      const { answers, did, login, session } = yield* opened("private")
      let watchers = 0
      const grant = Object.assign(new Grant("token", USER), {
        onEnd: () => {
          watchers++
          return () => void watchers--
        }
      })
      answers.auth = Effect.succeed({ ...tokenCaller, grant })
      for (let i = 0; i < 2; i++) assert.isTrue((yield* login).success)
      assert.deepStrictEqual([watchers, did.feeds.size], [1, 1])
      session.closed()
      assert.deepStrictEqual([watchers, did.feeds.size], [0, 0])
    })
  )

  it.effect("stops its queued messages, and the authentication that is under way", () =>
    Effect.gen(function* () {
      const { answers, did, send, sent, session } = yield* opened("private")
      const gate = Deferred.makeUnsafe<void>()
      answers.auth = Effect.as(Deferred.await(gate), { ...tokenCaller, grant: new Grant("token", USER) })
      send({ op: "auth", bearer: "x" })
      send({ op: "subscribe", args: ["order"] })
      session.closed()
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* sent, [])
      assert.deepStrictEqual([did.admitted, did.feeds.size, session.caller], [0, 0, undefined])
    })
  )
})

describe("the authentication of a session", () => {
  it.effect("is refused where the credential ended while it was checked, and takes no place of the user", () =>
    Effect.gen(function* () {
      const { answers, did, login } = yield* opened("private")
      const grant = new Grant("token", USER)
      grant.end("revoked")
      answers.auth = Effect.succeed({ ...tokenCaller, grant })
      const refused = yield* login
      assert.deepStrictEqual([refused.success, refused.details.reason], [false, "RevokedToken"])
      assert.deepStrictEqual([did.admitted, did.feeds.size], [0, 0])
    })
  )

  it.effect("checks a key with the address of the connection", () =>
    Effect.gen(function* () {
      const { did, send, sent } = yield* opened("private")
      send({ op: "auth", api_key: "k", signature: "s", timestamp_ms: 1, nonce: "n" })
      assert.isTrue((yield* sent)[0].success)
      assert.deepStrictEqual(did.checked, ["203.0.113.1"])
    })
  )

  it.effect("counts a credential that has ended, and one of another user, as failed attempts", () =>
    Effect.gen(function* () {
      const { answers, did, login } = yield* opened("private", { auth_tries: 2 })
      assert.isTrue((yield* login).success)
      answers.auth = Effect.succeed({ ...tokenCaller, user_id: "other", grant: new Grant("token", "other") })
      assert.strictEqual((yield* login).code, "FORBIDDEN")
      const ended = new Grant("token", USER)
      ended.end("revoked")
      answers.auth = Effect.succeed({ ...tokenCaller, grant: ended })
      assert.deepStrictEqual(did.ends, [])
      yield* login
      assert.deepStrictEqual(did.ends, ["AuthRefused"])
    })
  )

  it.effect("has its req_id in the refusal of a user with too many connections", () =>
    Effect.gen(function* () {
      const { answers, did, send, sent } = yield* opened("private")
      answers.isAdmitted = false
      send({ op: "auth", bearer: "x", req_id: 5 })
      assert.deepInclude((yield* sent)[0], { success: false, code: "RateLimitExceeded", req_id: 5 })
      assert.deepStrictEqual(did.ends, ["TooMany"])
    })
  )

  it.effect("may take exactly its time limit", () =>
    Effect.gen(function* () {
      const { did, session } = yield* opened("private")
      const { auth_deadline_ms } = defaults
      const tick = (monotonic_ms: number) =>
        session.tick({ monotonic_ms, wall_ms: 0 }, { private: false, public: false })
      tick(auth_deadline_ms)
      assert.deepStrictEqual(did.ends, [])
      tick(auth_deadline_ms + 1)
      assert.deepStrictEqual(did.ends, ["NotAuthenticated"])
    })
  )

  it.effect("counts a refusal as a failed attempt, and an unavailable store as none", () =>
    Effect.gen(function* () {
      const { answers, did, login } = yield* opened("private", { auth_tries: 2 })
      answers.auth = Effect.fail(new AuthUnavailable({ cause: "down" }))
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* login).code, "SERVICE_UNAVAILABLE")
      assert.deepStrictEqual(did.ends, [])
      const rate = {
        bucket: "auth-failures",
        allowed: false,
        limit: 30,
        remaining: 0,
        reset_s: 9,
        window_s: 60
      } as const
      answers.auth = Effect.fail(new AuthLimited({ rate }))
      assert.strictEqual((yield* login).code, "RateLimitExceeded")
      assert.deepStrictEqual(did.ends, [])
      yield* login
      assert.deepStrictEqual(did.ends, ["AuthRefused"])
    })
  )

  it.effect("ends the connection after 10 s without a result", () =>
    Effect.gen(function* () {
      const { answers, did, send } = yield* opened("private")
      answers.auth = Effect.never
      send({ op: "auth", bearer: "x" })
      yield* TestClock.adjust(9_999)
      assert.deepStrictEqual(did.ends, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(did.ends, ["Internal"])
    })
  )

  it.effect("that fails unexpectedly ends the connection, and is reported", () =>
    Effect.gen(function* () {
      const { answers, did, send } = yield* opened("private")
      answers.auth = Effect.die("a fault")
      send({ op: "auth", bearer: "x" })
      yield* turn
      assert.deepStrictEqual([did.ends, did.faults.length], [["Internal"], 1])
    })
  )

  it.effect("again limits the connection to the sub-accounts of the newer credential", () =>
    Effect.gen(function* () {
      const { answers, feed, login } = yield* opened("private")
      yield* login
      assert.isUndefined(feed().bound_to)
      const bound_to = new Set(["0x1"])
      answers.auth = Effect.succeed({ ...tokenCaller, bound_to, grant: new Grant("key", USER) })
      yield* login
      assert.strictEqual(feed().bound_to, bound_to)
      answers.auth = Effect.succeed({ ...tokenCaller, grant: new Grant("token", USER) })
      yield* login
      assert.isUndefined(feed().bound_to)
    })
  )
})

describe("the messages of a session", () => {
  it.effect("are queued behind an authentication, in order, as many as a burst", () =>
    Effect.gen(function* () {
      const { answers, at, send, sent } = yield* opened("private", { message_burst: 3 })
      const gate = Deferred.makeUnsafe<void>()
      answers.auth = Effect.as(Deferred.await(gate), { ...tokenCaller, grant: new Grant("token", USER) })
      send({ op: "auth", bearer: "x" })
      for (const req_id of [1, 2, 3, 4]) {
        at.now += 1_000
        send({ op: "unsubscribe", args: ["order"], req_id })
      }
      assert.deepStrictEqual(
        (yield* sent).map(({ message }) => message),
        ["too many messages are queued"]
      )
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(
        (yield* sent).map(({ op, req_id }) => [op, req_id]),
        [
          ["auth", undefined],
          ["unsubscribed", 1],
          ["unsubscribed", 2],
          ["unsubscribed", 3]
        ]
      )
    })
  )

  it.effect("get the reason of a shutdown", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* opened("public")
      session.announce()
      assert.deepInclude((yield* sent)[0], { op: "error", details: { reason: "ShuttingDown" } })
    })
  )

  it.effect("get no snapshot during whose read the changes of credentials became unknown", () =>
    Effect.gen(function* () {
      const { answers, lease, login, send, sent } = yield* opened("private")
      yield* login
      answers.take = Effect.sync(() => {
        lease.end()
        return { stream_id: "s1", seq: 0, list: [] }
      })
      send({ op: "subscribe", args: ["order"] })
      assert.deepStrictEqual(yield* sent, [])
      yield* TestClock.adjust(LEASE_WAIT)
      assert.deepStrictEqual(
        (yield* sent).map(({ args, op, topic }) => [op, topic ?? args]),
        [
          ["subscribed", []],
          ["error", "order"]
        ]
      )
    })
  )

  it.effect("that are pings above the rate have one notice", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* opened("public", { message_burst: 1, messages_per_s: 1 })
      for (let i = 0; i < 3; i++) session.pinged(Buffer.alloc(0))
      assert.deepStrictEqual(
        (yield* sent).map(({ message }) => message),
        ["rate limit exceeded"]
      )
    })
  )

  it.effect("have their req_id in the error of each topic without a snapshot", () =>
    Effect.gen(function* () {
      const { answers, login, send, sent } = yield* opened("private")
      yield* login
      answers.take = Effect.fail(new SnapshotUnavailable({ reason: "BackendUnavailable" }))
      send({ op: "subscribe", args: ["order", "position"], req_id: 7 })
      assert.deepStrictEqual(
        (yield* sent).map(({ op, req_id, topic }) => [op, topic, req_id]),
        [
          ["subscribed", undefined, 7],
          ["error", "order", 7],
          ["error", "position", 7]
        ]
      )
    })
  )

  it.effect("say which topics start and why the others do not, before the first record", () =>
    Effect.gen(function* () {
      const { answers, login, send, sent } = yield* opened("private")
      yield* login
      let reads = 0
      answers.take = Effect.suspend((): typeof answers.take =>
        reads++ === 0
          ? Effect.fail(new SnapshotUnavailable({ reason: "BackendLagging" }))
          : Effect.succeed({ stream_id: "s1", seq: 4, list: [] })
      )
      send({ op: "subscribe", args: ["order", "position"] })
      assert.deepStrictEqual(
        (yield* sent).map(({ args, data, details, op, topic }) => [op, args ?? topic, details?.reason ?? data?.seq]),
        [
          ["subscribed", ["position"], undefined],
          ["error", "order", "BackendLagging"],
          ["event", "position", 4]
        ]
      )
    })
  )

  it.effect("start no topic with a snapshot while a change of the credential may be unknown", () =>
    Effect.gen(function* () {
      const { answers, lease, login, send, sent } = yield* opened("private")
      yield* login
      lease.end()
      answers.take = Effect.succeed({ stream_id: "s1", seq: 1, list: [] })
      send({ op: "subscribe", args: ["order"] })
      assert.deepStrictEqual(yield* sent, [])
      lease.renew()
      assert.deepStrictEqual(
        (yield* sent).map(({ op }) => op),
        ["subscribed", "event"]
      )
    })
  )

  it.effect("call no market unknown before the backend has reported any", () =>
    Effect.gen(function* () {
      const { market, send, sent } = yield* opened("public")
      const reasons = Effect.gen(function* () {
        send({ op: "subscribe", args: ["trade.ETH-USDC"] })
        return (yield* sent).map(({ details }) => details?.reason)
      })
      assert.deepStrictEqual(yield* reasons, [undefined, "SymbolNotFound"])
      Object.assign(market.service, { instruments: () => [] })
      assert.deepStrictEqual(yield* reasons, [undefined, "BackendUnavailable"])
    })
  )
})

describe("a session whose stream was interrupted", () => {
  const subscribed = Effect.gen(function* () {
    const world = yield* opened("private")
    yield* world.login
    world.send({ op: "subscribe", args: ["order"] })
    assert.lengthOf(yield* world.sent, 2)
    return world
  })

  it.effect("receives no missed event before the changes of credentials are known", () =>
    Effect.gen(function* () {
      const { answers, interrupt, lease, sent } = yield* subscribed
      answers.replay = Effect.succeed([event(1)])
      lease.end()
      interrupt()
      assert.deepStrictEqual(yield* sent, [])
      lease.renew()
      assert.deepStrictEqual(
        (yield* sent).map(({ data }) => data.seq),
        [1]
      )
    })
  )

  it.effect("buffers nothing where no topic has begun", () =>
    Effect.gen(function* () {
      const { did, feed, interrupt, login, sent } = yield* opened("private")
      yield* login
      interrupt()
      yield* sent
      const events = Array.from({ length: BUFFERED_MAX + 1 }, (_, i) => new UserMessage(event(i + 1), "s1", 0))
      feed().take(events, 0)
      assert.deepStrictEqual(did.ends, [])
    })
  )

  it.effect("ends with 1013 where neither a replay nor a snapshot is available", () =>
    Effect.gen(function* () {
      const { answers, did, interrupt, sent } = yield* subscribed
      answers.take = Effect.fail(new SnapshotUnavailable({ reason: "BackendUnavailable" }))
      interrupt()
      assert.deepStrictEqual(yield* sent, [])
      assert.deepStrictEqual(did.ends, ["BackendLost"])
    })
  )

  it.effect("follows its stream again, and buffers nothing, after a subscription that could not resume", () =>
    Effect.gen(function* () {
      const { answers, did, feed, send, sent } = yield* subscribed
      answers.replay = Effect.fail(new SnapshotUnavailable({ reason: "BackendUnavailable" }))
      send({ op: "subscribe", args: ["execution"], since: { stream_id: "s1", seq: 0 } })
      const [reply, refused] = yield* sent
      assert.deepStrictEqual(
        [reply.args, refused.topic, refused.details.reason],
        [[], "execution", "BackendUnavailable"]
      )
      const position = Array.from(
        { length: BUFFERED_MAX + 1 },
        (_, i) => new UserMessage(event(i + 1, "position"), "s1", 0)
      )
      feed().take(position, 0)
      assert.deepStrictEqual(did.ends, [])
    })
  )
})
