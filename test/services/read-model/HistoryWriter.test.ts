/** Gateways over one history: each shows what arrives, one of them writes it behind, and either may go at any moment. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Event } from "../../../src/domain/Event.ts"
import { type ModelPosition, Projecting, type UserStreamEvent } from "../../../src/domain/Projection.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { BackendHealth } from "../../../src/services/operations/BackendHealth.ts"
import { History, HistoryUnavailable, type OpenState, ProjectionRefused } from "../../../src/services/History.ts"
import { Leadership } from "../../../src/services/operations/Leadership.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { HistoryWriter, RESIGN_MS } from "../../../src/services/read-model/HistoryWriter.ts"
import { WrittenHistory } from "../../../src/services/read-model/WrittenHistory.ts"
import { Projector } from "../../../src/services/read-model/Projector.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"
import { body, event, userOf } from "../../../verification/harness/Records.ts"
import { eventually } from "../../doubles/Eventually.ts"
import { ScriptedBackend } from "../../doubles/ScriptedBackend.ts"
import { ScriptedFeed } from "../../doubles/ScriptedFeed.ts"

const alice = userOf(1).user_id
/** Bound of the events that are shown and not written. */
const UNWRITTEN = 500

/** Time in which whatever may happen does. */
const aWhile = Effect.forEach(Array.from({ length: 20 }), () =>
  Effect.andThen(TestClock.adjust("10 millis"), Effect.yieldNow)
)

/** A gateway's event lane over a shared history. */
const gateway = Effect.fnUntraced(function* (history: History["Service"]) {
  const feed = new ScriptedFeed()
  const backend = new ScriptedBackend()
  const state = {
    term: undefined as number | undefined,
    isCutOff: false,
    isHung: false,
    /** What a commit takes. */
    commit_ms: 0,
    commits: 0,
    comparisons: 0,
    resigned: 0
  }
  const released = Latch.makeUnsafe(false)
  const own = History.of({
    ...history,
    position: Effect.suspend(() => {
      state.comparisons++
      return state.isCutOff ? new HistoryUnavailable({}) : history.position
    }),
    commit: (projection) =>
      Effect.suspend(() => {
        if (state.isCutOff) return new HistoryUnavailable({})
        if (state.isHung) return released.await
        state.commits++
        const commit = history.commit(projection)
        return state.commit_ms === 0 ? commit : Effect.delay(commit, state.commit_ms)
      })
  })
  const context = yield* Layer.build(
    Projector.layer().pipe(
      Layer.provideMerge(HistoryWriter.layer({ unwritten_events_max: UNWRITTEN })),
      Layer.provide(BackendHealth.layer),
      Layer.provide(Layer.succeed(History, own)),
      Layer.provide(
        Layer.succeed(Leadership, { term: () => state.term, resign: Effect.sync(() => void state.resigned++) })
      ),
      Layer.provide([feed.layer, backend.layer, Logger.layer([])]),
      Layer.fresh
    )
  )
  const received: Array<UserStreamEvent> = []
  const streams = Context.get(context, UserStreams)
  const projector = Context.get(context, Projector)
  const seen = { restarts: 0 }
  streams.follow(alice, (events) => received.push(...events))
  streams.onRestart(() => seen.restarts++)
  yield* eventually("followed", () => feed.isFollowed)
  const writer = Context.get(context, HistoryWriter)
  return {
    feed,
    backend,
    state,
    released,
    received,
    seen,
    streams,
    reads: Context.get(context, WrittenHistory),
    history: Context.get(context, History),
    seq: () => projector.position()?.seq ?? 0,
    written: () => writer.progress().written_seq,
    unwritten: () => writer.progress().unwritten_events
  }
})
type Gateway = Effect.Success<ReturnType<typeof gateway>>

const two = Effect.gen(function* () {
  const history = Context.get(yield* Layer.build(Layer.fresh(SqliteStores.history)), History)
  const [a, b] = [yield* gateway(history), yield* gateway(history)]
  a.state.term = 1
  const tell = (events: ReadonlyArray<Event>, ...to: ReadonlyArray<Gateway>) => {
    for (const { feed } of to.length === 0 ? [a, b] : to) feed.tell(...events)
  }
  return { history, a, b, tell }
})

