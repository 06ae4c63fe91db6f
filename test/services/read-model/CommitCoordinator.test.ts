/** Two gateways over one read model: one of them writes, both tell the same, and either may go at any moment. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import type { Event } from "../../../src/domain/Event.ts"
import { Projecting, type UserStreamEvent } from "../../../src/domain/Projection.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { BackendHealth } from "../../../src/services/operations/BackendHealth.ts"
import { History, HistoryUnavailable, ProjectionRefused } from "../../../src/services/History.ts"
import { Leadership } from "../../../src/services/operations/Leadership.ts"
import * as CommitCoordinator from "../../../src/services/read-model/CommitCoordinator.ts"
import { Projector } from "../../../src/services/read-model/Projector.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"
import { body, event, userOf } from "../../../verification/harness/Records.ts"
import { eventually } from "../../doubles/Eventually.ts"
import { ScriptedBackend } from "../../doubles/ScriptedBackend.ts"
import { ScriptedFeed } from "../../doubles/ScriptedFeed.ts"

const alice = userOf(1).user_id

/** Time in which whatever may happen does. */
const aWhile = Effect.forEach(Array.from({ length: 20 }), () =>
  Effect.andThen(TestClock.adjust("10 millis"), Effect.yieldNow)
)

/** A gateway's event lane over a shared history. */
const gateway = Effect.fnUntraced(function* (history: History["Service"]) {
  const feed = new ScriptedFeed()
  const backend = new ScriptedBackend()
  const state = { term: undefined as number | undefined, isCutOff: false, commits: 0 }
  const own = History.of({
    ...history,
    position: Effect.suspend(() => (state.isCutOff ? new HistoryUnavailable({}) : history.position)),
    commit: (projection) =>
      Effect.suspend(() => {
        if (state.isCutOff) return new HistoryUnavailable({})
        state.commits++
        return history.commit(projection)
      })
  })
  const context = yield* Layer.build(
    Projector.layer().pipe(
      Layer.provide(BackendHealth.layer),
      Layer.provide(Layer.succeed(History, own)),
      Layer.provide(Layer.succeed(Leadership, { term: () => state.term })),
      Layer.provide([feed.layer, backend.layer, Logger.layer([])]),
      Layer.fresh
    )
  )
  const told: Array<UserStreamEvent> = []
  const streams = Context.get(context, UserStreams)
  const projector = Context.get(context, Projector)
  const seen = { restarts: 0 }
  streams.follow(alice, (events) => told.push(...events))
  streams.onRestart(() => seen.restarts++)
  yield* eventually("followed", () => feed.isFollowed)
  return { feed, backend, state, told, seen, streams, seq: () => projector.position()?.seq ?? 0 }
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

/** Every event of alice's stream, once and in order: in the history, and at who was told them. */
const isWhole = Effect.fnUntraced(function* (history: History["Service"], last: number, ...gateways: Array<Gateway>) {
  const kept = yield* history.userEvents(alice, 0, 1_000)
  const expected = Array.from({ length: last }, (_, i) => [i + 1, i, String(i + 1)])
  const numbers = (events: ReadonlyArray<Pick<UserStreamEvent, "seq" | "prev_seq" | "record">>) =>
    events.map(({ seq, prev_seq, record }) => [
      seq,
      prev_seq,
      (JSON.parse(record) as { wallet_balance: string }).wallet_balance
    ])
  assert.deepStrictEqual(numbers(kept), expected)
  for (const { told } of gateways) assert.deepStrictEqual(numbers(told), expected)
})

describe("gateways that share a read model", () => {
  it.effect("commit each batch once, and show the same events", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      for (let seq = 1; seq <= 20; seq += 2) {
        tell(balances(seq, seq + 1))
        yield* eventually("told", () => a.seq() === seq + 1 && b.seq() === seq + 1)
      }
      yield* isWhole(history, 20, a, b)
      assert.strictEqual(b.state.commits, 0)
    })
  )

  it.effect("show nothing that is not committed, and no more of a batch than is", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 10), b)
      yield* aWhile
      assert.strictEqual(b.seq(), 0)
      tell(balances(1, 4), a)
      yield* eventually("as far as it is committed", () => b.seq() === 4)
      yield* aWhile
      assert.strictEqual(b.told.length, 4)
      tell(balances(5, 10), a)
      yield* eventually("all", () => b.seq() === 10)
      yield* isWhole(history, 10, a, b)
    })
  )

  it.effect("go on where the leader stopped, in the middle of what the next one holds", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 9), b)
      tell(balances(1, 4), a)
      yield* eventually("followed", () => b.seq() === 4)
      a.state.term = undefined
      tell(balances(5, 9), a)
      yield* aWhile
      assert.deepStrictEqual([a.seq(), b.seq()], [4, 4], "nobody leads")
      b.state.term = 1
      yield* eventually("gone on", () => a.seq() === 9 && b.seq() === 9)
      yield* isWhole(history, 9, a, b)
      assert.deepStrictEqual([a.seen.restarts, b.seen.restarts], [0, 0])
      // and back again
      b.state.term = undefined
      a.state.term = 2
      tell(balances(10, 12))
      yield* eventually("back", () => a.seq() === 12 && b.seq() === 12)
      yield* isWhole(history, 12, a, b)
    })
  )

  it.effect("write nothing twice where two think that they lead", () =>
    Effect.gen(function* () {
      const { history, a, b, tell } = yield* two
      tell(balances(1, 2))
      yield* eventually("begun", () => b.seq() === 2)
      // cut off in the middle of a commit, a still thinks that it leads when it is back
      a.state.isCutOff = true
      tell(balances(3, 4), a)
      yield* aWhile
      b.state.term = 1
      tell(balances(3, 6), b)
      yield* eventually("gone on without it", () => b.seq() === 6)
      a.state.isCutOff = false
      tell(balances(5, 6), a)
      yield* eventually("back", () => a.seq() === 6)
      yield* isWhole(history, 6, b)
      // both at once
      for (let seq = 7; seq <= 30; seq++) tell(balances(seq, seq))
      yield* eventually("all", () => a.seq() === 30 && b.seq() === 30)
      yield* isWhole(history, 30)
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
      yield* eventually("both go on", () => a.seq() === 41 && b.seq() === 41)
      assert.deepStrictEqual([a.streams.streamId(), b.streams.streamId()], ["e2-40", "e2-40"])
      assert.deepStrictEqual([a.streams.head(alice), b.streams.head(alice)], [1, 1])
      assert.strictEqual(b.state.commits, 0)
    })
  )
})

