/**
 * The limit of take-profit and stop-loss pairs per position. Source: docs/contract/orders.md#take-profit-and-stop-loss.
 *
 * An open order with attached exits counts before its fill, so that every fill gets its exits. Exits of the whole
 * position replace each other: they count as one pair, however many orders carry them.
 */
import type { Command, CommandResult } from "../../../proto/gateway/v1/sequencer.ts"
import { type Side, TpslMode } from "../../../proto/gateway/v1/types.ts"
import { opposite } from "../book/OrderBook.ts"
import { Code, refuse } from "../events/CommandResults.ts"
import type { MarketPosition, Order, Tpsl } from "../state/State.ts"
import { isExit, isFull } from "./TakeProfitStopLoss.ts"

export const EXIT_PAIRS_MAX = 20

/** Pairs of the position that `side` opens, and whether one of them covers the whole position. */
interface Pairs {
  readonly count: number
  readonly whole: boolean
}

const pairsOf = (holding: MarketPosition, side: Side, counts: (order: Order) => boolean): Pairs => {
  /** ids of orders that own or carry a pair of mode Partial */
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

/** Refuses one pair more than the limit. `counts` excludes orders that the new pair replaces. */
export const refuseExtraPair = (
  command: Command,
  field: string,
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
    { field, max: String(EXIT_PAIRS_MAX) }
  )
}
