/**
 * Serializes the engine's state to bytes and back.
 *
 * Every field of the state is written, except for the objects of {@link outside}. Values that follow from the configuration come
 * from a fresh state. A book is stored as its orders in priority order.
 */
import type { ClientIdIndex } from "./ClientIdIndex.ts"
import { initial } from "./InitialState.ts"
import { restingOrders } from "./RestingOrders.ts"
import type { EngineConfig, State, Order } from "./State.ts"
import * as StateCodec from "./StateCodec.ts"
import * as TriggerQueues from "./TriggerQueues.ts"

/** Names of fields before format 3 of snapshots. */
export const RENAMED: ReadonlyMap<string, string> = new Map([
  ["told", "announcedStatus"],
  ["toldTicks", "announcedTicks"],
  ["toldStep", "announcedStep"],
  ["toldTier", "announcedTier"],
  ["toldSecond", "announcedSecond"],
  ["toldRatio", "alertedRatio"],
  ["standing", "liquidationRanges"],
  ["telling", "announcementRanges"]
])

/**
 * Objects that are not written: the configuration and values read from it, the order table, the client id index, the
 * books, the price thresholds and the queues of triggers and expiries.
 */
const outside = (state: State): ReadonlyArray<object> => [
  state.config,
  state.links,
  state.orders,
  state.liquidationRanges,
  state.announcementRanges,
  ...state.markets.flatMap(({ market, rules, tiers, limits, book }) => [market, rules, tiers, limits, book]),
  // later ones follow, so that older snapshots refer to the same objects
  state.expiries,
  state.met,
  ...state.markets.map(({ triggers }) => triggers)
]

interface Written {
  readonly state: State
  /** open orders by slot */
  readonly open: ReadonlyArray<Order>
  /** resting orders of each market, bids before asks, in the order of their priority */
  readonly resting: ReadonlyArray<ReadonlyArray<Order>>
}

/** Serializes a state between two steps. */
export const dump = (state: State): Buffer => {
  const written: Written = {
    state,
    open: state.orders.all(),
    resting: state.markets.map((market) => restingOrders(state, market))
  }
  return StateCodec.write(written, outside(state))
}

/**
 * Deserializes a state that {@link dump} wrote under the same configuration. Throws where the bytes have another
 * format.
 */
export const load = (config: EngineConfig, bytes: Uint8Array, links: ClientIdIndex): State => {
  const fresh = initial(config, links)
  const { state: read, open, resting } = StateCodec.read(bytes, outside(fresh), RENAMED) as Written
  // earlier snapshots have the queues as sorted arrays
  const state: State = Object.assign(read, { expiries: fresh.expiries, met: fresh.met })
  state.markets.forEach((market, i) => Object.assign(market, { triggers: fresh.markets[i]!.triggers }))
  for (const order of open) {
    state.orders.restore(order)
    TriggerQueues.restore(state, order)
  }
  state.markets.forEach(({ book }, i) => {
    for (const { leaves, side, slot, ticks } of resting[i]!) book.add(slot, side, ticks, leaves)
    book.takeChanges()
  })
  for (const { holders } of state.markets)
    for (const holding of holders) {
      state.liquidationRanges.invalidate(holding)
      state.announcementRanges.invalidate(holding)
    }
  return state
}
