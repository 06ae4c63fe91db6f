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
import type { HistoryUnavailable } from "../History.ts"
import { Referee, type RefereeUnavailable } from "../Referee.ts"
import { WrittenHistory } from "./WrittenHistory.ts"

/** The read model did not reach the position of the referee's response in time. */
export class RecordsBehind extends Schema.TaggedError<RecordsBehind>()("RecordsBehind", {}) {}

/** Attempts, and the pause between them in ms, to see a record change. */
const READS_MAX = 20
const PAUSE_MS = 50

type Failure = HistoryUnavailable | RefereeUnavailable | RecordsBehind

/** The reads do not wait for what was shown: their callers have waited. */
export interface LastRecords {
  /** Open positions of a user. */
  readonly open: (user_id: string) => Effect.Effect<ReadonlyArray<Position>, HistoryUnavailable>
  /** Positions of sub-accounts in a market, one per sub-account, flat or not. */
  readonly positions: (
    user_id: string,
    addresses: ReadonlyArray<string>,
    symbol: string
  ) => Effect.Effect<ReadonlyArray<Position>, Failure>
  /** All balances of sub-accounts. */
  readonly balances: (
    user_id: string,
    addresses: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<Balance>, Failure>
  /** Waits for the record of a position that includes a change at a time, Unix ms. */
  readonly since: (
    user_id: string,
    at: { readonly sub_account_address: string; readonly symbol: string; readonly updated_time: number }
  ) => Effect.Effect<Position, HistoryUnavailable | RecordsBehind>
}

interface Owned {
  readonly sub_account_address: string
}

export const make: Effect.Effect<LastRecords, never, WrittenHistory | Referee> = Effect.gen(function* () {
  const referee = yield* Referee
  const written = yield* WrittenHistory

  /** Repeats a read until it has a result. */
  const untilFound = Effect.fnUntraced(function* <A>(
    read: Effect.Effect<A | undefined, HistoryUnavailable>
  ): Effect.fn.Return<A, HistoryUnavailable | RecordsBehind> {
    for (let reads = 0; reads < READS_MAX; reads++) {
      const found = yield* read
      if (found !== undefined) return found
      yield* Effect.sleep(PAUSE_MS)
    }
    return yield* new RecordsBehind()
  })
  const reached = (seq: number): Effect.Effect<void, RecordsBehind> =>
    Effect.flatMap(written.reached(seq), (isReached) => (isReached ? Effect.void : new RecordsBehind()))

  /** Records of sub-accounts; the referee supplies the missing ones. */
  const complete = Effect.fnUntraced(function* <A extends Owned>(
    addresses: ReadonlyArray<string>,
    read: Effect.Effect<ReadonlyArray<A>, HistoryUnavailable>,
    readMissing: (
      missing: ReadonlyArray<string>
    ) => Effect.Effect<{ readonly records: ReadonlyArray<A>; readonly as_of_seq: number }, RefereeUnavailable>
  ): Effect.fn.Return<ReadonlyArray<A>, Failure> {
    const wanted = new Set(addresses)
    const known = Effect.map(read, (records) =>
      records.filter(({ sub_account_address }) => wanted.has(sub_account_address))
    )
    const missing = (records: ReadonlyArray<A>) => {
      const found = new Set(records.map(({ sub_account_address }) => sub_account_address))
      return addresses.filter((address) => !found.has(address))
    }
    const first = yield* known
    const without = missing(first)
    if (without.length === 0) return first
    const answer = yield* readMissing(without)
    yield* reached(answer.as_of_seq)
    const records = yield* known
    const still = new Set(missing(records))
    return [...records, ...answer.records.filter(({ sub_account_address }) => still.has(sub_account_address))]
  })

  const positionsOf = (user_id: string) =>
    Effect.map(written.lastRecords(user_id, "position"), (rows) =>
      rows.map(({ record }) => JSON.parse(record) as Position)
    )
  const balancesOf = (user_id: string) =>
    Effect.map(written.lastRecords(user_id, "account_balance"), (rows) =>
      rows.map(({ record }) => {
        const { reason: _, ...balance } = JSON.parse(record) as Balance & { readonly reason?: string }
        return balance
      })
    )

  return {
    open: (user_id) => Effect.map(positionsOf(user_id), (positions) => positions.filter(({ size }) => size !== "0")),
    positions: (user_id, addresses, symbol) =>
      complete(
        addresses,
        Effect.map(positionsOf(user_id), (positions) => positions.filter((position) => position.symbol === symbol)),
        () =>
          Effect.map(
            referee.positions({ user_id, sub_account_address: undefined, symbol }),
            ({ as_of_seq, positions }) => ({
              as_of_seq,
              records: positions.map((position) => ({ ...position, seq: 0 }))
            })
          )
      ),
    balances: (user_id, addresses) =>
      complete(addresses, balancesOf(user_id), (missing) =>
        Effect.map(
          Effect.forEach(missing, (address) => referee.account(address), { concurrency: 4 }),
          (accounts) => ({
            as_of_seq: Math.max(...accounts.map(({ as_of_seq }) => as_of_seq)),
            records: accounts.flatMap(({ balances }: { readonly balances: ReadonlyArray<BalanceState> }) =>
              balances.map((balance) => ({ ...balance, seq: 0 }))
            )
          })
        )
      ),
    since: (user_id, { sub_account_address, symbol, updated_time }) =>
      untilFound(
        Effect.map(Effect.andThen(written.user(user_id), positionsOf(user_id)), (positions) =>
          positions.find(
            (position) =>
              position.sub_account_address === sub_account_address &&
              position.symbol === symbol &&
              position.updated_time >= updated_time
          )
        )
      )
  }
})
