/** Warnings on the way to a liquidation: once at 80 % and once at 95 % of the way, and again only after the mark has come back. */
import type { Position } from "../src/domain/Position.ts"
import { keyOf } from "../src/client/Account.ts"
import type { Digits } from "../src/domain/OrderWords.ts"
import type { Notice } from "./Notices.ts"
import { type MarkOf, wayToLiquidation } from "./PositionRisk.ts"

/** Parts of the way at which a warning appears, in percent, and how far the mark must come back until it appears again. */
const LEVELS = [80, 95] as const
const BACK_PERCENT = 10

export interface Warnings {
  readonly begun: ReadonlyArray<Notice>
  readonly over: ReadonlyArray<string>
}

const noticeKey = (position: string): string => `risk|${position}`

export class RiskWarnings {
  private readonly digits: Digits
  /** Level of the last warning, by position. */
  private warned = new Map<string, number>()

  constructor(digits: Digits) {
    this.digits = digits
  }

  /** The new warnings, and the keys of those that no longer apply. */
  of(positions: ReadonlyArray<Position>, markOf: MarkOf): Warnings {
    const next = new Map<string, number>()
    const begun: Array<Notice> = []
    for (const position of positions) {
      const { liq_price, mark_price, position_status, side, size, symbol } = position
      // a forced close has a notice of its own
      if (position_status !== "Normal") continue
      const key = keyOf(position)
      const mark = markOf(symbol)
      const way = wayToLiquidation(position, mark)
      const before = this.warned.get(key) ?? 0
      const reached = LEVELS.findLast((level) => way >= level) ?? 0
      const kept = way >= before - BACK_PERCENT ? Math.max(before, reached) : reached
      if (kept > 0) next.set(key, kept)
      if (reached <= before) continue
      const held = `${side === "Buy" ? "long" : "short"} of ${this.digits.qty(symbol, size)} ${symbol}`
      const at = this.digits.price(symbol, liq_price)
      begun.push({
        key: noticeKey(key),
        tone: reached >= LEVELS[1] ? "bad" : "warn",
        text: `Your ${held} is ${way} % of the way to its liquidation at ${at}: the mark is ${this.digits.price(symbol, mark ?? mark_price)}`,
        stays: true
      })
    }
    const over = [...this.warned.keys()].filter((key) => !next.has(key)).map(noticeKey)
    this.warned = next
    return { begun, over }
  }
}
