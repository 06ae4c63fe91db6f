/** A read model that begins anew: from the first event where the backend has it, otherwise from the state of the backend. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import type { ModelPosition } from "../../../src/domain/Projection.ts"
import type { SubAccountState } from "../../../src/domain/User.ts"
import { type OpenState, ProjectionRefused } from "../../../src/services/History.ts"
import { type HistoryWriter, Superseded } from "../../../src/services/read-model/HistoryWriter.ts"
import {
  changeHistory,
  EpochChanged,
  rebuildReadModel,
  upgradeReadModel
} from "../../../src/services/read-model/RebuildReadModel.ts"
import { Referee } from "../../../src/services/Referee.ts"
import { Sequencer } from "../../../src/services/Sequencer.ts"
import { instrument, order, userOf, uuid } from "../../../verification/harness/Records.ts"
import { flat } from "../../http/Fixture.ts"

const alice = userOf(1)
const accountOf = (index: number, deleted: boolean): SubAccountState => ({
  sub_account_address: alice.account(index),
  user_id: alice.user_id,
  root_address: "root",
  index,
  frozen: false,
  deleted,
  created_time: 1
})
/** Engine time before the first read. The clock of the gateway is ahead of it. */
const ENGINE_MS = 900
const former: ModelPosition = { epoch: "e1", seq: 30, began: 0, ts_ms: 5, fork: "f1", version: 1 }

interface Head {
  readonly epoch: string
  readonly head_seq: number
  readonly first_seq: number
  readonly fork?: string
  readonly server_ts_ms?: number
}
type Write = readonly [kind: "restart" | "clear", after: unknown, position: ModelPosition, open?: OpenState]

/** A backend with one open order and two sub-accounts, one of them deleted; its head moves while it is read. */
const setting = (
  head: Head,
  options: {
    readonly after?: Head
    readonly settle?: HistoryWriter["Service"]["settle"]
    readonly isRefused?: boolean
  } = {}
) => {
  const writes: Array<Write> = []
  const read: Array<string> = []
  const logged: Array<string> = []
  let heads = 0
  const write = (...one: Write) =>
    Effect.suspend(() => {
      writes.push(one)
      return options.isRefused === true ? Effect.fail(new ProjectionRefused({ position: undefined })) : Effect.void
    })
  const writer = {
    settle: options.settle ?? Effect.succeed(true),
    stored: {
      restart: (after: unknown, position: ModelPosition, open: OpenState) => write("restart", after, position, open),
      clear: (after: unknown, position: ModelPosition) => write("clear", after, position)
    }
  } as unknown as HistoryWriter["Service"]
  const backend = Layer.merge(
    Layer.mock(Sequencer)({
      commands_down_ms: () => 0,
      head: Effect.sync(() => ({
        server_ts_ms: ENGINE_MS,
        ...(heads++ === 0 ? head : (options.after ?? head))
      })) as never,
      openOrders: Effect.succeed({
        orders: [{ user_id: alice.user_id, order: order({ order_id: uuid(7) }) }],
        as_of_seq: 40
      }),
      subAccounts: () => Effect.succeed([accountOf(0, false), accountOf(1, true)]),
      instruments: Effect.succeed([instrument()])
    }),
    Layer.mock(Referee)({
      account: (address: string) =>
        Effect.sync(() => {
          read.push(address)
          return {
            balances: [{ asset: "USDC", wallet_balance: "9" }],
            positions: [{ ...flat, sub_account_address: address }]
          } as never
        })
    })
  )
  const logger = Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  const run = <A, E>(effect: Effect.Effect<A, E, Sequencer | Referee>) =>
    Effect.andThen(TestClock.setTime(1_000), Effect.provide(effect, [backend, logger]))
  return { writes, read, logged, writer, run }
}

const head: Head = { epoch: "e2", head_seq: 41, first_seq: 12, fork: "f2" }
const later: Head = { ...head, head_seq: 44, server_ts_ms: ENGINE_MS + 50 }
const restarted: ModelPosition = { epoch: "e2", seq: 40, began: 40, ts_ms: ENGINE_MS, fork: "f2", stream: "f2-40" }

