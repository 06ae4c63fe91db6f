import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { BackendHealth, type LinkState } from "../../src/services/BackendHealth.ts"
import { History, type OrderQuery } from "../../src/services/History.ts"
import { Referee } from "../../src/services/Referee.ts"
import { UserSnapshots } from "../../src/services/UserSnapshots.ts"
import { UserStreams } from "../../src/services/UserStreams.ts"

const well: LinkState = { connected: true, lag_events: 0, lag_ms: 0, ill: false, ill_for_ms: 0, age_ms: 0 }

const state = () => ({
  head: 3,
  stream_id: "s1",
  health: well,
  as_of_seq: 100,
  told: 50,
  /** Rows of the list of open orders. */
  orders: 1_203,
  onRead: () => {},
  events: [1, 2, 3].map((seq) => ({ seq, topic: "order" }) as never)
})
type State = ReturnType<typeof state>

const live = (s: State) =>
  UserSnapshots.layer.pipe(
    Layer.provide([
      Layer.succeed(UserStreams, {
        streamId: () => s.stream_id,
        head: () => s.head,
        follow: () => () => {},
        onRestart: () => () => {}
      }),
      Layer.succeed(BackendHealth, {
        sequencer: () => s.health,
        referee: () => s.health,
        sawSequencer: () => {},
        sawReferee: () => {},
        sequencerRefuses: () => {},
        refusing: () => [],
        lostSequencer: () => {},
        lostReferee: () => {},
        started: () => true
      }),
      Layer.mock(History)({
        position: Effect.sync(() => ({ epoch: "e", seq: s.told, began: 0, ts_ms: 0 })),
        orders: ({ after, limit }: OrderQuery) =>
          Effect.sync(() => {
            s.onRead()
            const start = after?.id ?? 0
            const end = Math.min(start + limit, s.orders)
            const rows = Array.from({ length: end - start }, (_, i) => ({ order_id: String(start + i) }) as never)
            return { rows, next: end === s.orders ? undefined : { time: 0, id: end } }
          }),
        lastSeqs: () => Effect.succeed(new Map()),
        userEvents: (_, after, limit) => Effect.succeed(s.events.filter(({ seq }) => seq > after).slice(0, limit))
      }),
      Layer.mock(Referee)({ positions: () => Effect.sync(() => ({ positions: [], as_of_seq: s.as_of_seq })) })
    ])
  )

describe("UserSnapshots", () => {
  it.effect("reads all open orders, page by page, and again when something happened meanwhile", () => {
    const s = state()
    let reads = 0
    s.onRead = () => {
      if (++reads === 2) s.head++
    }
    return Effect.gen(function* () {
      const { list, seq } = yield* (yield* UserSnapshots).take("u", "order", undefined)
      assert.deepStrictEqual([list.length, seq, reads], [1_203, 4, 6])
      // where it never rests, the position from before the read holds: the list has it all, and a little more
      s.onRead = () => void s.head++
      const busy = yield* (yield* UserSnapshots).take("u", "order", undefined)
      assert.strictEqual(busy.seq, s.head - 3)
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("waits for a referee that lies behind what was told, and gives up", () => {
    const s = state()
    s.as_of_seq = 49
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      const taking = yield* Effect.forkChild(snapshots.take("u", "position", undefined), { startImmediately: true })
      yield* TestClock.adjust("200 millis")
      assert.isUndefined(taking.pollUnsafe())
      s.as_of_seq = 50
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(taking)).seq, 3)
      s.told = 51
      const behind = yield* Effect.forkChild(Effect.flip(snapshots.take("u", "position", undefined)), {
        startImmediately: true
      })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(behind)).reason, "BackendLagging")
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("replays what is kept, all of it or nothing", () => {
    const s = state()
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      const seqs = (since: { readonly stream_id: string | undefined; readonly seq: number }) =>
        Effect.map(replay("u", since), (events) => events?.map(({ seq }) => seq))
      assert.deepStrictEqual(yield* seqs({ stream_id: "s1", seq: 1 }), [2, 3])
      assert.deepStrictEqual(yield* seqs({ stream_id: undefined, seq: 3 }), [])
      assert.isUndefined(yield* seqs({ stream_id: "s0", seq: 1 }))
      assert.isUndefined(yield* seqs({ stream_id: "s1", seq: 4 }))
      s.events.shift()
      assert.isUndefined(yield* seqs({ stream_id: "s1", seq: 0 }))
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("resumes where another gateway of the fleet was a moment ahead, and not where none ever was", () => {
    const s = state()
    s.head = 1
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      assert.deepStrictEqual(yield* replay("u", { stream_id: "s1", seq: 3 }), [])
      assert.isUndefined(yield* replay("u", { stream_id: "s0", seq: 3 }))
      assert.isUndefined(yield* replay("u", { stream_id: "s1", seq: 4 }))
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("does not tell what the backend can no longer confirm", () => {
    const s = state()
    s.health = { ...well, connected: false, ill: true, ill_for_ms: 1 }
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      for (const topic of ["order", "execution", "position", "account_balance"] as const) {
        const error = yield* Effect.flip(snapshots.take("u", topic, undefined))
        assert.strictEqual(error.reason, "BackendUnavailable")
      }
    }).pipe(Effect.provide(live(s)))
  })
})
