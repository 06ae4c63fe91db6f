/**
 * The state of the engine as bytes, and back.
 *
 * Everything in the state is written, whatever its fields are; the exceptions are below. What follows from the
 * configuration is taken from a fresh state, and a book is its orders in the order of their priority.
 */
import * as StateCodec from "./StateCodec.ts"
import type { Order } from "./sequencer/Order.ts"
import type { ClientIdIndex } from "./ClientIdIndex.ts"
import { type EngineConfig, initial, restingOrders, type State } from "./State.ts"

const OMIT: ReadonlySet<string> = new Set()

/**
 * What is not data of its own: the configuration, what is read from it, the places of orders, where links are kept, and
 * who is watched between which marks.
 */
const outside = (state: State): ReadonlyArray<object> => [
  state.config,
  state.links,
  state.orders,
  state.standing,
  state.telling,
  ...state.markets.flatMap(({ market, rules, tiers, limits, book }) => [market, rules, tiers, limits, book])
]

interface Written {
  readonly state: State
  /** open orders by slot */
  readonly open: ReadonlyArray<Order>
  /** resting orders of each market, bids before asks, in the order of their priority */
  readonly resting: ReadonlyArray<ReadonlyArray<Order>>
}

/** Writes a state as it stands between two steps. */
export const dump = (state: State): Buffer => {
  const written: Written = {
    state,
    open: state.orders.all(),
    resting: state.markets.map((market) => restingOrders(state, market))
  }
  return StateCodec.write(written, { outside: outside(state), omit: OMIT })
}

/** The state that {@link dump} wrote, under the same configuration. Throws where the bytes are of another make. */
export const load = (config: EngineConfig, bytes: Uint8Array, links: ClientIdIndex): State => {
  const { state, open, resting } = StateCodec.read(bytes, outside(initial(config, links))) as Written
  for (const order of open) state.orders.restore(order)
  state.markets.forEach(({ book }, i) => {
    for (const { leaves, side, slot, ticks } of resting[i]!) book.add(slot, side, ticks, leaves)
    book.takeChanges()
  })
  for (const { holders } of state.markets)
    for (const holding of holders) {
      state.standing.touch(holding)
      state.telling.touch(holding)
    }
  return state
}
