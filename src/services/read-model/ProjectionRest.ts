/**
 * The rows of a projection that follow a position within it, where another gateway has written the rows before.
 *
 * Rows of single events are those of later events. Rows that hold a last state are written again: an order, a closed PnL
 * or a movement whose last event is before the position is stored as it is here, and a stored row keeps its id.
 */
import type { Projection, StreamHead } from "../../domain/Projection.ts"
import type { StreamPosition } from "../../domain/Event.ts"

/** `heads`: the numbers of users' streams at the position. */
export const projectionRest = (
  projection: Projection,
  after: StreamPosition,
  heads: ReadonlyArray<StreamHead>
): Projection => {
  const later = <A extends { readonly seq: number }>(rows: ReadonlyArray<A>): ReadonlyArray<A> =>
    rows.filter(({ seq }) => seq > after.seq)
  const headOf = new Map(heads.map(({ user_id, seq }) => [user_id, seq]))
  const follows = ({ user_id, seq }: { readonly user_id: string; readonly seq: number }): boolean =>
    seq > (headOf.get(user_id) ?? 0)
  return {
    ...projection,
    after,
    executions: later(projection.executions),
    trades: later(projection.trades),
    fundings: later(projection.fundings),
    pools: later(projection.pools),
    alerts: later(projection.alerts),
    transactions: later(projection.transactions),
    fundingPayments: later(projection.fundingPayments),
    userEvents: projection.userEvents.filter(follows),
    heads: projection.heads.filter(follows)
  }
}
