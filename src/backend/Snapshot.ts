/**
 * The state of the engine as bytes, and back.
 *
 * Everything in the state is written, whatever its fields are; the exceptions are below. What follows from the
 * configuration is taken from a fresh state, and a book is its orders in the order of their priority.
 */
import { Side } from "../proto/gateway/v1/types.ts"
import * as Graph from "./Graph.ts"
import type { Order } from "./sequencer/Order.ts"
import { type EngineConfig, initial, type Links, type State } from "./State.ts"

/** Links of an order to its neighbours in the book, which the book itself restores. */
const OMIT: ReadonlySet<string> = new Set(["level", "previous", "next"])

/** What is not data of its own: the configuration, what is read from it, the books, and where links are kept. */
const outside = (state: State): ReadonlyArray<object> => [
  state.config,
  state.links,
  ...state.markets.flatMap(({ market, rules, tiers, limits, book }) => [market, rules, tiers, limits, book])
]

interface Written {
  readonly state: State
  /** resting orders of each market, bids before asks, best first, oldest first */
  readonly resting: ReadonlyArray<ReadonlyArray<Order>>
}

const restingOf = ({ book }: State["markets"][number]): ReadonlyArray<Order> => {
  const orders: Array<Order> = []
  for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const)
    for (const level of book.levels(side, 0))
      for (let order = level.head; order !== undefined; order = order.next) orders.push(order)
  return orders
}

/** Writes a state as it stands between two steps. */
export const dump = (state: State): Buffer => {
  const written: Written = { state, resting: state.markets.map(restingOf) }
  return Graph.write(written, { outside: outside(state), omit: OMIT })
}

/** The state that {@link dump} wrote, under the same configuration. Throws where the bytes are of another make. */
export const load = (config: EngineConfig, bytes: Uint8Array, links: Links): State => {
  const { state, resting } = Graph.read(bytes, outside(initial(config, links))) as Written
  state.markets.forEach(({ book }, i) => {
    for (const order of resting[i]!) book.add(order)
    book.takeChanges()
  })
  return state
}
