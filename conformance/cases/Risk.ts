/** Positions, leverage and margin, and the referee's reads of risk. */
import { status } from "@grpc/grpc-js"
import { Effect } from "effect"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import type { Command } from "../../src/proto/gateway/v1/sequencer.ts"
import { MarginMode, Side } from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import * as Exact from "../Exact.ts"
import { executionsOf, place } from "../Orders.ts"
import { pick } from "../Record.ts"
import { type Trader, World } from "../World.ts"
import { broken, expect, expectEqual, present } from "../Expect.ts"

const exact = (what: string, text: string) => present(`a decimal ${what} (it is "${text}")`, Exact.parse(text))

/** A buyer with a position in lots, bought one tick above the mark at the start. */
const holder = Effect.fnUntraced(function* (lots: number) {
  const { trader } = yield* World
  const [seller, buyer] = [yield* trader, yield* trader]
  yield* place(seller, { side: Side.SIDE_SELL, lots, ticks: 1 })
  const { events } = yield* place(buyer, { side: Side.SIDE_BUY, lots, ticks: 1 })
  return { seller, buyer, events }
})

/** The position in the result of a command. */
const positionOf = Effect.fnUntraced(function* (owner: Trader, asked: NonNullable<Command["command"]>) {
  const { done } = yield* World
  const { ack, events } = yield* done(owner, asked)
  if (ack.result?.$case !== "position") return yield* broken(`the ack of ${asked.$case} has no position`)
  return { position: ack.result.value, events }
})

const closing: Case = {
  name: "closing",
  level: "full",
  clause: "docs/contract/exchange.md#entry",
  claim: "a closing fill realises the difference to the entry and adds it, less the fee, to the wallet",
  run: Effect.gen(function* () {
    const { rules } = yield* World
    const { buyer, seller } = yield* holder(2)
    yield* place(seller, { side: Side.SIDE_BUY, lots: 1, ticks: 5 })
    const { events } = yield* place(buyer, { side: Side.SIDE_SELL, lots: 1, ticks: 5, more: { reduce_only: true } })
    const gain = Exact.format(rules.value(5, 1) - rules.value(1, 1))
    const [execution] = executionsOf(events).filter(({ is_maker }) => !is_maker)
    yield* expectEqual(
      "the execution (closed, entry value, realised)",
      [execution?.closed_size, execution?.closed_entry_value, execution?.realised_pnl],
      [rules.qty(1), Exact.format(rules.value(1, 1)), gain]
    )
    const own = events.filter(({ sub_account_address }) => sub_account_address === buyer.sub_account_address)
    yield* expectEqual("realised_pnl of the balance", pick(own, "balance_changed")[0]?.realised_pnl, gain)
    yield* expectEqual("the size that is left", pick(own, "position_changed").at(-1)?.position?.size, rules.qty(1))
  })
}

const reduceOnly: Case = {
  name: "reduce-only",
  level: "full",
  clause: "docs/contract/exchange.md#reduce-only-trimming",
  claim: "reduce-only orders never open a position: the excess is canceled, newest first",
  run: Effect.gen(function* () {
    const { record, rules } = yield* World
    const { buyer, seller } = yield* holder(3)
    const more = { reduce_only: true }
    const early = yield* place(buyer, { side: Side.SIDE_SELL, lots: 2, ticks: 30, more })
    const late = yield* place(buyer, { side: Side.SIDE_SELL, lots: 1, ticks: 31, more })
    yield* place(seller, { side: Side.SIDE_BUY, lots: 2, ticks: 0 })
    const { events } = yield* place(buyer, { side: Side.SIDE_SELL, lots: 2, ticks: 0 })
    const last = (id: string) =>
      present(
        `a record of order ${id}`,
        pick(record.events, "order_changed").findLast(({ order }) => order?.order_id === id)?.order
      )
    yield* expectEqual("executions of the closing order", executionsOf(events).length, 2)
    yield* expectEqual("what is left of the newest order", (yield* last(late.order_id)).leaves_qty, "0")
    yield* expectEqual("what is left of the older order", (yield* last(early.order_id)).leaves_qty, rules.qty(1))
  })
}

const leverage: Case = {
  name: "leverage",
  level: "full",
  clause: "docs/contract/boundary.md#commands-and-events (SetLeverage), docs/contract/exchange.md#margin",
  claim: "a leverage can be set within the market's limits, returns the position, and is refused if unchanged",
  run: Effect.gen(function* () {
    const { ask, instrument, refused, symbol, trader } = yield* World
    const owner = yield* trader
    const asked = (leverage: string) => ({ $case: "set_leverage", value: { symbol, leverage } }) as const
    const { position } = yield* positionOf(owner, asked("5"))
    yield* expectEqual("the leverage of the position", [position.leverage, position.size], ["5", "0"])
    yield* refused(owner, asked("5"), { code: status.FAILED_PRECONDITION, reason: "LeverageUnchanged" })
    const over = Exact.format((yield* exact("max_leverage", instrument.max_leverage)) + (yield* exact("one", "1")))
    yield* refused(owner, asked(over), {
      code: status.INVALID_ARGUMENT,
      reason: "OutOfRange",
      fact: ["field", "leverage"]
    })
    const preview = yield* ask.referee(RefereeService.previewMargin, {
      sub_account_address: owner.sub_account_address,
      symbol,
      leverage: "3"
    })
    yield* expectEqual("PreviewMargin without a position", [preview.required, preview.ok], ["0", true])
  })
}