const balances = (from: number, to: number): ReadonlyArray<Event> =>
  Array.from({ length: to - from + 1 }, (_, i) => event(from + i, body.balance({ wallet_balance: String(from + i) })))

/** The state with which a model begins anew: one balance of alice. */
const openState = (record: string): OpenState => ({
  orders: [],
  subAccounts: [],
  instruments: [],
  records: [
    {
      user_id: alice,
      topic: "account_balance",
      sub_account_address: userOf(1).account(0),
      subject: "USDC",
      seq: 0,
      record
    }
  ]
})

/** Every event of alice's stream, once and in order: in the history, and at each listener. */
const isWhole = Effect.fnUntraced(function* (history: History["Service"], last: number, ...gateways: Array<Gateway>) {
  const kept = yield* history.userEvents(alice, 0, 10_000)
  const expected = Array.from({ length: last }, (_, i) => [i + 1, i, String(i + 1)])
  const numbers = (events: ReadonlyArray<Pick<UserStreamEvent, "seq" | "prev_seq" | "record">>) =>
    events.map(({ seq, prev_seq, record }) => [
      seq,
      prev_seq,
      (JSON.parse(record) as { wallet_balance: string }).wallet_balance
    ])
  assert.deepStrictEqual(numbers(kept), expected)
  for (const { received } of gateways) assert.deepStrictEqual(numbers(received), expected)
})

