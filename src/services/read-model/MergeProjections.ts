/**
 * One projection from consecutive ones, for a single commit: the rows that remain after all of them. Only rows are
 * merged, never numbers: those of users' events are as in the single projections.
 */
import type { CandleChange, Projection } from "../../domain/Projection.ts"

/** The last of the items with equal keys, in the order of their first appearance. */
const lastOf = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): ReadonlyArray<A> => {
  const last = new Map<string, A>()
  for (const item of items) last.set(keyOf(item), item)
  return [...last.values()]
}

/** The same, with the seq of the first one: a stored row keeps it. */
const lastWithFirstSeq = <A extends { readonly seq: number }>(
  items: ReadonlyArray<A>,
  keyOf: (item: A) => string
): ReadonlyArray<A> => {
  const last = new Map<string, A>()
  for (const item of items) {
    const key = keyOf(item)
    const first = last.get(key)
    last.set(key, first === undefined ? item : { ...item, seq: first.seq })
  }
  return [...last.values()]
}

const candlesOf = (changes: ReadonlyArray<CandleChange>): ReadonlyArray<CandleChange> => {
  const merged = new Map<string, CandleChange>()
  for (const change of changes) {
    const key = `${change.kind}|${change.symbol}`
    const before = merged.get(key)
    const closed = before === undefined ? change.closed : [...before.closed, ...change.closed]
    merged.set(key, { ...change, closed })
  }
  return [...merged.values()]
}

/** Merges projections that follow one another; there is at least one. */
export const mergeProjections = (projections: ReadonlyArray<Projection>): Projection => {
  const first = projections[0]!
  if (projections.length === 1) return first
  const all = <A>(rowsOf: (projection: Projection) => ReadonlyArray<A>): ReadonlyArray<A> => projections.flatMap(rowsOf)
  return {
    after: first.after,
    position: projections.at(-1)!.position,
    orders: lastWithFirstSeq(
      all(({ orders }) => orders),
      ({ order }) => order.order_id
    ),
    executions: all(({ executions }) => executions),
    trades: all(({ trades }) => trades),
    candles: candlesOf(all(({ candles }) => candles)),
    movements: lastWithFirstSeq(
      all(({ movements }) => movements),
      ({ movement }) => `${movement.user_id}|${movement.kind}|${movement.transfer_id}`
    ),
    subAccounts: lastOf(
      all(({ subAccounts }) => subAccounts),
      ({ sub_account_address }) => sub_account_address
    ),
    instruments: lastOf(
      all(({ instruments }) => instruments),
      ({ symbol }) => symbol
    ),
    fundings: all(({ fundings }) => fundings),
    openInterest: all(({ openInterest }) => openInterest),
    pools: all(({ pools }) => pools),
    alerts: all(({ alerts }) => alerts),
    closedPnls: lastWithFirstSeq(
      all(({ closedPnls }) => closedPnls),
      ({ closed }) => closed.order_id
    ),
    transactions: all(({ transactions }) => transactions),
    fundingPayments: all(({ fundingPayments }) => fundingPayments),
    activity: {
      closedMarkets: all(({ activity }) => activity.closedMarkets),
      markets: lastOf(
        all(({ activity }) => activity.markets),
        ({ sub_account_address, symbol }) => `${sub_account_address}|${symbol}`
      ),
      closedAccounts: all(({ activity }) => activity.closedAccounts),
      accounts: lastOf(
        all(({ activity }) => activity.accounts),
        ({ sub_account_address }) => sub_account_address
      )
    },
    userEvents: all(({ userEvents }) => userEvents),
    heads: lastOf(
      all(({ heads }) => heads),
      ({ user_id }) => user_id
    )
  }
}
