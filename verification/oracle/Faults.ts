/** Financial faults that the oracle must find: lines of the engine's source and their faulty replacements. */

export interface Fault {
  readonly name: string
  /** suffix of the module's path */
  readonly module: string
  /** text that occurs once in the module */
  readonly right: string
  readonly wrong: string
}

export const FAULTS: ReadonlyArray<Fault> = [
  {
    name: "fees are rounded in the account's favour",
    module: "/accounts/Fees.ts",
    right: `market.takerFee, "up")`,
    wrong: `market.takerFee, "down")`
  },
  {
    name: "the entry value of a reduction is rounded the other way",
    module: "/domain/Margin.ts",
    right: `divide(entry.entryValue * closedSize, held, long ? "up" : "down")`,
    wrong: `divide(entry.entryValue * closedSize, held, long ? "down" : "up")`
  },
  {
    name: "the liquidation price is rounded the other way",
    module: "/domain/Margin.ts",
    right: `rate * size * limits.tick, long ? "up" : "down")`,
    wrong: `rate * size * limits.tick, long ? "down" : "up")`
  },
  {
    name: "maker and taker pay each other's fee",
    module: "/sequencer/Fills.ts",
    right: "const fee = !isMaker && isSystemOrder(order) ? 0n : feeOf(market, value, isMaker)",
    wrong: "const fee = !isMaker && isSystemOrder(order) ? 0n : feeOf(market, value, !isMaker)"
  },
  {
    name: "a liquidation pays the taker fee",
    module: "/sequencer/Fills.ts",
    right: "const fee = !isMaker && isSystemOrder(order) ? 0n : feeOf(market, value, isMaker)",
    wrong: "const fee = feeOf(market, value, isMaker)"
  },
  {
    name: "funding has the other sign",
    module: "/referee/Funding.ts",
    right: "return position < 0 ? -product / ONE : product / ONE",
    wrong: "return position < 0 ? product / ONE : -product / ONE"
  },
  {
    name: "funding is paid in the order in which positions were opened",
    module: "/referee/Funding.ts",
    right: "[...market.holders].sort(Accounts.byAddress)",
    wrong: "[...market.holders]"
  },
  {
    name: "a donor pool gives its whole equity",
    module: "/referee/Pools.ts",
    right: "Decimal.max(0n, equity - base / 2n)",
    wrong: "Decimal.max(0n, equity)"
  },
  {
    name: "a pool's deficit ignores its inventory",
    module: "/referee/Pools.ts",
    right: "const deficit = -equityOf(pool)",
    wrong: "const deficit = -cashOf(pool)"
  },
  {
    name: "a reduce-only fill-or-kill order is filled beyond its position",
    module: "/sequencer/FillOrKill.ts",
    right:
      "if (taker.reduceOnly && Accounts.closableLots(simulatedOf(taker).lots, taker.side) < lots) return notEnough",
    wrong: ""
  },
  {
    name: "isolated margin is not released on a partial reduction",
    module: "/domain/Margin.ts",
    right: `divide(entry.isolatedMargin * closedSize, held, "toward-zero")`,
    wrong: "0n"
  },
  {
    name: "deleveraging begins at the end of the queue",
    module: "/referee/Adl.ts",
    right: "const gap = b.near - a.near",
    wrong: "const gap = a.near - b.near"
  },
  {
    name: "of several triggered orders, the newest activates first",
    module: "/state/TriggerQueues.ts",
    right: "state.met.first()",
    wrong: "state.met.sorted().at(-1)"
  },
  {
    name: "partial exits grow with fills that only reduce",
    module: "/sequencer/Fills.ts",
    right: "const opened = lots - Number(settlement.closedSize)",
    wrong: "const opened = lots"
  },
  {
    name: "a maker that cannot afford the fill is filled",
    module: "/sequencer/Matching.ts",
    right: "if (!isAffordable(maker, makerSide)) {",
    wrong: "if (maker.filled < 0 && !isAffordable(maker, makerSide)) {"
  },
  {
    name: "the liquidation fee takes more than the equity left",
    module: "/referee/Liquidation.ts",
    right: "Decimal.max(0n, left))",
    wrong: "Decimal.max(0n, left) + 1000000000000000000n)"
  },
  {
    name: "the maintenance margin ignores the deduction",
    module: "/domain/Margin.ts",
    right: `return mul(value, tier.maintenanceRate, "up") - tier.deduction`,
    wrong: `return mul(value, tier.maintenanceRate, "up")`
  },
  {
    name: "an order is accepted that makes the free balance negative by less than 1 USDC",
    module: "/sequencer/PreTradeChecks.ts",
    right: "if (left < 0n && left < free) {",
    wrong: "if (left < 0n && left < free - 1000000000000000000n) {"
  }
]