describe("gateways that share a history", () => {
  it.effect("show the same events, and commit each once", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      for (let seq = 1; seq <= 20; seq += 2) {
        tell(balances(seq, seq + 1))
        yield* eventually("shown", () => a.seq() === seq + 1 && b.seq() === seq + 1)
      }
      yield* eventually("written", () => a.written() === 20 && b.written() === 20)
      yield* isWhole(history, 20, a, b)
      assert.strictEqual(b.state.commits, 0)
      assert.isBelow(a.state.commits, 10, "what arrives within a moment is one commit")
    })
  )

  it.effect("show what arrives before it is committed", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 10), b)
      yield* eventually("shown", () => b.seq() === 10)
      yield* aWhile
      assert.isUndefined(yield* history.position)
      assert.deepStrictEqual([b.written(), b.unwritten()], [0, 10])
      tell(balances(1, 4), a)
      yield* eventually("as far as it is committed", () => b.written() === 4)
      tell(balances(5, 10), a)
      yield* eventually("all", () => b.written() === 10)
      assert.strictEqual(b.unwritten(), 0)
      yield* isWhole(history, 10, a, b)
    })
  )

  it.effect("go on where the leader stopped, in the middle of what the next one holds", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 9), b)
      tell(balances(1, 4), a)
      yield* eventually("followed", () => b.written() === 4)
      a.state.term = undefined
      tell(balances(5, 9), a)
      yield* aWhile
      assert.strictEqual((yield* history.position)!.seq, 4, "nobody leads")
      assert.deepStrictEqual([a.seq(), b.seq()], [9, 9])
      b.state.term = 1
      yield* eventually("gone on", () => a.written() === 9 && b.written() === 9)
      yield* isWhole(history, 9, a, b)
      assert.deepStrictEqual([a.seen.restarts, b.seen.restarts], [0, 0])
      // and back again
      b.state.term = undefined
      a.state.term = 2
      tell(balances(10, 12))
      yield* eventually("back", () => a.written() === 12 && b.written() === 12)
      yield* isWhole(history, 12, a, b)
    })
  )

  it.effect("write nothing twice where two think that they lead", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 2))
      yield* eventually("begun", () => b.written() === 2)
      // cut off in the middle of a commit, a still thinks that it leads when it is back
      a.state.isCutOff = true
      tell(balances(3, 4), a)
      yield* aWhile
      b.state.term = 1
      tell(balances(3, 6), b)
      yield* eventually("gone on without it", () => b.written() === 6)
      a.state.isCutOff = false
      tell(balances(5, 6), a)
      yield* eventually("back", () => a.written() === 6)
      yield* isWhole(history, 6, a, b)
      // both at once
      for (let seq = 7; seq <= 30; seq++) tell(balances(seq, seq))
      yield* eventually("all", () => a.written() === 30 && b.written() === 30)
      yield* isWhole(history, 30, a, b)
    })
  )

  it.effect("continue what a process showed and did not write before it was killed", () =>
    Effect.gen(function* () {
      const { history, a, tell } = yield* two
      tell(balances(1, 3), a)
      yield* eventually("written", () => a.written() === 3)
      a.state.isCutOff = true
      tell(balances(4, 9), a)
      yield* eventually("shown", () => a.seq() === 9)
      const next = yield* gateway(history)
      next.state.term = 1
      next.feed.tell(...a.feed.log.slice(3))
      yield* eventually("written", () => next.written() === 9)
      yield* isWhole(history, 9, a)
      assert.deepStrictEqual(
        next.received.map(({ seq, record }) => [seq, record]),
        a.received.slice(3).map(({ seq, record }) => [seq, record])
      )
    })
  )

  it.effect("restart numbering together if the stream no longer retains their position", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 3))
      yield* eventually("begun", () => a.seq() === 3 && b.seq() === 3)
      for (const { backend, feed } of [a, b]) {
        backend.head = { epoch: "e2", head_seq: 40 }
        backend.as_of_seq = 40
        feed.epoch = "e2"
        feed.log.length = 0
        feed.log.push(event(41, body.balance({ wallet_balance: "1" })))
      }
      // the follower finds out first, and does not build anything
      b.feed.forget()
      yield* aWhile
      assert.strictEqual((yield* history.position)!.epoch, "e1")
      a.feed.forget()
      yield* eventually("both go on", () => a.written() === 41 && b.written() === 41)
      assert.deepStrictEqual([a.streams.streamId(), b.streams.streamId()], ["e2-40", "e2-40"])
      assert.deepStrictEqual([a.streams.head(alice), b.streams.head(alice)], [1, 1])
      assert.strictEqual(b.state.commits, 0)
    })
  )

  it.effect("write what they showed of an epoch before they begin the next one", () =>
    Effect.gen(function* () {
      const { history, a, tell } = yield* two
      tell([event(1, body.execution()), event(2, body.balance())], a)
      yield* eventually("written", () => a.written() === 2)
      a.state.isCutOff = true
      tell([event(3, body.execution({ exec_id: "00000000-0000-4000-8000-000000000003" }))], a)
      yield* eventually("shown", () => a.seq() === 3)
      a.backend.head = { epoch: "e2", head_seq: 40 }
      a.backend.as_of_seq = 40
      a.feed.epoch = "e2"
      a.feed.log.length = 0
      a.feed.log.push(event(41, body.balance({ wallet_balance: "1" })))
      a.feed.forget()
      yield* aWhile
      assert.strictEqual((yield* history.position)!.seq, 2)
      a.state.isCutOff = false
      yield* eventually("begun anew", () => a.written() === 41)
      assert.strictEqual((yield* history.executionsAfter(0, 10)).length, 2)
    })
  )

  it.effect("hold their reads, and no longer than a second, until the history has what they showed", () =>
    Effect.gen(function* () {
      const { a, b, tell } = yield* two
      tell(balances(1, 3))
      yield* eventually("shown", () => a.seq() === 3 && b.seq() === 3)
      // the leader commits at once, without the clock
      assert.strictEqual((yield* a.history.userEvents(alice, 0, 10)).length, 3)
      a.state.isCutOff = true
      tell(balances(4, 5))
      yield* eventually("shown", () => a.seq() === 5 && b.seq() === 5)
      assert.strictEqual(a.reads.head(alice), 3)
      assert.isUndefined(a.reads.head(userOf(2).user_id))
      assert.isTrue(yield* a.reads.user(userOf(2).user_id), "nothing of this user is unwritten")
      const waiting = yield* Effect.forkChild(a.reads.user(alice), { startImmediately: true })
      yield* TestClock.adjust("990 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("20 millis")
      assert.isFalse(yield* Fiber.join(waiting))
      const late = yield* Effect.forkChild(b.reads.all, { startImmediately: true })
      a.state.isCutOff = false
      yield* eventually("written", () => late.pollUnsafe() !== undefined)
      assert.isTrue(yield* Fiber.join(late))
    })
  )

  it.effect("hold their reads also where the numbering has restarted below what was written", () =>
    Effect.gen(function* () {
      const { a, tell } = yield* two
      tell(balances(1, 60), a)
      yield* eventually("written", () => a.written() === 60)
      a.state.isHung = true
      a.backend.head = { epoch: "e2", head_seq: 3 }
      a.backend.as_of_seq = 3
      a.feed.epoch = "e2"
      a.feed.log.length = 0
      a.feed.log.push(event(4, body.balance({ wallet_balance: "1" })))
      a.feed.forget()
      yield* eventually("shown", () => a.seq() === 4)
      const waiting = yield* Effect.forkChild(a.reads.user(alice), { startImmediately: true })
      yield* TestClock.adjust("500 millis")
      const isWaiting = waiting.pollUnsafe() === undefined
      a.state.isHung = false
      yield* a.released.open
      assert.isTrue(isWaiting)
      assert.isTrue(yield* Fiber.join(waiting))
    })
  )

  it.effect("compare themselves with the history every 200 ms, and every 10 ms while a read waits", () =>
    Effect.gen(function* () {
      const { a, b, tell } = yield* two
      a.state.term = undefined
      tell(balances(1, 2))
      yield* eventually("shown", () => b.seq() === 2)
      const comparisons = (ms: number) =>
        Effect.suspend(() => {
          const before = b.state.comparisons
          return Effect.map(
            Effect.forEach(Array.from({ length: ms / 10 }), () => TestClock.adjust("10 millis")),
            () => b.state.comparisons - before
          )
        })
      yield* comparisons(200)
      const idle = yield* comparisons(600)
      assert.isAtLeast(idle, 2)
      assert.isAtMost(idle, 4, "each follows a pause, and a wait for the next event")
      yield* Effect.forkChild(b.reads.user(alice), { startImmediately: true })
      yield* comparisons(200)
      const waiting = yield* comparisons(600)
      assert.isAtLeast(waiting, 40)
      assert.isAtMost(waiting, 61)
    })
  )

  it.effect("join what arrives within 100 ms in one commit again, after a read was served", () =>
    Effect.gen(function* () {
      const { a, tell } = yield* two
      tell(balances(1, 1))
      yield* eventually("shown", () => a.seq() === 1)
      const read = yield* Effect.forkChild(a.reads.all)
      yield* eventually("served", () => read.pollUnsafe() !== undefined)
      const { commits } = a.state
      for (let seq = 2; seq <= 11; seq++) {
        tell(balances(seq, seq))
        yield* TestClock.adjust("5 millis")
      }
      assert.strictEqual(a.state.commits, commits)
      yield* eventually("written", () => a.written() === 11)
      assert.strictEqual(a.state.commits, commits + 1)
    })
  )

  it.effect("read a user's current state before it is committed, and never an older one", () =>
    Effect.gen(function* () {
      const { a, b, tell } = yield* two
      const wallets = (of: Gateway) =>
        Effect.map(of.reads.lastRecords(alice, "account_balance"), ({ isComplete, rows }) => [
          isComplete,
          ...rows.map(({ record, seq }) => [seq, (JSON.parse(record) as { wallet_balance: string }).wallet_balance])
        ])
      tell(balances(1, 3))
      yield* eventually("written", () => a.written() === 3)
      a.state.isCutOff = true
      b.state.isCutOff = true
      tell(balances(4, 5), a)
      yield* eventually("shown", () => a.seq() === 5)
      assert.deepStrictEqual(yield* wallets(a), [true, [5, "5"]])
      // the history is ahead of what a gateway has shown
      assert.deepStrictEqual(yield* wallets(b), [true, [3, "3"]])
      tell(balances(4, 4), b)
      yield* eventually("shown", () => b.seq() === 4)
      assert.deepStrictEqual(yield* wallets(b), [true, [4, "4"]])
      a.state.isCutOff = false
      yield* eventually("written", () => a.written() === 5)
      assert.deepStrictEqual([b.written(), b.unwritten()], [3, 1])
      assert.deepStrictEqual(yield* wallets(b), [true, [5, "5"]])
    })
  )

  it.effect("lay nothing over the rows of another numbering", () =>
    Effect.gen(function* () {
      const { a, b, history, tell } = yield* two
      tell(balances(1, 3))
      yield* eventually("written", () => a.written() === 3 && b.written() === 3)
      tell(balances(4, 9), b)
      yield* eventually("shown", () => b.seq() === 9)
      const { at } = yield* history.momentAndPosition(Effect.void)
      yield* history.restart(at, { epoch: "e2", seq: 20, began: 20, ts_ms: 0 }, openState("1"))
      const reading = yield* Effect.forkChild(b.reads.lastRecords(alice, "account_balance"), {
        startImmediately: true
      })
      yield* aWhile
      assert.isUndefined(reading.pollUnsafe(), "it waits for the history")
      yield* TestClock.adjust("1 second")
      const { rows } = yield* Fiber.join(reading)
      assert.deepStrictEqual(
        rows.map(({ record, seq }) => [seq, record]),
        [[0, "1"]]
      )
    })
  )

  it.effect("show no more than the bound while the history fails, and lose nothing", () =>
    Effect.gen(function* () {
      const { history, a, tell } = yield* two
      a.state.isCutOff = true
      const last = 2_000
      for (let seq = 1; seq <= last; seq += 50) {
        tell(balances(seq, seq + 49), a)
        yield* aWhile
      }
      assert.strictEqual(a.seq(), UNWRITTEN)
      assert.strictEqual(a.unwritten(), a.seq())
      a.state.isCutOff = false
      yield* eventually("all", () => a.written() === last)
      assert.strictEqual(a.received.length, last)
      yield* isWhole(history, last, a)
    })
  )
})

