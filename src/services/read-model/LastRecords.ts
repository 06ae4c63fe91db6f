/**
 * Policy: positions and balances as of their last events. REST, snapshots and the private topics read the same
 * records, so equal `seq` means equal fields, including times.
 *
 * A position or balance without an event in this stream (a new sub-account, an unused market) has no record. The
 * referee then supplies its state, with `seq` 0, unless an event has arrived up to the position of the referee's
 * response.
 * Source: docs/contract/websocket.md#private-topics, docs/contract/conventions.md#updated-time.
 */
import { Effect, Schema } from "effect"
import type { Balance, BalanceState } from "../../domain/Account.ts"
import type { Position } from "../../domain/Position.ts"
import type { HistoryUnavailable, LastRecord } from "../History.ts"
import { Referee, type RefereeError } from "../Referee.ts"
import { type Shown, WrittenHistory } from "./WrittenHistory.ts"

/** The read model did not reach the position of the referee's response in time. */
export class RecordsBehind extends Schema.TaggedError<RecordsBehind>()("RecordsBehind", {}) {}

/** Attempts, and the pause between them in ms, to see a record change. */
const READS_MAX = 20
const PAUSE_MS = 50

/** Why records cannot be read. */
export type Failure = HistoryUnavailable | RefereeError | RecordsBehind

/** Records, and whether they contain all that this gateway had shown of the user when the read began. */
export interface Records<A> {
  readonly records: ReadonlyArray<A>
  readonly isComplete: boolean
}

export interface LastRecords {
  /** Open positions of a user. */
  readonly open: (user_id: string) => Effect.Effect<Records<Position>, HistoryUnavailable>
  /** Positions of sub-accounts in a market, one per sub-account, flat or not. */
  readonly positions: (
    user_id: string,
    addresses: ReadonlyArray<string>,
    symbol: string
  ) => Effect.Effect<Records<Position>, Failure>
  /** All balances of sub-accounts. */
  readonly balances: (user_id: string, addresses: ReadonlyArray<string>) => Effect.Effect<Records<Balance>, Failure>
  /** Open positions of a user, and all balances of sub-accounts, of one moment. */
  readonly holdings: (
    user_id: string,
    addresses: ReadonlyArray<string>
  ) => Effect.Effect<{ readonly open: ReadonlyArray<Position>; readonly balances: ReadonlyArray<Balance> }, Failure>
  /** Waits for the record of a position that includes a change at a time, Unix ms. */
  readonly since: (
    user_id: string,
    at: { readonly sub_account_address: string; readonly symbol: string; readonly updated_time: number }
  ) => Effect.Effect<Position, HistoryUnavailable | RecordsBehind>
}

interface Owned {
  readonly sub_account_address: string
}
type Rows = Effect.Effect<Shown<ReadonlyArray<LastRecord>>, HistoryUnavailable>

const positionsIn = (rows: ReadonlyArray<LastRecord>): ReadonlyArray<Position> =>
  rows.filter(({ topic }) => topic === "position").map(({ record }) => JSON.parse(record) as Position)
const openIn = (rows: ReadonlyArray<LastRecord>): ReadonlyArray<Position> =>
  positionsIn(rows).filter(({ size }) => size !== "0")
const balancesIn = (rows: ReadonlyArray<LastRecord>): ReadonlyArray<Balance> =>
  rows
    .filter(({ topic }) => topic === "account_balance")
    .map(({ record }) => {
      const { reason: _, ...balance } = JSON.parse(record) as Balance & { readonly reason?: string }
      return balance
    })

/** Repeats a read until it has a result. */
export const untilFound = Effect.fnUntraced(function* <A, E>(
  read: Effect.Effect<A | undefined, E>
): Effect.fn.Return<A, E | RecordsBehind> {
  for (let reads = 0; reads < READS_MAX; reads++) {
    const found = yield* read
    if (found !== undefined) return found
    yield* Effect.sleep(PAUSE_MS)
  }
  return yield* new RecordsBehind()
})

