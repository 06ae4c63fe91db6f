/**
 * How many pairs of exits a position may have. Source: docs/contract/orders.md#take-profit-and-stop-loss.
 *
 * An open order that brings exits along counts before its fill attaches them, so that no fill is left without. The exits
 * over the whole position replace one another: together they are one pair, however many orders bring them.
 */
import { type Side, TpslMode } from "../../../proto/gateway/v1/types.ts"
import type { Command, CommandResult } from "../../../proto/gateway/v1/sequencer.ts"
import type { MarketPosition } from "../State.ts"
import { Code, refuse } from "../StepContext.ts"
import { isExit, isFull } from "./TakeProfitStopLoss.ts"
import { opposite } from "./Matching.ts"
import type { Order, Tpsl } from "./Order.ts"

export const EXIT_PAIRS_MAX = 20

/** Pairs of the position that a side opens, and whether one of them is over the whole position. */
interface Pairs {
  readonly count: number
  readonly whole: boolean
}

const pairsOf = (holding: MarketPosition, side: Side, counts: (order: Order) => boolean): Pairs => {
  /** ids of the orders that have a pair of mode Partial, or bring one along */
  const parents = new Set<string>()
  let others = 0
  let whole = false
  const brings = (order: Order): void => {
    if (order.tpsl === undefined || order.side !== side) return
    if (order.tpsl.mode === TpslMode.TPSL_MODE_PARTIAL) parents.add(order.id)
    else whole = true
  }
  const isSecond = ({ number, sibling }: Order): boolean =>
    sibling !== undefined && sibling.number < number && holding.conditional.has(sibling.number) && counts(sibling)
  for (const order of holding.orders.values()) if (counts(order)) brings(order)
  for (const order of holding.conditional.values()) {
    if (!counts(order)) continue
    if (!isExit(order)) brings(order)
    else if (order.side !== opposite(side)) continue
    else if (isFull(order)) whole = true
    else if (order.parent !== undefined) parents.add(order.parent)
    else if (!isSecond(order)) others++
  }
  return { count: parents.size + others + (whole ? 1 : 0), whole }
}

const all = (): boolean => true

/**
 * The refusal of one pair more than a position may have. `counts` leaves out what the new pair replaces.
 */
export const beyond = (
  command: Command,
  holding: MarketPosition,
  side: Side,
  mode: Tpsl["mode"],
  counts: (order: Order) => boolean = all
): CommandResult | undefined => {
  const { count, whole } = pairsOf(holding, side, counts)
  if (count < EXIT_PAIRS_MAX || (whole && mode !== TpslMode.TPSL_MODE_PARTIAL)) return undefined
  return refuse(
    command,
    Code.FAILED_PRECONDITION,
    "LimitReached",
    `a position has at most ${EXIT_PAIRS_MAX} pairs of exits, those that open orders bring included`,
    { field: "tpsl", max: String(EXIT_PAIRS_MAX) }
  )
}