const isolated: Case = {
  name: "isolated-margin",
  level: "full",
  clause:
    "docs/contract/boundary.md#commands-and-events (SetMarginMode, AddMargin), docs/contract/exchange.md#isolated-margin",
  claim: "an isolated position has its own margin, which can be raised, and keeps its mode while it is open",
  run: Effect.gen(function* () {
    const { ask, refused, symbol, trader } = yield* World
    const owner = yield* trader
    const asked = (margin_mode: MarginMode) =>
      ({ $case: "set_margin_mode", value: { symbol, margin_mode, leverage: undefined } }) as const
    const set = yield* positionOf(owner, asked(MarginMode.MARGIN_MODE_ISOLATED))
    yield* expectEqual("margin_mode", set.position.margin_mode, MarginMode.MARGIN_MODE_ISOLATED)
    const more = { $case: "add_margin", value: { symbol, margin: "1.25" } } as const
    yield* refused(owner, more, { code: status.NOT_FOUND, reason: "PositionNotFound" })
    const seller = yield* trader
    yield* place(seller, { side: Side.SIDE_SELL, lots: 1, ticks: 1 })
    yield* place(owner, { side: Side.SIDE_BUY, lots: 1, ticks: 1 })
    const before = yield* ask.referee(RefereeService.getAccount, {
      sub_account_address: owner.sub_account_address
    })
    const margin = yield* exact("isolated_margin", before.positions[0]?.isolated_margin ?? "")
    yield* expect(margin > 0n, "an open isolated position has no margin")
    const { position } = yield* positionOf(owner, more)
    const raised = margin + (yield* exact("one", "1.25"))
    yield* expectEqual("isolated_margin", position.isolated_margin, Exact.format(raised))
    const cross = asked(MarginMode.MARGIN_MODE_CROSS)
    yield* refused(owner, cross, { code: status.FAILED_PRECONDITION, reason: "PositionExists" })
    yield* refused(
      seller,
      { $case: "add_margin", value: { symbol, margin: "1" } },
      { code: status.FAILED_PRECONDITION, reason: "NotIsolated" }
    )
  })
}

const tiers: Case = {
  name: "risk-tiers",
  level: "full",
  clause: "docs/contract/boundary.md#referee (ListRiskTiers), docs/contract/exchange.md#markets",
  claim: "the tiers of a market rise, and the maintenance margin is continuous at their limits",
  run: Effect.gen(function* () {
    const { ask, symbol } = yield* World
    const { tiers } = yield* ask.referee(RefereeService.listRiskTiers, { symbol })
    yield* expect(tiers.length > 0, `${symbol} has no risk tier`)
    for (const [i, tier] of tiers.entries()) {
      yield* expectEqual("the number of a tier", [tier.symbol, tier.tier], [symbol, i + 1])
      const before = tiers[i - 1]
      if (before === undefined) continue
      const limit = yield* exact("risk_limit_value", before.risk_limit_value)
      yield* expect(
        limit < (yield* exact("risk_limit_value", tier.risk_limit_value)),
        `tier ${tier.tier} does not rise`
      )
      const marginOf = Effect.fnUntraced(function* (of: typeof tier) {
        const rate = yield* exact("maintenance_margin_rate", of.maintenance_margin_rate)
        return Exact.multiplyUp(limit, rate) - (yield* exact("mm_deduction", of.mm_deduction))
      })
      const texts = [Exact.format(yield* marginOf(before)), Exact.format(yield* marginOf(tier))]
      yield* expectEqual(`the margin at ${before.risk_limit_value} by tier ${tier.tier}`, texts[1], texts[0])
    }
  })
}

const tables: Case = {
  name: "referee-reads",
  level: "full",
  clause: "docs/contract/boundary.md#referee",
  claim: "fees, funding rates, insurance pool and ADL alert of a market can be read, and their histories",
  run: Effect.gen(function* () {
    const { ask, instrument, stranger, symbol } = yield* World
    const { user_id } = yield* stranger
    const { rates } = yield* ask.referee(RefereeService.getFeeRates, { user_id, symbol })
    yield* expectEqual(
      "GetFeeRates",
      rates.map(({ symbol, maker_fee_rate, taker_fee_rate }) => [symbol, maker_fee_rate, taker_fee_rate]),
      [[symbol, instrument.maker_fee_rate, instrument.taker_fee_rate]]
    )
    const { pool } = yield* ask.referee(RefereeService.getInsurancePool, { symbol })
    yield* expectEqual("the market of the pool", pool?.symbol, symbol)
    const { alert } = yield* ask.referee(RefereeService.getAdlAlert, { symbol })
    yield* expectEqual("the market of the alert", alert?.symbol, symbol)
    const range = { symbol, start_ms: 0, end_ms: 0 }
    const pools = yield* ask.referee(RefereeService.listInsurancePoolHistory, { ...range, limit: 2 })
    yield* expect(pools.pools.length <= 2, `ListInsurancePoolHistory returned ${pools.pools.length}, 2 were requested`)
    const alerts = yield* ask.referee(RefereeService.listAdlAlertHistory, { ...range, limit: 2 })
    yield* expect(alerts.alerts.length <= 2, `ListAdlAlertHistory returned ${alerts.alerts.length}, 2 were requested`)
    yield* ask.referee(RefereeService.listFundingRates, { ...range, page_token: "" })
  })
}

export const cases: ReadonlyArray<Case> = [closing, reduceOnly, leverage, isolated, tiers, tables]
