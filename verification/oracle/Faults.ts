/** Financial faults that the oracle must find: pieces of the engine's source and their faulty replacements. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Fault {
  readonly name: string
  /** text that occurs once in the source of the engine and its domain; white space does not count */
  readonly right: string
  readonly wrong: string
}

const ROOT = join(import.meta.dirname, "../../src")
const SOURCES = globSync(["backend/{engine,markets}/**/*.ts", "domain/*.ts"], { cwd: ROOT }).map((path) => ({
  path: `/${path}`,
  text: readFileSync(join(ROOT, path), "utf8")
}))

const anyWhiteSpace = (text: string): RegExp =>
  new RegExp(
    text
      .split(/\s+/u)
      .map((word) => word.replace(/[\\^$.*+?()[\]{}|]/gu, "\\$&"))
      .join("\\s+"),
    "gu"
  )

/** A fault at its place, as verification/simulation/Mutant.ts plants it. */
export interface Located {
  readonly module: string
  readonly right: string
  readonly wrong: string
}

/** Finds the module of a fault. Throws where its text is missing or not the only one: the fault must follow the source. */
export const locate = ({ name, right, wrong }: Fault): Located => {
  const pattern = anyWhiteSpace(right)
  const found = SOURCES.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([exact]) => ({ path, exact })))
  const [place] = found
  if (place === undefined || found.length > 1)
    throw new Error(`"${name}": the source has its text ${found.length} times, and must have it once: ${right}`)
  return { module: place.path, right: place.exact, wrong }
}

