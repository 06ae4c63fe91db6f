/** All orders that rest at one price, in the order of their priority. */
import type { Order } from "./Order.ts"

export interface PriceLevel {
  readonly ticks: number
  /** total of what rests here */
  lots: number
  /** first to be filled; a level without orders is not in the book */
  head: Order | undefined
  tail: Order | undefined
}
