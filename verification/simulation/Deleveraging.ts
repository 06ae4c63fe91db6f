/**
 * Who must be deleveraged, found from the events alone: positions and wallets as they were reported, ranked anew by exact
 * fractions, against the order in which the fills came and the size of each. Source: docs/contract/exchange.md#adl.
 *
 * The simulation has one market, so what stands behind a Cross position is the whole cross equity of its account.
 */
import type { Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { ExecType, type Execution, MarginMode, type Position, Side } from "../../src/proto/gateway/v1/types.ts"
import { ensure, ONE, scaled } from "./Exact.ts"

interface Stand {
  readonly address: string
  /** signed */
  readonly qty: bigint
  readonly entryValue: bigint
  /** undefined: Cross */
  readonly isolatedMargin: bigint | undefined
}

interface Ranked extends Stand {
  readonly equity: bigint
  /** score, as a fraction */
  readonly dividend: bigint
  readonly divisor: bigint
}

/** One handing over of a pool's inventory. */
interface Round {
  readonly queue: ReadonlyArray<Ranked>
  /** first of the queue that has not been looked at */
  next: number
  /** the one before took less than it could, so that nothing was left for others */
  ended: string | undefined
}

const abs = (value: bigint): bigint => (value < 0n ? -value : value)

export class Deleveraging {
  fills = 0
  private readonly wallets = new Map<string, bigint>()
  private readonly stands = new Map<string, Stand>()

  copy(): Deleveraging {
    const other = new Deleveraging()
    other.fills = this.fills
    for (const [address, wallet] of this.wallets) other.wallets.set(address, wallet)
    for (const [address, stand] of this.stands) other.stands.set(address, stand)
    return other
  }

  /** Reads the events of one step. `qtyStep` is that of the market. */
  step(events: ReadonlyArray<Event>, qtyStep: bigint): void {
    let round: Round | undefined
    for (const { event } of events) {
      switch (event?.$case) {
        // a round begins with a look at the pools
        case "insurance_pool_changed":
        case "adl_changed":
        case "liquidation_started":
          round = undefined
          break
        case "balance_changed": {
          const { sub_account_address, wallet_balance } = event.value.balance!
          this.wallets.set(sub_account_address, scaled(wallet_balance))
          break
        }
        case "position_changed":
          this.position(event.value.position!)
          break
        case "execution_created": {
          const fill = event.value.execution!
          if (fill.exec_type !== ExecType.EXEC_TYPE_ADL_TRADE) break
          round ??= { queue: this.queue(fill), next: 0, ended: undefined }
          this.fill(round, fill, qtyStep)
          this.fills++
          break
        }
        default:
      }
    }
  }

  private position(position: Position): void {
    const { sub_account_address: address, side, size, entry_value, margin_mode, isolated_margin } = position
    const qty = scaled(size)
    this.stands.set(address, {
      address,
      qty: side === Side.SIDE_SELL ? -qty : qty,
      entryValue: scaled(entry_value),
      isolatedMargin: margin_mode === MarginMode.MARGIN_MODE_ISOLATED ? scaled(isolated_margin!) : undefined
    })
  }

  /** The positions that stand opposite to the inventory, first in line first. */
  private queue({ mark_price, side }: Execution): ReadonlyArray<Ranked> {
    const mark = scaled(mark_price)
    const queue: Array<Ranked> = []
    for (const stand of this.stands.values()) {
      const { qty, entryValue, isolatedMargin, address } = stand
      // a fill that sells takes from who is long
      if (qty === 0n || qty > 0n !== (side === Side.SIDE_SELL)) continue
      const value = (abs(qty) * mark) / ONE
      const pnl = qty > 0n ? value - entryValue : entryValue - value
      const equity = (isolatedMargin ?? this.wallets.get(address) ?? 0n) + pnl
      if (equity <= 0n) continue
      const [dividend, divisor] = pnl > 0n ? [pnl * value, entryValue * equity] : [pnl * equity, entryValue * value]
      queue.push({ ...stand, equity, dividend, divisor })
    }
    return queue.sort((a, b) => {
      const difference = b.dividend * a.divisor - a.dividend * b.divisor
      return difference > 0n ? 1 : difference < 0n ? -1 : a.address < b.address ? -1 : 1
    })
  }

  private fill(round: Round, fill: Execution, qtyStep: bigint): void {
    const { sub_account_address: address, exec_qty, exec_price, mark_price } = fill
    const [price, mark, qty] = [scaled(exec_price), scaled(mark_price), scaled(exec_qty)]
    /** What a counterparty bears at most. */
    const most = ({ qty: held, equity, isolatedMargin }: Ranked): bigint => {
      const size = abs(held)
      const worse = held < 0n ? price - mark : mark - price
      if (worse <= 0n) return size
      const bears = ((equity * ONE) / (worse * qtyStep)) * qtyStep
      return bears >= size ? size : isolatedMargin === undefined ? bears : 0n
    }
    ensure(round.ended === undefined, () => `deleveraging: ${address} came after ${round.ended}, who could take more`)
    for (; ; round.next++) {
      const first = round.queue[round.next]
      ensure(first !== undefined, () => `deleveraging: ${address} was not in line`)
      if (first!.address === address) break
      ensure(most(first!) === 0n, () => `deleveraging: ${address} came before ${first!.address}`)
    }
    const limit = most(round.queue[round.next++]!)
    ensure(qty <= limit, () => `deleveraging: ${address} gave ${exec_qty}, ${limit}e-18 at most`)
    if (qty < limit) round.ended = address
  }
}
