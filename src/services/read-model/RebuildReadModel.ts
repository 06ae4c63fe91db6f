/**
 * Rebuilds the read model when the event stream cannot be resumed at its position. The leader rebuilds it, the other gateways
 * load the result.
 *
 * A backend on another history (after a restore) that still has all its events: all rows are deleted, and the events are read
 * from the first one on. A backend that no longer has the events gives open orders, balances and positions, and the numbering
 * begins there; the histories stay.
 */
import { Effect, Schema } from "effect"
import type { ModelPosition } from "../../domain/Projection.ts"
import * as RecordJson from "../../domain/RecordJson.ts"
import type { SubAccountState } from "../../domain/User.ts"
import type { LastRecord } from "../History.ts"
import { Referee } from "../Referee.ts"
import { Sequencer } from "../Sequencer.ts"
import type { HistoryWriter } from "./HistoryWriter.ts"

/** Sub-accounts read concurrently. */
const ACCOUNTS_READ = 8

/** The epoch of the sequencer changed during the rebuild. */
export class EpochChanged extends Schema.TaggedError<EpochChanged>()("EpochChanged", {}) {}

/** Balances and open positions of a sub-account, from the referee. */
const recordsOf = ({ sub_account_address, user_id }: SubAccountState) =>
  Effect.gen(function* () {
    const referee = yield* Referee
    const { balances, positions } = yield* referee.account(sub_account_address)
    const owner = { user_id, sub_account_address, seq: 0 } as const
    const records: ReadonlyArray<LastRecord> = [
      ...balances.map((balance) => {
        const record = JSON.stringify({ ...balance, seq: 0 })
        return { ...owner, topic: "account_balance" as const, subject: balance.asset, record }
      }),
      ...positions.map((position) => {
        const record = RecordJson.position(position, 0)
        return { ...owner, topic: "position" as const, subject: position.symbol, record }
      })
    ]
    return records
  })

/** The model begins again from the state of the backend. Returns the head of the sequencer. */
const restartModel = (
  writer: HistoryWriter["Service"],
  position: ModelPosition | undefined,
  streamOf: (fork: string | undefined, seq: number) => string | undefined,
  why: string
) =>
  Effect.gen(function* () {
    const sequencer = yield* Sequencer
    const before = yield* sequencer.head
    const open = yield* sequencer.openOrders
    const subAccounts = yield* sequencer.subAccounts(undefined)
    const instruments = yield* sequencer.instruments
    const records = yield* Effect.forEach(
      subAccounts.filter(({ deleted }) => !deleted),
      recordsOf,
      { concurrency: ACCOUNTS_READ }
    )
    const after = yield* sequencer.head
    if (before.epoch !== after.epoch) return yield* new EpochChanged()
    const stream = streamOf(after.fork, open.as_of_seq)
    const start: ModelPosition = {
      epoch: after.epoch,
      seq: open.as_of_seq,
      began: open.as_of_seq,
      // engine time, as of an event, and not after later events: a day of rewards is over by it
      ts_ms: before.server_ts_ms,
      ...(after.fork !== undefined && { fork: after.fork }),
      ...(stream !== undefined && { stream })
    }
    yield* writer.stored
      .restart(position, start, {
        orders: open.orders.map(({ user_id, order }) => ({ user_id, order, record: RecordJson.order(order) })),
        subAccounts,
        instruments,
        records: records.flat()
      })
      .pipe(
        Effect.andThen(Effect.logWarning(why).pipe(Effect.annotateLogs({ epoch: start.epoch, seq: start.seq }))),
        // another gateway was first
        Effect.catchTag("ProjectionRefused", () => Effect.void)
      )
    return after.head_seq
  })

/**
 * Rebuilds the model once all that was shown is written. Returns the head of the sequencer; `undefined` if another gateway
 * leads or has rebuilt the model.
 */
export const rebuildReadModel = (writer: HistoryWriter["Service"], position: ModelPosition | undefined) =>
  Effect.gen(function* () {
    if (!(yield* writer.settle)) return undefined
    return yield* restartModel(
      writer,
      position,
      (fork, seq) => (fork === undefined ? undefined : `${fork}-${seq}`),
      "the event stream no longer retains the position of the read model: it was rebuilt"
    )
  }).pipe(Effect.catchTag("Superseded", () => Effect.undefined))

/** The position before the first event of a history. Its fork is named, because a copy of the stream may have events of several. */
const beforeFirst = (epoch: string, fork: string | undefined, stream: string | undefined): ModelPosition => ({
  epoch,
  seq: 0,
  began: 0,
  ts_ms: 0,
  ...(fork !== undefined && { fork }),
  ...(stream !== undefined && { stream })
})

/**
 * Leaves the history of the read model for that of the backend. Rows are deleted only where the backend can send every event
 * again. Returns the head to reach, as {@link rebuildReadModel}.
 */
export const changeHistory = (writer: HistoryWriter["Service"], position: ModelPosition) =>
  Effect.gen(function* () {
    const sequencer = yield* Sequencer
    if (!(yield* writer.settle)) return undefined
    const { epoch, first_seq, fork, head_seq } = yield* sequencer.head
    const isComplete = first_seq === 1
    yield* Effect.logError(
      "the backend is on another history than the read model, as after a restore: " +
        (isComplete
          ? "the read model is built again from its first event"
          : "it no longer has its first events, so open orders, balances and positions are read again, and the histories may contain records of the former history")
    ).pipe(
      Effect.annotateLogs({ epoch, fork, head_seq, first_seq, former_fork: position.fork, former_seq: position.seq })
    )
    if (!isComplete) return yield* rebuildReadModel(writer, position)
    // positions of the other history must not be resumed
    const start = beforeFirst(epoch, fork, `${fork ?? epoch}-0`)
    // refused: another gateway was first
    yield* writer.stored.clear(position, start).pipe(Effect.catchTag("ProjectionRefused", () => Effect.void))
    return 0
  }).pipe(Effect.catchTag("Superseded", () => Effect.undefined))

/**
 * Replaces a read model of an older version, which the gateways of that version no longer write. Its rows are deleted only
 * where the backend can send every event again. Returns the head to reach.
 */
export const upgradeReadModel = (writer: HistoryWriter["Service"], position: ModelPosition, version: number) =>
  Effect.gen(function* () {
    const sequencer = yield* Sequencer
    const { epoch, first_seq, fork, head_seq } = yield* sequencer.head
    const isComplete = first_seq === 1 && epoch === position.epoch
    const streamOf = (of: string | undefined, seq: number) => `${of ?? epoch}-${seq}-v${version}`
    yield* Effect.logWarning(
      `the read model has version ${position.version}, this gateway has version ${version}: ` +
        (isComplete
          ? "it is built again from the first event"
          : "the backend no longer has the first events, so open orders, balances and positions are read again, and the histories stay as the older version wrote them")
    ).pipe(Effect.annotateLogs({ epoch, fork, head_seq, first_seq, former_seq: position.seq }))
    if (!isComplete)
      return yield* restartModel(writer, position, streamOf, "open orders, balances and positions were read")
    const start = beforeFirst(epoch, fork, streamOf(fork, 0))
    // refused: another gateway was first
    yield* writer.stored.clear(position, start).pipe(Effect.catchTag("ProjectionRefused", () => Effect.void))
    return 0
  })