export const make: Effect.Effect<LastRecords, never, WrittenHistory | Referee> = Effect.gen(function* () {
  const referee = yield* Referee
  const written = yield* WrittenHistory

  const reached = (seq: number): Effect.Effect<void, RecordsBehind> =>
    Effect.flatMap(written.reached(seq), (isReached) => (isReached ? Effect.void : new RecordsBehind()))

  /** Rows of a user, and of them the records of sub-accounts; the referee supplies the missing ones. */
  const complete = Effect.fnUntraced(function* <A extends Owned>(
    addresses: ReadonlyArray<string>,
    read: Rows,
    recordsOf: (rows: ReadonlyArray<LastRecord>) => ReadonlyArray<A>,
    readMissing: (
      missing: ReadonlyArray<string>
    ) => Effect.Effect<{ readonly records: ReadonlyArray<A>; readonly as_of_seq: number }, RefereeError>
  ): Effect.fn.Return<Records<A> & { readonly rows: ReadonlyArray<LastRecord> }, Failure> {
    const wanted = new Set(addresses)
    const known = Effect.map(read, ({ isComplete, rows }) => {
      const records = recordsOf(rows).filter(({ sub_account_address }) => wanted.has(sub_account_address))
      const found = new Set(records.map(({ sub_account_address }) => sub_account_address))
      return { rows, isComplete, records, missing: addresses.filter((address) => !found.has(address)) }
    })
    const first = yield* known
    if (first.missing.length === 0) return first
    const answer = yield* readMissing(first.missing)
    yield* reached(answer.as_of_seq)
    const { isComplete, missing, records, rows } = yield* known
    const supplied = answer.records.filter(({ sub_account_address }) => missing.includes(sub_account_address))
    // the first read has seen all that was shown before it, and so has the second
    return { rows, isComplete: isComplete && first.isComplete, records: [...records, ...supplied] }
  })

  const completeBalances = (addresses: ReadonlyArray<string>, read: Rows) =>
    complete(addresses, read, balancesIn, (missing) =>
      Effect.map(
        Effect.forEach(missing, (address) => referee.account(address), { concurrency: 4 }),
        (accounts) => ({
          as_of_seq: Math.max(...accounts.map(({ as_of_seq }) => as_of_seq)),
          records: accounts.flatMap(({ balances }: { readonly balances: ReadonlyArray<BalanceState> }) =>
            balances.map((balance) => ({ ...balance, seq: 0 }))
          )
        })
      )
    )

  return {
    open: (user_id) =>
      Effect.map(written.lastRecords(user_id, "position"), ({ isComplete, rows }) => ({
        records: openIn(rows),
        isComplete
      })),
    positions: (user_id, addresses, symbol) =>
      complete(
        addresses,
        written.lastRecords(user_id, "position"),
        (rows) => positionsIn(rows).filter((position) => position.symbol === symbol),
        () =>
          Effect.map(
            referee.positions({ user_id, sub_account_address: undefined, symbol }),
            ({ as_of_seq, positions }) => ({
              as_of_seq,
              records: positions.map((position) => ({ ...position, seq: 0 }))
            })
          )
      ),
    balances: (user_id, addresses) => completeBalances(addresses, written.lastRecords(user_id, "account_balance")),
    holdings: (user_id, addresses) =>
      Effect.map(completeBalances(addresses, written.lastRecords(user_id)), ({ records, rows }) => ({
        open: openIn(rows),
        balances: records
      })),
    since: (user_id, { sub_account_address, symbol, updated_time }) =>
      untilFound(
        Effect.map(written.lastRecords(user_id, "position"), ({ rows }) =>
          positionsIn(rows).find(
            (position) =>
              position.sub_account_address === sub_account_address &&
              position.symbol === symbol &&
              position.updated_time >= updated_time
          )
        )
      )
  }
})