describe("a rebuild of the read model", () => {
  it.effect("begins at the position of the open orders, with the state of all sub-accounts that exist", () => {
    const { read, run, writer, writes } = setting(head, { after: later })
    return Effect.gen(function* () {
      assert.strictEqual(yield* run(rebuildReadModel(writer, former)), 44)
      const [[kind, after, position, open] = [], ...more] = writes
      assert.deepStrictEqual([kind, after, position, more], ["restart", former, restarted, []])
      assert.deepStrictEqual(read, [alice.account(0)])
      assert.deepStrictEqual(
        open!.records.map(({ record, subject, topic, ...owner }) => [topic, subject, JSON.parse(record).seq, owner]),
        [
          ["account_balance", "USDC", 0, { user_id: alice.user_id, sub_account_address: alice.account(0), seq: 0 }],
          ["position", flat.symbol, 0, { user_id: alice.user_id, sub_account_address: alice.account(0), seq: 0 }]
        ]
      )
      assert.deepStrictEqual(
        open!.orders.map((row) => [row.user_id, row.order.order_id, JSON.parse(row.record).order_id]),
        [[alice.user_id, uuid(7), uuid(7)]]
      )
      // deleted ones stay known
      assert.deepStrictEqual(
        open!.subAccounts.map(({ deleted, index }) => [index, deleted]),
        [
          [0, false],
          [1, true]
        ]
      )
      assert.lengthOf(open!.instruments, 1)
    })
  })

  it.effect("has no stream of its own where the backend has no forks", () => {
    const { run, writer, writes } = setting({ epoch: "e2", head_seq: 41, first_seq: 12 })
    return Effect.gen(function* () {
      yield* run(rebuildReadModel(writer, undefined))
      assert.deepStrictEqual(writes[0]!.slice(1, 3), [undefined, { epoch: "e2", seq: 40, began: 40, ts_ms: ENGINE_MS }])
    })
  })

  it.effect("writes nothing where the epoch changes meanwhile, or another gateway leads", () =>
    Effect.gen(function* () {
      const changed = setting(head, { after: { ...later, epoch: "e3" } })
      assert.instanceOf(yield* Effect.flip(changed.run(rebuildReadModel(changed.writer, former))), EpochChanged)
      assert.deepStrictEqual(changed.writes, [])
      for (const settle of [Effect.succeed(false), Effect.fail(new Superseded({ message: "" }))])
        for (const rebuild of [rebuildReadModel, changeHistory]) {
          const other = setting({ ...head, first_seq: 1 }, { settle })
          assert.isUndefined(yield* other.run(rebuild(other.writer, former)))
          assert.deepStrictEqual(other.writes, [])
        }
    })
  )

  it.effect("continues where another gateway was first", () => {
    const { run, writer, writes } = setting(head, { after: later, isRefused: true })
    return Effect.gen(function* () {
      assert.strictEqual(yield* run(rebuildReadModel(writer, former)), 44)
      assert.lengthOf(writes, 1)
    })
  })
})

describe("a backend on another history", () => {
  it.effect("is read from its first event on, under a stream of its own, if it has that event", () =>
    Effect.gen(function* () {
      for (const [at, start] of [
        // a copy of the stream may have events of both histories
        [
          { ...head, first_seq: 1 },
          { fork: "f2", stream: "f2-0" }
        ],
        [{ epoch: "e2", head_seq: 41, first_seq: 1 }, { stream: "e2-0" }]
      ] as const)
        for (const isRefused of [false, true]) {
          const { logged, run, writer, writes } = setting(at, { isRefused })
          assert.strictEqual(yield* run(changeHistory(writer, former)), 0)
          assert.include(logged[0], "the read model is built again from its first event")
          assert.deepStrictEqual(writes, [["clear", former, { epoch: "e2", seq: 0, began: 0, ts_ms: 0, ...start }]])
        }
    })
  )

  it.effect("is read at its present state if it lacks its first event", () => {
    const { logged, run, writer, writes } = setting({ ...head, first_seq: 2 })
    return Effect.gen(function* () {
      assert.strictEqual(yield* run(changeHistory(writer, former)), 41)
      assert.include(logged[0], "it no longer has its first events")
      assert.deepStrictEqual(writes[0]!.slice(0, 3), ["restart", former, restarted])
    })
  })
})

describe("a read model of an older version", () => {
  const upgraded = (at: Head, says: string) => {
    const { logged, run, writer, writes } = setting(at)
    return Effect.map(run(upgradeReadModel(writer, former, 7)), (reached) => {
      assert.include(logged[0], says)
      return [reached, writes.map(([kind, after, position]) => [kind, after, position])]
    })
  }

  it.effect("is built again from the first event of the same epoch", () =>
    Effect.gen(function* () {
      const start = { epoch: "e1", seq: 0, began: 0, ts_ms: 0 }
      const says = "it is built again from the first event"
      assert.deepStrictEqual(yield* upgraded({ ...head, epoch: "e1", first_seq: 1 }, says), [
        0,
        [["clear", former, { ...start, fork: "f2", stream: "f2-0-v7" }]]
      ])
      assert.deepStrictEqual(yield* upgraded({ epoch: "e1", head_seq: 41, first_seq: 1 }, says), [
        0,
        [["clear", former, { ...start, stream: "e1-0-v7" }]]
      ])
    })
  )

  it.effect("begins at the present state of another epoch, or of a backend without its first event", () =>
    Effect.gen(function* () {
      for (const first_seq of [1, 2])
        assert.deepStrictEqual(yield* upgraded({ ...head, first_seq }, "the backend no longer has the first events"), [
          41,
          [["restart", former, { ...restarted, stream: "f2-40-v7" }]]
        ])
    })
  )
})