describe("a writer", () => {
  it.effect("takes no refused commit for written after a rebuild within the same epoch", () =>
    Effect.gen(function* () {
      const at = (seq: number, began = 0) => ({ epoch: "e1", seq, began, ts_ms: 0 })
      const model = { position: at(4), heads: [], candles: [] }
      let position = at(4)
      const context = yield* Layer.build(
        HistoryWriter.layer().pipe(
          Layer.provide(
            Layer.mock(History)({
              position: Effect.sync(() => position),
              commit: () => Effect.fail(new ProjectionRefused({ position }))
            })
          ),
          Layer.provide(Logger.layer([]))
        )
      )
      const writer = Context.get(context, HistoryWriter)
      writer.begin(model.position)
      const projecting = new Projecting(model)
      // an earlier try of the same commit came through
      position = at(5)
      writer.add(projecting.next("e1", balances(5, 5)))
      yield* eventually("written", () => writer.progress().written_seq === 5)
      // the model holds a higher seq, numbered from another beginning
      position = at(9, 8)
      writer.add(projecting.next("e1", balances(6, 6)))
      const superseded = yield* Effect.forkChild(Effect.flip(writer.superseded))
      yield* eventually("superseded", () => superseded.pollUnsafe() !== undefined)
      assert.strictEqual((yield* Fiber.join(superseded))._tag, "Superseded")
      assert.strictEqual(writer.progress().written_seq, 5)
    })
  )

  it.effect("observes the time of each commit", () => {
    const metrics = new MetricsRegistry()
    return Effect.gen(function* () {
      const writer = yield* HistoryWriter
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      writer.begin(undefined)
      for (const seq of [1, 2]) {
        writer.add(projecting.next("e1", balances(seq, seq)))
        yield* eventually("written", () => writer.progress().written_seq === seq)
        assert.match(yield* metrics.text, new RegExp(`^gateway_projector_commit_seconds_count ${seq}$`, "mu"))
      }
    }).pipe(
      Effect.provide(
        HistoryWriter.layer().pipe(
          Layer.provide([Layer.fresh(SqliteStores.history), Layer.succeed(CurrentMetricsRegistry, metrics)])
        )
      )
    )
  })

  it.effect("reports how many events are unwritten, and for how long", () => {
    const metrics = new MetricsRegistry()
    const reported = Effect.map(metrics.text, (text) =>
      ["events", "seconds"].map((unit) => {
        const name = `gateway_history_unwritten_${unit} `
        return Number(
          text
            .split("\n")
            .find((line) => line.startsWith(name))
            ?.slice(name.length)
        )
      })
    )
    return Effect.gen(function* () {
      const writer = yield* HistoryWriter
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      writer.begin(undefined)
      assert.deepStrictEqual(yield* reported, [0, 0])
      yield* TestClock.adjust("7 seconds")
      writer.add(projecting.next("e1", balances(1, 3)))
      yield* TestClock.adjust("2 seconds")
      writer.add(projecting.next("e1", balances(4, 4)))
      assert.deepStrictEqual(yield* reported, [4, 2])
    }).pipe(
      Effect.provide(
        HistoryWriter.layer().pipe(
          Layer.provide([
            Layer.mock(History)({
              position: Effect.succeed(undefined),
              commit: () => new HistoryUnavailable({})
            }),
            Layer.succeed(CurrentMetricsRegistry, metrics),
            Logger.layer([])
          ])
        )
      )
    )
  })

  const begun: ModelPosition = { epoch: "e1", seq: 5, began: 2, stream: "s1", ts_ms: 1, version: 1 }
  const others: Readonly<Record<string, readonly [at: ModelPosition | undefined, error: string | undefined]>> = {
    "the same position": [begun, undefined],
    "no position": [undefined, "the history is empty"],
    "another epoch": [{ ...begun, epoch: "e2", seq: 9 }, "the read model was rebuilt"],
    "another beginning": [{ ...begun, began: 3, seq: 9 }, "the read model was rebuilt"],
    "another stream": [{ ...begun, stream: "s2", seq: 9 }, "the read model was rebuilt"],
    "another version": [{ ...begun, version: 2, seq: 9 }, "the read model has version 2"],
    "an earlier position": [{ ...begun, seq: 4 }, "the history went back to 4"]
  }
  for (const [name, [at, error]] of Object.entries(others))
    it.effect(`settles where the history has ${name}: ${error ?? "it leads"}`, () =>
      Effect.gen(function* () {
        const writer = yield* HistoryWriter
        writer.begin(begun)
        const settled = yield* Effect.result(writer.settle)
        assert.deepStrictEqual(
          Result.match(settled, { onSuccess: String, onFailure: ({ message }) => message }),
          error ?? "true"
        )
      }).pipe(
        Effect.provide(
          HistoryWriter.layer().pipe(
            Layer.provide([
              Layer.mock(History)({ position: Effect.sync(() => at) }),
              Layer.succeed(Leadership, { term: () => 1, resign: Effect.void })
            ])
          )
        )
      )
    )

  it.effect("settles as the follower where another gateway has moved the history", () =>
    Effect.gen(function* () {
      const writer = yield* HistoryWriter
      writer.begin(begun)
      assert.isFalse(yield* writer.settle)
      assert.strictEqual(writer.progress().written_seq, 9)
    }).pipe(
      Effect.provide(
        HistoryWriter.layer().pipe(
          Layer.provide([
            Layer.mock(History)({ position: Effect.succeed({ ...begun, seq: 9 }) }),
            Layer.succeed(Leadership, { term: () => 1, resign: Effect.void })
          ])
        )
      )
    )
  )

  for (const fault of ["isCutOff", "isHung"] as const)
    it.effect(
      `resigns after ${RESIGN_MS} ms without a commit (${fault}), and not while it commits or has nothing to`,
      () =>
        Effect.gen(function* () {
          const { a } = yield* two
          a.state.term = 1
          a.feed.tell(...balances(1, 1))
          yield* TestClock.adjust(2 * RESIGN_MS)
          assert.deepStrictEqual([a.written(), a.state.resigned], [1, 0])
          a.state[fault] = true
          a.feed.tell(...balances(2, 2))
          yield* TestClock.adjust(RESIGN_MS - 500)
          assert.strictEqual(a.state.resigned, 0)
          yield* TestClock.adjust(1_000)
          assert.strictEqual(a.state.resigned, 1)
          // the shutdown waits for the commit
          yield* a.released.open
        })
    )

  it.effect("does not resign while it commits slowly, though events wait longer than that", () =>
    Effect.gen(function* () {
      const { a } = yield* two
      a.state.commit_ms = (2 / 3) * RESIGN_MS
      a.feed.tell(...balances(1, 1))
      yield* TestClock.adjust(RESIGN_MS / 3)
      a.feed.tell(...balances(2, 2))
      yield* TestClock.adjust(RESIGN_MS)
      assert.deepStrictEqual([a.written(), a.state.commits], [1, 2])
      yield* TestClock.adjust(RESIGN_MS)
      assert.deepStrictEqual([a.written(), a.state.resigned], [2, 0])
    })
  )
})
