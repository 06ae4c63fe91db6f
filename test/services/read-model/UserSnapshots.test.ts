import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { BackendHealth, type LinkState } from "../../../src/services/operations/BackendHealth.ts"
import { History, type LastRecord, type OrderQuery } from "../../../src/services/History.ts"
import { Referee } from "../../../src/services/Referee.ts"
import { WrittenHistory } from "../../../src/services/read-model/WrittenHistory.ts"
import { REPLAY_MAX, UserSnapshots } from "../../../src/services/read-model/UserSnapshots.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"

const well: LinkState = { connected: true, lag_events: 0, lag_ms: 0, unhealthy: false, unhealthy_for_ms: 0, age_ms: 0 }

const state = () => ({
  head: 3,
  stream_id: "s1",
  health: well,
  /** The state of the referee, if it is not that of the sequencer. */
  referee: undefined as LinkState | undefined,
  as_of_seq: 50,
  /** Positions of responses of the referee, by sub-account. */
  as_of: {} as Record<string, number>,
  accounts: [{ sub_account_address: "a", deleted: false }],
  records: [] as ReadonlyArray<LastRecord>,
  /** Whether a read contains what the user was shown. */
  isComplete: true,
  /** Whether the history holds what the user was shown, and the seq up to which it is written. */
  isWritten: true,
  written: 50,
  /** Rows of the list of open orders. */
  orders: 1_203,
  /** Sub-accounts of the last read of open orders. */
  selected: undefined as ReadonlyArray<string> | undefined,
  /** Called when rows are read. */
  onRead: () => {},
  /** Called when events are read. */
  onEvents: (): unknown => undefined,
  listeners: new Set<() => void>(),
  events: [1, 2, 3].map((seq) => ({ seq, topic: "order" }) as never)
})
type State = ReturnType<typeof state>