describe("a coordinator", () => {
  const at = (seq: number, began = 0) => ({ epoch: "e1", seq, began, ts_ms: 0 })
  const make = (history: Partial<History["Service"]>, leadership: { readonly term: () => number | undefined }) =>
    CommitCoordinator.make.pipe(
      Effect.provide(Layer.mock(History)(history)),
      Effect.provideService(Leadership, leadership),
      Effect.provide(Logger.layer([]))
    )

  it.effect("confirms again where the read model is, when it leads again after another gateway led", () =>
    Effect.gen(function* () {
      let standing = at(4)
      let term: number | undefined = 1
      const commits = yield* make({ position: Effect.sync(() => standing) }, { term: () => term })
      assert.isUndefined(yield* commits.turn(at(4), "e1"))
      // it stops between two reads of its term, and another gateway commits five events meanwhile
      term = 3
      standing = at(9)
      assert.strictEqual(yield* commits.turn(at(4), "e1"), 9)
      assert.isUndefined(yield* commits.turn(at(9), "e1"))
    })
  )

  it.effect("takes no refused commit for written after a rebuild within the same epoch", () =>
    Effect.gen(function* () {
      const projection = new Projecting({
        position: at(4),
        heads: [],
        candles: []
      }).next("e1", balances(5, 5))
      let position = at(5)
      const history = { commit: () => Effect.fail(new ProjectionRefused({ position })) }
      const commits = yield* make(history, { term: () => 1 })
      // an earlier try of the same commit came through
      yield* commits.commit(projection)
      // the model holds a higher seq, numbered from another beginning
      position = at(9, 8)
      const refused = yield* Effect.flip(commits.commit(projection))
      assert.deepStrictEqual(refused.position, position)
    })
  )
})