export const FAULTS: ReadonlyArray<Fault> = [
  {
    name: "fees are rounded in the account's favour",
    right: `market.takerFee, "up")`,
    wrong: `market.takerFee, "down")`
  },
  {
    name: "the entry value of a reduction is rounded the other way",
    right: `divide(entry.entryValue * closedSize, held, long ? "up" : "down")`,
    wrong: `divide(entry.entryValue * closedSize, held, long ? "down" : "up")`
  },
  {
    name: "the share of an opening fee is rounded down",
    right: `divide(entry.openFee * closedSize, held, "up")`,
    wrong: `divide(entry.openFee * closedSize, held, "down")`
  },
  {
    name: "the fee of the closed part of a flip is rounded down",
    right: `divide(fill.fee * closedSize, size, "up")`,
    wrong: `divide(fill.fee * closedSize, size, "down")`
  },
  {
    name: "released isolated margin is rounded up",
    right: `divide(entry.isolatedMargin * closedSize, held, "toward-zero")`,
    wrong: `divide(entry.isolatedMargin * closedSize, held, "up")`
  },
  {
    name: "the initial margin is rounded down",
    right: `divide(value * ONE, leverage, "up")`,
    wrong: `divide(value * ONE, leverage, "down")`
  },
  {
    name: "the maintenance margin is rounded down",
    right: `mul(value, tier.maintenanceRate, "up")`,
    wrong: `mul(value, tier.maintenanceRate, "down")`
  },
  {
    name: "the order margin is rounded down",
    right: `open.divisor * leverage * ONE, "up")`,
    wrong: `open.divisor * leverage * ONE, "down")`
  },
  {
    name: "the liquidation price is rounded the other way",
    right: `rate * size * limits.tick, long ? "up" : "down")`,
    wrong: `rate * size * limits.tick, long ? "down" : "up")`
  },
  {
    name: "the bust price is rounded in the pool's favour",
    right: `divide(dividend, divisor * tick, long ? "up" : "down")`,
    wrong: `divide(dividend, divisor * tick, long ? "down" : "up")`
  },
  {
    name: "the price of deleveraging is rounded against the pool",
    right: `Decimal.abs(size) * tick, long ? "up" : "down")`,
    wrong: `Decimal.abs(size) * tick, long ? "down" : "up")`
  },
  {
    name: "the mark is rounded down",
    right: "Grid.round(grid, held)",
    wrong: "Grid.floor(grid, held)"
  },
  {
    name: "the protective price of a Market order is rounded outward",
    right: `(Decimal.ONE + band), Decimal.ONE, "down")`,
    wrong: `(Decimal.ONE + band), Decimal.ONE, "up")`
  },
  {
    name: "the unwinding price is rounded outward",
    right: `(UNWIND_DIVISOR - 1n), UNWIND_DIVISOR, "up")`,
    wrong: `(UNWIND_DIVISOR - 1n), UNWIND_DIVISOR, "down")`
  },
  {
    name: "the shares of donor pools are rounded one by one",
    right: "const share = until - before",
    wrong: "const share = total === 0n ? 0n : (paid * capacity) / total"
  },
  {
    name: "the funding rate keeps 18 places",
    right: "(rate / RATE_STEP) * RATE_STEP",
    wrong: "rate"
  },
  {
    name: "maker and taker pay each other's fee",
    right: "isSystemOrder(order) ? 0n : feeOf(market, value, isMaker)",
    wrong: "isSystemOrder(order) ? 0n : feeOf(market, value, !isMaker)"
  },
  {
    name: "a liquidation pays the taker fee",
    right: "!isMaker && isSystemOrder(order) ? 0n : feeOf",
    wrong: "isPoolPosition(order.holding) ? 0n : feeOf"
  },
  {
    name: "the order margin leaves the taker fee out",
    right: "(SQUARE + takerFee * leverage)",
    wrong: "SQUARE"
  },
  {
    name: "the liquidation fee takes more than the equity left",
    right: "Decimal.max(0n, left))",
    wrong: "Decimal.max(0n, left) + 1000000000000000000n)"
  },
  {
    name: "the liquidation fee is not in the position's record",
    right: "holding.liquidationFee += amount",
    wrong: ""
  },
  {
    name: "the liquidation fee stays in the record of the next position",
    right: "holding.liquidationFee = 0n",
    wrong: ""
  },
  {
    name: "funding has the other sign",
    right: "position < 0 ? -product / ONE : product / ONE",
    wrong: "position < 0 ? product / ONE : -product / ONE"
  },
  {
    name: "funding is paid in the order in which positions were opened",
    right: "yield* sort(market.holders, Accounts.byAddress)",
    wrong: "[...market.holders]"
  },
  {
    name: "funding of an Isolated position comes from the wallet",
    right: "if (holding.isolated) creditIsolated(state, holding, -payment)\n  else credit",
    wrong: "credit"
  },
  {
    name: "inventory of a pool pays no funding",
    right: "if (inventory.lots !== 0) {",
    wrong: "if (inventory.lots !== inventory.lots) {"
  },
  {
    name: "the funding index adds up the index price",
    right: "payment(1, market.markPrice, rate)",
    wrong: "payment(1, market.indexPrice, rate)"
  },
  {
    name: "every premium of an interval has the same weight",
    right: "BigInt(market.premiumCount) * premium",
    wrong: "premium"
  },
  {
    name: "a side that holds exactly the impact value is too thin",
    right: "if (value >= left) return",
    wrong: "if (value > left) return"
  },
  {
    name: "the predicted rate outlives its interval",
    right: "market.premiumSum = 0n\n  market.premiumCount = 0",
    wrong: ""
  },
  {
    name: "the mark leaves the index by up to 10 %",
    right: "(index * 95n) / 100n",
    wrong: "(index * 90n) / 100n"
  },
  {
    name: "the mark counts the whole rate whatever time is left",
    right: "input.rate * BigInt(input.timeLeftMs)",
    wrong: "input.rate * BigInt(input.intervalMs)"
  },
  {
    name: "the basis of a second is kept for a second less",
    right: "market.basis[0]!.second < second - BASIS_SECONDS",
    wrong: "market.basis[0]!.second <= second - BASIS_SECONDS"
  },
  {
    name: "the last price is the limit of the taker",
    right: "market.lastTicks = ticks",
    wrong: "market.lastTicks = taker.ticks"
  },
  {
    name: "a takeover by the pool moves the last price",
    right: "applyFill(ctx, order, lots, settled)",
    wrong: "applyFill(ctx, order, lots, settled)\n  market.lastTicks = ticks"
  },
  {
    name: "the maintenance margin ignores the deduction",
    right: `mul(value, tier.maintenanceRate, "up") - tier.deduction`,
    wrong: `mul(value, tier.maintenanceRate, "up")`
  },
  {
    name: "open orders do not raise the tier of an exposure",
    right: "value * open.divisor + open.dividend",
    wrong: "value * open.divisor"
  },
  {
    name: "an order that closes counts as one that opens",
    right: "value * (size - closable)",
    wrong: "value * size"
  },
  {
    name: "an order is accepted that makes the free balance negative by less than 1 USDC",
    right: "if (left < 0n && left < free) {",
    wrong: "if (left < 0n && left < free - 1000000000000000000n) {"
  },
  {
    name: "unrealised profit can be withdrawn",
    right: "max(0n, min(wallet, available(account)))",
    wrong: "available(account)"
  },
  {
    name: "unrealised profit counts when isolated margin is taken out",
    right: "Decimal.min(0n, unrealisedPnl) - initialMargin",
    wrong: "unrealisedPnl - initialMargin"
  },
  {
    name: "a lower leverage ignores what an Isolated position lacks",
    right: "Accounts.excessMarginOf(holding) < 0n)",
    wrong: "Accounts.excessMarginOf(holding) > 0n && false)"
  },
  {
    name: "isolated margin is not released on a partial reduction",
    right: `divide(entry.isolatedMargin * closedSize, held, "toward-zero")`,
    wrong: "0n"
  },
  {
    name: "a flip locks the margin of the whole fill",
    right: "fill.lock(openedValue)",
    wrong: "fill.lock(fill.value)"
  },
  {
    name: "the result of the last position stays in the record of the next",
    right: "holding.currentRealised = 0n",
    wrong: ""
  },
  {
    name: "a position's share of the equity is all of it",
    right: "{ dividend: equity * own, divisor: total }",
    wrong: "{ dividend: equity, divisor: 1n }"
  },
  {
    name: "a maker that cannot afford the fill is filled",
    right: "if (!isAffordable(maker, makerSide)) {",
    wrong: "if (maker.filled < 0 && !isAffordable(maker, makerSide)) {"
  },
  {
    name: "a taker that cannot afford the fill is filled",
    right: "!isSystemOrder(taker) && !isAffordable(taker, takerSide)",
    wrong: "taker.filled < 0 && !isAffordable(taker, takerSide)"
  },
  {
    name: "an Isolated reduction need not pay its own fee",
    right: "after.released + after.realised < fee",
    wrong: "after.released + after.realised < 0n"
  },
  {
    name: "an Isolated position is filled below its maintenance margin",
    right: "if (isolatedMargin + pnl < needed) return false",
    wrong: ""
  },
  {
    name: "sub-accounts of one user trade with one another",
    right: "taker.account.userId === maker.account.userId",
    wrong: "taker.account === maker.account"
  },
  {
    name: "CancelBoth cancels only the taker",
    right: "if (taker.smp !== SmpType.SMP_TYPE_CANCEL_TAKER) selfMatch(maker)",
    wrong: "if (taker.smp === SmpType.SMP_TYPE_CANCEL_MAKER) selfMatch(maker)"
  },
  {
    name: "a reduce-only fill-or-kill order is filled beyond its position",
    right:
      "if (taker.reduceOnly && Accounts.closableLots(simulatedOf(taker).lots, taker.side) < lots) return notEnough",
    wrong: ""
  },
  {
    name: "a fill-or-kill order ignores that its maker only reduces",
    right: "lots = Math.min(lots, Accounts.closableLots(simulatedOf(maker).lots, maker.side))",
    wrong: ""
  },
  {
    name: "a fill-or-kill order judges each maker by what it had before",
    right: "release(maker, makerAfter, lots)",
    wrong: ""
  },
  {
    name: "the oldest reduce-only order is trimmed first",
    right: "order.reduceOnly && order.side === side)\n      .reverse()",
    wrong: "order.reduceOnly && order.side === side)"
  },
  {
    name: "an amend to a smaller quantity loses its priority",
    right: "if (ticks === order.ticks && lots < order.lots) {",
    wrong: "if (lots < order.filled) {"
  },
  {
    name: "an amend to a crossing price takes, though the order is post-only",
    right: "if (order.postOnly && crosses(holding, side, ticks)) return refuseAmend(ctx, order, postOnlyRejection)",
    wrong: ""
  },
  {
    name: "an amend leaves the price band",
    right: "if (band !== undefined) return refuseAmend(ctx, order, band)",
    wrong: ""
  },
  {
    name: "of several triggered orders, the newest activates first",
    right: "state.met.first()",
    wrong: "state.met.sorted().at(-1)"
  },
  {
    name: "partial exits grow with fills that only reduce",
    right: "lots - Number(settlement.closedSize)",
    wrong: "lots"
  },
  {
    name: "the other exit of a pair survives a trigger",
    right: "TakeProfitStopLoss.endSibling(ctx, order)",
    wrong: ""
  },
  {
    name: "an exit of the whole position keeps its first size",
    right: "if (exit.lots !== sizeOf(holding)) resize",
    wrong: "if (exit.lots < 0) resize"
  },
  {
    name: "a pair of exits beyond the twentieth is accepted",
    right: "EXIT_PAIRS_MAX = 20",
    wrong: "EXIT_PAIRS_MAX = 21"
  },
  {
    name: "legs of a Market order are not checked at its turn",
    right: "if (message !== undefined) return { reason",
    wrong: `if (message === "") return { reason`
  },
  {
    name: "resting orders survive a liquidation",
    right: "cancelResting(ctx, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ)\n  const before",
    wrong: "const before"
  },
  {
    name: "the smallest position is liquidated first",
    right: "Accounts.figuresOf(holding).maintenanceMargin > Accounts.figuresOf(largest).maintenanceMargin",
    wrong: "Accounts.figuresOf(holding).maintenanceMargin < Accounts.figuresOf(largest).maintenanceMargin"
  },
  {
    name: "accounts are liquidated in the order in which they were found",
    right: "yield* sort(failed, byAddress)",
    wrong: "failed"
  },
  {
    name: "the pool pays before the last position is gone",
    right: "if (positions.length === 1) coverDeficit",
    wrong: "coverDeficit"
  },
  {
    name: "a donor pool gives its whole equity",
    right: "Decimal.max(0n, equity - base / 2n)",
    wrong: "Decimal.max(0n, equity)"
  },
  {
    name: "a pool's deficit ignores its inventory",
    right: "const deficit = -equityOf(pool)",
    wrong: "const deficit = -cashOf(pool)"
  },
  {
    name: "a drawdown begins at a ratio of -0.35",
    right: `const ACTIVE_RATIO = -Decimal.parse("0.3")`,
    wrong: `const ACTIVE_RATIO = -Decimal.parse("0.35")`
  },
  {
    name: "a maximum of a pool is forgotten after an hour",
    right: "PEAK_MINUTES = 480",
    wrong: "PEAK_MINUTES = 60"
  },
  {
    name: "deleveraging begins at the end of the queue",
    right: "b.near - a.near",
    wrong: "a.near - b.near"
  },
  {
    name: "deleveraging in a drawdown gives up a fifth of the group's equity",
    right: "- 3n * maxGroup",
    wrong: "- 2n * maxGroup"
  },
  {
    name: "orders of a deleveraged account stay in the book",
    right: "Liquidation.cancelResting(ctx, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_ADL)",
    wrong: ""
  },
  {
    name: "a new position is first in line for deleveraging",
    right: "place < 0 ? positions - 1 : place",
    wrong: "place < 0 ? 0 : place"
  },
  {
    name: "a pool unwinds a fifth of its inventory",
    right: "Math.floor(Math.abs(lots) / 10)",
    wrong: "Math.floor(Math.abs(lots) / 5)"
  },
  {
    name: "the faucet forgets what it gave today",
    right: "user.faucetDay === day ? user.faucetGiven : 0n",
    wrong: "0n"
  },
  {
    name: "a withdrawal completes after four seconds",
    right: "WITHDRAWAL_MS = 5000",
    wrong: "WITHDRAWAL_MS = 4000"
  },
  {
    name: "a repeated id moves the money again",
    right: `if (first !== undefined) return repeated(ctx, command, first, "transfer_id", content)`,
    wrong: ""
  },
  {
    name: "more can be transferred than is withdrawable",
    right: "const short = beyondFree(command, from, amount)\n  if (short !== undefined) return short",
    wrong: ""
  }
]