const live = (s: State) =>
  UserSnapshots.layer.pipe(
    Layer.provide([
      Layer.succeed(UserStreams, {
        streamId: () => s.stream_id,
        head: () => s.head,
        follow: (_, listener) => {
          const notify = () => listener([])
          s.listeners.add(notify)
          return () => void s.listeners.delete(notify)
        },
        onRestart: () => () => {}
      }),
      Layer.succeed(BackendHealth, {
        sequencer: () => s.health,
        referee: () => s.referee ?? s.health,
        sequencerProgress: () => {},
        refereeProgress: () => {},
        historyProgress: () => {},
        sequencerReports: () => {},
        reported: () => ({ refusing: [], warnings: [] }),
        sequencerLost: () => {},
        refereeLost: () => {},
        started: () => true
      }),
      Layer.mock(WrittenHistory)({
        user: () => Effect.sync(() => s.isWritten),
        reached: (seq) => Effect.sync(() => s.written >= seq),
        head: () => undefined,
        openOrders: ({ after, limit, sub_accounts }: OrderQuery) =>
          Effect.sync(() => {
            s.onRead()
            s.selected = sub_accounts
            const start = after?.id ?? 0
            const end = Math.min(start + limit, s.orders)
            const rows = Array.from({ length: end - start }, (_, i) => ({ order_id: String(start + i) }) as never)
            const next = end === s.orders ? undefined : { time: 0, id: end }
            return { rows: { rows, next }, isComplete: s.isComplete }
          }),
        lastRecords: (_, topic) =>
          Effect.sync(() => {
            s.onRead()
            return { rows: s.records.filter((record) => record.topic === topic), isComplete: s.isComplete }
          })
      }),
      Layer.mock(History)({
        subAccounts: () => Effect.sync(() => s.accounts as never),
        userEvents: (_, after, limit) =>
          Effect.sync(() => {
            s.onEvents()
            return s.events.filter(({ seq }) => seq > after).slice(0, limit)
          })
      }),
      Layer.mock(Referee)({
        account: (sub_account_address) =>
          Effect.sync(() => ({
            balances: [{ sub_account_address } as never],
            positions: [],
            as_of_seq: s.as_of[sub_account_address] ?? s.as_of_seq
          }))
      })
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

  it.effect("shows balances and open positions as of their last events", () => {
    const s = state()
    const of = { user_id: "u", sub_account_address: "a" }
    s.records = [
      { ...of, topic: "position", subject: "X", seq: 2, record: JSON.stringify({ ...of, size: "1", seq: 2 }) },
      { ...of, topic: "position", subject: "Y", seq: 1, record: JSON.stringify({ ...of, size: "0", seq: 1 }) },
      {
        ...of,
        topic: "account_balance",
        subject: "USDC",
        seq: 3,
        record: JSON.stringify({ ...of, equity: "5", seq: 3, reason: "trade" })
      }
    ]
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      const positions = yield* snapshots.take("u", "position", undefined)
      assert.deepStrictEqual(positions, { stream_id: "s1", seq: 3, list: [{ ...of, size: "1", seq: 2 } as never] })
      const balances = yield* snapshots.take("u", "account_balance", undefined)
      assert.deepStrictEqual(balances.list, [{ ...of, equity: "5", seq: 3 } as never])
      assert.deepStrictEqual((yield* snapshots.take("u", "position", new Set(["b"]))).list, [])
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("reads records without an event from the referee, once the read model has reached its response", () => {
    const s = state()
    s.as_of_seq = 51
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      const behind = yield* Effect.flip(snapshots.take("u", "account_balance", undefined))
      assert.strictEqual(behind.reason, "BackendLagging")
      s.written = 51
      const taken = yield* snapshots.take("u", "account_balance", undefined)
      assert.deepStrictEqual(taken.list, [{ sub_account_address: "a", seq: 0 } as never])
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("replays what is kept, all of it or nothing", () => {
    const s = state()
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      const seqs = (since: { readonly stream_id: string; readonly seq: number }) =>
        Effect.map(replay("u", since), (events) => events?.map(({ seq }) => seq))
      assert.deepStrictEqual(yield* seqs({ stream_id: "s1", seq: 1 }), [2, 3])
      assert.deepStrictEqual(yield* seqs({ stream_id: "s1", seq: 3 }), [])
      assert.isUndefined(yield* seqs({ stream_id: "s0", seq: 1 }))
      s.events.shift()
      assert.isUndefined(yield* seqs({ stream_id: "s1", seq: 0 }))
    }).pipe(Effect.provide(live(s)))
  })

  it.effect(`replays at most ${REPLAY_MAX} events`, () => {
    const s = state()
    s.head = REPLAY_MAX + 1
    s.events = Array.from({ length: s.head }, (_, i) => ({ seq: i + 1, topic: "order" }) as never)
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      assert.strictEqual((yield* replay("u", { stream_id: "s1", seq: 1 }))?.length, REPLAY_MAX)
      assert.isUndefined(yield* replay("u", { stream_id: "s1", seq: 0 }))
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("resumes where another gateway was a moment ahead, once its events are shown here", () => {
    const s = state()
    s.head = 1
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      const resuming = yield* Effect.forkChild(replay("u", { stream_id: "s1", seq: 3 }), { startImmediately: true })
      yield* TestClock.adjust("500 millis")
      assert.isUndefined(resuming.pollUnsafe())
      s.head = 3
      for (const listener of s.listeners) listener()
      assert.deepStrictEqual(yield* Fiber.join(resuming), [])
      assert.strictEqual(s.listeners.size, 0)
      assert.isUndefined(yield* replay("u", { stream_id: "s0", seq: 3 }))
      const never = yield* Effect.forkChild(replay("u", { stream_id: "s1", seq: 4 }), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* Fiber.join(never))
      assert.strictEqual(s.listeners.size, 0)
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("refuses a position that a gateway which catches up has not reached yet, instead of giving it up", () => {
    const s = state()
    s.health = { ...well, unhealthy: true, fault: "behind" }
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      const resume = Effect.fnUntraced(function* (seq: number) {
        const resuming = yield* Effect.forkChild(Effect.flip(replay("u", { stream_id: "s1", seq })), {
          startImmediately: true
        })
        yield* TestClock.adjust("1 second")
        return (yield* Fiber.join(resuming)).reason
      })
      assert.strictEqual(yield* resume(4), "BackendLagging")
      // before it has loaded anything, it has no stream
      s.stream_id = ""
      s.health = { ...s.health, connected: false, fault: "lost" }
      assert.strictEqual(yield* resume(3), "BackendUnavailable")
      s.health = well
      assert.isUndefined(yield* replay("u", { stream_id: "s1", seq: 3 }))
      // a numbering that is replaced while it waits is another one, which no wait brings back
      s.stream_id = "s1"
      s.health = { ...well, unhealthy: true, fault: "behind" }
      const replaced = yield* Effect.forkChild(replay("u", { stream_id: "s1", seq: 4 }), { startImmediately: true })
      s.stream_id = "s2"
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* Fiber.join(replaced))
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("names the position from before the read, for what was shown meanwhile may be missing", () => {
    const s = state()
    s.orders = 10
    s.onRead = () => void s.head++
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      for (const topic of ["position", "account_balance"] as const) {
        const before = s.head
        const { seq } = yield* snapshots.take("u", topic, undefined)
        assert.strictEqual(seq, before, topic)
        assert.isAbove(s.head, before)
      }
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("takes no snapshot and no replay that lack what the user was shown", () => {
    const s = state()
    s.isComplete = false
    s.isWritten = false
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      for (const topic of ["order", "position", "account_balance"] as const) {
        const error = yield* Effect.flip(snapshots.take("u", topic, undefined))
        assert.strictEqual(error.reason, "BackendUnavailable")
      }
      const error = yield* Effect.flip(snapshots.replay("u", { stream_id: "s1", seq: 1 }))
      assert.strictEqual(error.reason, "BackendUnavailable")
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("does not return data that the backend can no longer confirm", () => {
    const s = state()
    s.health = { ...well, connected: false, unhealthy: true, unhealthy_for_ms: 1 }
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      for (const topic of ["order", "execution", "position", "account_balance"] as const) {
        const error = yield* Effect.flip(snapshots.take("u", topic, undefined))
        assert.strictEqual(error.reason, "BackendUnavailable")
      }
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("lists no balance of a deleted sub-account", () => {
    const s = state()
    s.accounts = [
      { sub_account_address: "a", deleted: false },
      { sub_account_address: "b", deleted: true }
    ]
    return Effect.gen(function* () {
      const { list } = yield* (yield* UserSnapshots).take("u", "account_balance", undefined)
      assert.deepStrictEqual(list, [{ sub_account_address: "a", seq: 0 } as never])
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("waits for the latest of several responses of the referee", () => {
    const s = state()
    s.accounts = ["a", "b"].map((sub_account_address) => ({ sub_account_address, deleted: false }))
    s.as_of = { a: 51, b: 50 }
    return Effect.gen(function* () {
      const behind = yield* Effect.flip((yield* UserSnapshots).take("u", "account_balance", undefined))
      assert.strictEqual(behind.reason, "BackendLagging")
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("needs for each topic the backend of its records, and names a late one", () => {
    const s = state()
    const late = { ...well, unhealthy: true, fault: "behind" } as const
    const reasons = Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      return yield* Effect.forEach(["order", "execution", "position", "account_balance"] as const, (topic) =>
        Effect.match(snapshots.take("u", topic, undefined), {
          onSuccess: () => "taken",
          onFailure: ({ reason }) => reason
        })
      )
    }).pipe(Effect.provide(live(s)))
    return Effect.gen(function* () {
      s.referee = late
      assert.deepStrictEqual(yield* reasons, ["taken", "taken", "BackendLagging", "BackendLagging"])
      s.referee = well
      s.health = late
      assert.deepStrictEqual(yield* reasons, ["BackendLagging", "BackendLagging", "taken", "taken"])
      s.health = { ...late, fault: "stalled" }
      assert.deepStrictEqual(yield* reasons, ["BackendUnavailable", "BackendUnavailable", "taken", "taken"])
    })
  })

  it.effect("resumes nothing of a numbering that ends while it waits or reads", () => {
    const s = state()
    s.head = 1
    s.events = [1, 2, 3, 4].map((seq) => ({ seq, topic: "order" }) as never)
    return Effect.gen(function* () {
      const { replay } = yield* UserSnapshots
      const waiting = yield* Effect.forkChild(replay("u", { stream_id: "s1", seq: 3 }), { startImmediately: true })
      s.stream_id = "s2"
      s.head = 4
      for (const listener of s.listeners) listener()
      assert.isUndefined(yield* Fiber.join(waiting))
      s.onEvents = () => (s.stream_id = "s3")
      assert.isUndefined(yield* replay("u", { stream_id: "s2", seq: 1 }))
    }).pipe(Effect.provide(live(s)))
  })

  it.effect("reads the open orders of a bound credential only for its sub-accounts", () => {
    const s = state()
    s.orders = 1
    return Effect.gen(function* () {
      const snapshots = yield* UserSnapshots
      yield* snapshots.take("u", "order", new Set(["a", "b"]))
      assert.deepStrictEqual(s.selected, ["a", "b"])
      yield* snapshots.take("u", "order", undefined)
      assert.isUndefined(s.selected)
    }).pipe(Effect.provide(live(s)))
  })
})
