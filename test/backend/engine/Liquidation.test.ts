import { assert, describe, it } from "@effect/vitest"
import { assertConserved } from "../../../src/backend/engine/accounts/Accounts.ts"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import { begin } from "../../../src/backend/engine/events/StepContext.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import * as Adl from "../../../src/backend/engine/referee/Adl.ts"
import * as Liquidation from "../../../src/backend/engine/referee/Liquidation.ts"
import * as Pools from "../../../src/backend/engine/referee/Pools.ts"
import { memoryClientIdIndex } from "../../../src/backend/engine/state/ClientIdIndex.ts"
import { positionOf } from "../../../src/backend/engine/state/MarketPosition.ts"
import { drain } from "../../../src/backend/engine/state/Slices.ts"
import * as Snapshot from "../../../src/backend/engine/state/Snapshot.ts"
import type { Account, MarketPosition } from "../../../src/backend/engine/state/State.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import * as Grid from "../../../src/domain/Grid.ts"
import * as Margin from "../../../src/domain/Margin.ts"
import {
  type AdlAlert,
  AdlMode,
  AdlTriggerReason,
  BalanceReason,
  CancelType,
  CreateType,
  ExecType,
  type InsurancePool,
  MarginMode,
  OrderStatus,
  PositionStatus,
  RejectReason,
  Side
} from "../../../src/proto/gateway/v1/types.ts"
import { vectors } from "../../vectors.ts"
import {
  ackOf,
  balances,
  Bench,
  BTC,
  BUY,
  config,
  executions,
  kinds,
  orders,
  positions,
  SELL,
  START,
  type Trader,
  trader
} from "../Bench.ts"
import { assertNoneBelowMaintenance } from "../Invariants.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- the vectors are JSON of many shapes
type Case = any
const math = vectors("exchange-math.json") as Readonly<Record<string, ReadonlyArray<Case>>>
const cases = (name: string): Array<Case> => [...math[name]!]
const { format } = Decimal
const n = (text: string) => (text.startsWith("-") ? -Decimal.parse(text.slice(1)) : Decimal.parse(text))
const ETH = "ETH-USDC"

const MODES = ["", "Inactive", "Warning", "Active"]
const REASONS = ["", "NoTrigger", "PnlDrawdown", "EquityDepleted", "GroupObligation"]

const pools = (step: Engine.Step): Array<InsurancePool> =>
  step.events.flatMap(({ event }) => (event?.$case === "insurance_pool_changed" ? [event.value.pool!] : []))
const alerts = (step: Engine.Step): Array<AdlAlert> =>
  step.events.flatMap(({ event }) => (event?.$case === "adl_changed" ? [event.value.alert!] : []))

/** Sets a position and the totals without a trade; the caller balances it with another position. */
const put = (state: Engine.State, holding: MarketPosition, lots: number, entryValue: bigint): void => {
  const { market } = holding
  holding.lots = lots
  holding.entryValue = entryValue
  holding.figures = undefined
  state.entries += lots < 0 ? -entryValue : entryValue
  market.netLots += lots
  market.openLots += Math.max(0, lots)
  if (holding.account.index < 0) return
  market.holders.add(holding)
  market.longHolders += Number(lots > 0)
  state.liquidationRanges.invalidate(holding)
}

const fund = (state: Engine.State, account: Account, amount: bigint): void => {
  account.wallet += amount
  state.wallets += amount
  state.deposits += amount
}

describe("the rules of risk, to the digit of the vectors", () => {
  it.each(cases("liquidation"))("liquidation: $name", ({ input, output }: Case) => {
    const bench = new Bench({ poolBaseEquity: "100" })
    const { state } = bench
    const [user, maker, rich] = [trader("user"), trader("maker"), trader("rich")]
    bench.tick()
    bench.open(user)
    bench.open(maker, "10000000")
    bench.open(rich, "10000000")
    const account = state.accountOf.get(user.address)!
    const symbols = input.account.positions.map(({ symbol }: Case) => symbol) as Array<string>
    for (const { symbol, mark } of input.account.positions as Array<Case>) {
      // the band follows the mark, so the mark is set before the book
      bench.index(symbol, mark)
      for (const [price, qty] of (input.books[symbol]?.bids ?? []) as Array<[string, string]>)
        bench.place(maker, { symbol, side: BUY, qty, price })
    }
    for (const [symbol, pool] of Object.entries(input.pools) as Array<[string, Case]>) {
      const { index, rules } = state.marketOf.get(symbol)!
      const target = state.pools[index]!
      const realised = n(pool.realized_pnl_cum)
      fund(state, target.holding.account, realised)
      // cash above the seed counts as received from another pool
      target.received = n(pool.cash_balance) - target.base - realised
      if (pool.size === "0") continue
      const lots = Number(n(pool.size) / rules.qty.step)
      put(state, target.holding, lots, n(pool.entry_value))
      put(state, positionOf(state.accountOf.get(rich.address)!, target.holding.market), -lots, n(pool.entry_value))
    }
    fund(state, account, n(input.account.wallet))
    for (const position of input.account.positions as Array<Case>) {
      const market = state.marketOf.get(position.symbol)!
      const lots = Number(n(position.size) / market.rules.qty.step)
      const holding = positionOf(account, market)
      holding.leverage = n(position.leverage)
      put(state, holding, lots, n(position.entry_value))
      if (position.mode === "Isolated") {
        holding.isolated = true
        fund(state, account, n(position.isolated_margin))
        holding.account.wallet -= n(position.isolated_margin)
        holding.isolatedMargin = n(position.isolated_margin)
      }
      const other = positionOf(state.accountOf.get(rich.address)!, market)
      state.entries -= other.lots < 0 ? -other.entryValue : other.entryValue
      market.netLots -= other.lots
      market.openLots -= Math.max(0, other.lots)
      const both: number = other.lots - lots
      // its entry value makes the sum of all 0
      put(state, other, both, 0n)
      const signed = state.markets.length > 0 ? -state.entries : 0n
      if (both < 0) other.entryValue = -signed
      else other.entryValue = signed
      state.entries = 0n
    }
    assert.strictEqual(state.entries, 0n)
    const seen: Array<Case> = []
    const turn = begin(state, bench.now, undefined)
    for (const symbol of symbols) turn.repricedMarkets.add(state.marketOf.get(symbol)!)
    assert.strictEqual(drain(Liquidation.run(turn)), output.steps.length > 0)
    assertConserved(state, state.markets)
    let current: Case | undefined
    for (const { event } of turn.events) {
      if (event?.$case === "liquidation_started") {
        current = {
          symbol: event.value.symbol,
          bust_price: event.value.bust_price,
          fills: [],
          taken_over: "0",
          takeover_realised: "0",
          liquidation_fee: "0"
        }
        seen.push(current)
      }
      if (event?.$case === "execution_created") {
        const fill = event.value.execution!
        if (fill.user_id === user.user_id) {
          assert.strictEqual(fill.base_fee, "0")
          if (fill.exec_type === ExecType.EXEC_TYPE_BUST_TRADE) {
            current.taken_over = fill.exec_qty
            current.takeover_realised = fill.realised_pnl
            assert.strictEqual(fill.exec_price, current.bust_price)
          } else current.fills.push({ qty: fill.exec_qty, price: fill.exec_price, realised: fill.realised_pnl })
        } else current.fills.at(-1).maker_fee = fill.base_fee
      }
      if (event?.$case === "balance_changed" && event.value.balance!.user_id === user.user_id) {
        if (event.value.reason === 8 && event.value.amount.startsWith("-"))
          current.liquidation_fee = event.value.amount.slice(1)
        current.wallet = event.value.balance!.wallet_balance
      }
    }
    assert.deepStrictEqual(seen, output.steps)
    assert.strictEqual(format(account.wallet), output.wallet)
    assert.deepStrictEqual(
      Reads.positions(state, { user_id: user.user_id }).map(({ symbol, side, size, entry_value }) => ({
        symbol,
        size: side === Side.SIDE_SELL ? `-${size}` : size,
        entry_value
      })),
      output.open_positions
    )
    for (const [symbol, pool] of Object.entries(output.pools) as Array<[string, Case]>) {
      const { holding } = state.pools[state.marketOf.get(symbol)!.index]!
      assert.deepStrictEqual(
        {
          cash_balance: format(Pools.cashOf(state.pools[holding.market.index]!)),
          realized_pnl_cum: format(holding.account.wallet),
          size: Grid.text(holding.market.rules.qty, holding.lots),
          entry_value: format(holding.entryValue)
        },
        pool
      )
    }
  })

  it.each(cases("redistribution"))("redistribution: $name", ({ input, output }: Case) => {
    const members = input.map(({ symbol, equity, base_equity }: Case) => ({
      symbol,
      base: n(base_equity),
      equity: n(equity),
      in: 0n,
      out: 0n,
      rest: 0n
    }))
    for (const pool of members) {
      if (pool.equity >= 0n) continue
      const shares = Pools.sharesOf(
        -pool.equity as unknown as bigint,
        members.map((donor: Case) => (donor === pool ? 0n : Pools.capacityOf(donor.equity, donor.base)))
      )
      members.forEach((donor: Case, i: number) => {
        donor.out += shares[i]!
        donor.equity -= shares[i]!
        pool.in += shares[i]!
        pool.equity += shares[i]!
      })
      pool.rest = -pool.equity
    }
    assert.deepStrictEqual(
      members.map((pool: Case) => ({
        symbol: pool.symbol,
        redistribution_in: format(pool.in),
        redistribution_out: format(pool.out),
        equity: format(pool.equity),
        group_adl_obligation: format(pool.rest)
      })),
      output
    )
  })

  it.each(cases("adl"))("deleveraging: $name", ({ symbol, input, output }: Case) => {
    const market = shippedMarkets.find((market) => market.symbol === symbol)!
    const [tick, qtyStep] = [n(market.tick_size), n(market.qty_step)]
    const mark = n(input.mark)
    const at = (size: bigint, price: bigint) => Decimal.mul(Decimal.abs(size), price, "up")
    const size = n(input.pool.size)
    const realised = n(input.pool.realized_pnl_cum)
    const ticks = Adl.priceTicks({
      tick,
      size,
      entryValue: n(input.pool.entry_value),
      value: at(size, mark),
      result:
        input.kind === "depleted"
          ? Adl.depletedResult(n(input.pool.cash_balance))
          : Adl.drawdownResult(n(input.max_pnl), n(input.max_group), realised)
    })
    const price = BigInt(ticks) * tick
    const ranked = Adl.rank(
      (input.counterparties as Array<Case>).map((party) => {
        const position = n(party.size)
        const equity = { dividend: n(party.equity), divisor: 1n }
        const value = at(position, mark)
        const entryValue = n(party.entry_value)
        const pnl = Margin.unrealisedPnl(position, entryValue, value)
        return {
          address: party.address as string,
          position,
          entryValue,
          equity,
          score: Adl.scoreOf({ pnl, entryValue, value, equity })
        }
      })
    )
    let pool: Margin.Entry = { ...Margin.FLAT, position: size, entryValue: n(input.pool.entry_value) }
    let result = 0n
    const fills = []
    for (const { address, position, entryValue, equity } of ranked) {
      const left = Number(Decimal.abs(pool.position) / qtyStep)
      const lots = Math.min(
        left,
        Adl.limitLots({
          lots: Number(position / qtyStep),
          equity,
          isolated: false,
          ticks,
          markTicks: Number(mark / tick),
          unit: Decimal.mul(tick, qtyStep, "up")
        })
      )
      if (lots === 0) continue
      const taken = BigInt(lots) * qtyStep
      const fill = { size: position < 0n ? taken : -taken, value: at(taken, price), fee: 0n }
      const own = Margin.settle({ ...Margin.FLAT, position, entryValue }, fill)
      const houses = Margin.settle(pool, { ...fill, size: -fill.size })
      pool = houses.entry
      result += houses.realised
      fills.push({
        address,
        qty: format(taken),
        realised: format(own.realised),
        size: format(own.entry.position)
      })
    }
    assert.deepStrictEqual(
      {
        price: format(price),
        fills,
        pool: {
          cash_balance: format(n(input.pool.cash_balance) + result),
          size: format(pool.position),
          realized_pnl_cum: format(realised + result)
        }
      },
      output
    )
  })

  it.each(cases("adl_mode"))("mode: $name", ({ input, output }: Case) => {
    const { mode, reason } = Pools.alertOf({
      equity: n(input.equity),
      base: n(input.base_equity),
      obligation: n(input.obligation),
      redistributed: n(input.redistributed),
      ratio: n(input.ratio),
      maxGroup: n(input.max_group),
      hasInventory: input.has_inventory,
      wasDrawdown: input.was_drawdown
    })
    assert.deepStrictEqual({ adl_mode: MODES[mode], adl_trigger_reason: REASONS[reason] }, output)
  })
})

describe("docs/contract/stories.md#liquidation-pool-adl at the engine", () => {
  it("matches every number from a crash to a deleveraged short", () => {
    const markets = shippedMarkets.filter(({ symbol }) => symbol === BTC || symbol === ETH)
    const bench = new Bench({ markets, poolBaseEquity: "100" })
    const { state } = bench
    // the ETH pool has lost 20 before
    const seedLess = () => {
      const { account } = state.pools[1]!.holding
      account.wallet -= 20n * Decimal.ONE
      state.wallets -= 20n * Decimal.ONE
      state.deposits -= 20n * Decimal.ONE
    }
    seedLess()
    const [user, x, m] = [trader("user"), trader("x"), trader("m")]
    bench.tick()
    bench.open(user, "10000")
    bench.open(x, "10000")
    bench.open(m, "100000")
    bench.index(BTC, "60000")
    bench.place(m, { side: SELL, qty: "0.5", price: "60000" })
    bench.place(user, { side: BUY, qty: "0.5", price: "60000" })
    bench.place(user, { side: BUY, qty: "0.001", price: "30000" })
    bench.index(BTC, "45000")
    bench.place(m, { side: BUY, qty: "1", price: "45000" })
    bench.place(x, { side: SELL, qty: "1", price: "45000" })
    const account = (who: Trader) => Reads.account(state, who.address)!.balances[0]!
    assert.deepInclude(account(user), { equity: "2483.5", maintenance_margin: "225" })
    bench.index(BTC, "41000")
    for (const [qty, price] of [
      ["0.2", "40390"],
      ["0.1", "40100"],
      ["0.5", "39900"]
    ] as const)
      bench.place(m, { side: BUY, qty, price })
    assert.deepInclude(account(user), { equity: "483.5", maintenance_margin: "205" })
    // mark 40400
    const crash = bench.index(BTC, "40400")
    assert.strictEqual(Reads.prices(state, [BTC])[0]!.mark_price, "40400")
    const fills = executions(crash, user)
    assert.deepStrictEqual(
      fills.map(({ exec_type, exec_qty, exec_price, base_fee, fee_rate }) => [
        exec_type,
        exec_qty,
        exec_price,
        base_fee,
        fee_rate
      ]),
      [
        [ExecType.EXEC_TYPE_TRADE, "0.2", "40390", "0", "0"],
        [ExecType.EXEC_TYPE_TRADE, "0.1", "40100", "0", "0"],
        [ExecType.EXEC_TYPE_BUST_TRADE, "0.2", "40033", "0", "0"]
      ]
    )
    assert.deepStrictEqual(
      executions(crash, m).map(({ base_fee }) => base_fee),
      ["1.6156", "0.802"]
    )
    assert.deepStrictEqual(
      fills.map(({ realised_pnl }) => realised_pnl),
      ["-3922", "-1990", "-3993.4"]
    )
    const ids = executions(crash).map(({ exec_id }) => exec_id)
    assert.strictEqual(new Set(ids).size, 5, "each execution has an id of its own, that of the takeover too")
    const [canceled, liq, , , liqEnd, takeOver, takenOver] = orders(crash, user)
    assert.deepInclude(canceled, { cancel_type: CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ })
    assert.deepInclude(liq, {
      create_type: CreateType.CREATE_TYPE_CREATE_BY_LIQ,
      order_status: OrderStatus.ORDER_STATUS_NEW,
      price: "40033",
      qty: "0.5"
    })
    assert.strictEqual(liqEnd!.order_status, OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED)
    assert.strictEqual(liqEnd!.reject_reason, RejectReason.REJECT_REASON_EC_NO_ERROR)
    assert.deepInclude(takeOver, {
      create_type: CreateType.CREATE_TYPE_CREATE_BY_TAKE_OVER_PASS_THROUGH,
      qty: "0.2"
    })
    assert.strictEqual(takenOver!.order_status, OrderStatus.ORDER_STATUS_FILLED)
    const seen = positions(crash, user)
    const { POSITION_STATUS_LIQ, POSITION_STATUS_NORMAL } = PositionStatus
    // flat is normal, also while the takeover goes on
    assert.deepStrictEqual(
      seen.map(({ position_status, size }) => [position_status, size]),
      [
        [POSITION_STATUS_LIQ, "0.5"],
        [POSITION_STATUS_LIQ, "0.3"],
        [POSITION_STATUS_LIQ, "0.2"],
        [POSITION_STATUS_NORMAL, "0"],
        [POSITION_STATUS_NORMAL, "0"]
      ]
    )
    assert.strictEqual(account(user).wallet_balance, "17.66")
    assert.deepInclude(balances(crash, user).at(-1), { wallet_balance: "17.66", order_margin: "0" })
    const fee = crash.events.find(({ event }) => event?.$case === "balance_changed" && event.value.reason === 8)
    assert.strictEqual(fee!.event!.$case === "balance_changed" && fee!.event!.value.amount, "-60.44")
    assert.deepInclude(
      pools(crash).find(({ symbol }) => symbol === BTC),
      {
        cash_balance: "160.44",
        realized_pnl_cum: "60.44",
        unrealized_pnl: "73.4",
        equity: "233.84"
      }
    )
    assert.deepStrictEqual(pools(crash).at(-1)!.inventory[0]!.size, "0.2")
    // the inventory of a pool is no position of a user, also when its money changes
    assert.isTrue(crash.events.every(({ event, user_id }) => event?.$case !== "position_changed" || user_id !== ""))
    const started = kinds(crash).indexOf("liquidation_started")
    assert.deepStrictEqual(crash.events[started]!.event, {
      $case: "liquidation_started",
      value: { symbol: BTC, side: BUY, size: "0.5", bust_price: "40033" }
    })
    assert.isBelow(kinds(crash).indexOf("order_changed"), started)
    assert.isAbove(kinds(crash).indexOf("insurance_pool_changed"), started)
    const trades = crash.events.flatMap(({ event }) => (event?.$case === "trade_printed" ? event.value.trades : []))
    assert.deepStrictEqual(
      trades.map(({ is_liquidation, price }) => [is_liquidation, price]),
      [
        [true, "40390"],
        [true, "40100"]
      ]
    )
    // mark 39000
    const second = bench.index(BTC, "39000")
    const [redistributed, , emptied] = pools(second)
    assert.deepInclude(redistributed, {
      group_redistribution_in: "30",
      group_adl_obligation: "16.16",
      cash_balance: "190.44",
      equity: "-16.16"
    })
    assert.deepInclude(pools(second)[1], { symbol: ETH, group_redistribution_out: "30", equity: "50" })
    assert.deepInclude(alerts(second)[0], {
      adl_mode: AdlMode.ADL_MODE_ACTIVE,
      adl_trigger_reason: AdlTriggerReason.ADL_TRIGGER_REASON_GROUP_OBLIGATION,
      latest_pnl_ratio: "-0.89217435"
    })
    const [handed] = executions(second, x)
    assert.deepInclude(handed, {
      exec_type: ExecType.EXEC_TYPE_ADL_TRADE,
      create_type: CreateType.CREATE_TYPE_CREATE_BY_ADL_PASS_THROUGH,
      exec_qty: "0.2",
      exec_price: "39080.8",
      realised_pnl: "1183.84",
      base_fee: "0"
    })
    const paid = second.events.flatMap(({ event, user_id }) =>
      event?.$case === "balance_changed" && user_id === x.user_id ? [event.value] : []
    )
    assert.deepInclude(paid[0], {
      reason: BalanceReason.BALANCE_REASON_ADL,
      amount: "1183.84",
      exec_id: handed!.exec_id
    })
    assert.strictEqual(orders(second, x).at(-1)!.closed_pnl, "1178.89")
    assert.deepStrictEqual(
      positions(second, x).map(({ position_status, size }) => [position_status, size]),
      [
        [PositionStatus.POSITION_STATUS_ADL, "1"],
        [PositionStatus.POSITION_STATUS_NORMAL, "0.8"]
      ]
    )
    assert.deepInclude(emptied, { cash_balance: "0", realized_pnl_cum: "-130", inventory: [], equity: "0" })
    assert.deepInclude(alerts(second).at(-1), {
      adl_mode: AdlMode.ADL_MODE_INACTIVE,
      latest_pnl_ratio: "-0.84068315"
    })
    // at the end
    assert.strictEqual(account(x).wallet_balance, "11159.09")
    assert.strictEqual(account(m).wallet_balance, "107482.5824")
    const left = Reads.positions(state, { symbol: BTC }).map(({ entry_value, side, size }) => [side, size, entry_value])
    assert.deepStrictEqual(left, [
      [Side.SIDE_UNSPECIFIED, "0", "0"],
      [Side.SIDE_SELL, "0.8", "36000"],
      [Side.SIDE_BUY, "0.8", "34588"]
    ])
    assert.strictEqual(format(state.fees), "58.6676")
    assert.deepStrictEqual(
      [BTC, ETH].map((symbol) => Reads.insurancePool(state, symbol)!.pool!.equity),
      ["0", "50"]
    )
    for (const mark of ["39000", "41000"]) {
      bench.index(BTC, mark)
      const equities = [user, x, m].reduce((sum, who) => sum + n(account(who).equity), 0n)
      const houses = state.pools.reduce((sum, pool) => sum + Pools.equityOf(pool), 0n)
      assert.strictEqual(format(equities + houses + state.fees), "120180")
    }
    assert.strictEqual(Reads.adlAlert(state, BTC)!.alert!.adl_mode, AdlMode.ADL_MODE_INACTIVE)
    const history = Reads.insurancePoolHistory(state, { symbol: BTC, start_ms: 0, end_ms: 0, limit: 2 }).pools
    assert.deepStrictEqual(
      history.map(({ cash_balance }) => cash_balance),
      ["0", "190.44"]
    )
    assert.strictEqual(
      Reads.adlAlertHistory(state, { start_ms: 0, end_ms: 0, limit: 0 }).alerts.length,
      alerts(crash).length + 2
    )
    // a replay of the inputs ends in the same state
    const again = Engine.initial(config({ markets, poolBaseEquity: "100" }))
    const { account: house } = again.pools[1]!.holding
    house.wallet -= 20n * Decimal.ONE
    again.wallets -= 20n * Decimal.ONE
    again.deposits -= 20n * Decimal.ONE
    for (const input of bench.inputs) Engine.apply(again, input)
    assert.strictEqual(Engine.hash(again), Engine.hash(state))
  })
})

describe("the bounds of deleveraging and of pools", () => {
  const ONE = Decimal.ONE

  it("takes an Isolated position whole or not at all, and a Cross position as far as its equity bears", () => {
    // a short of 10 lots, at a price that is 5 ticks worse than the mark; a lot and a tick are worth 1
    const limit = (isolated: boolean, equity: bigint) =>
      Adl.limitLots({
        lots: -10,
        equity: { dividend: equity, divisor: 1n },
        isolated,
        ticks: 105,
        markTicks: 100,
        unit: 1n
      })
    assert.deepStrictEqual([limit(true, 49n), limit(true, 50n)], [0, 10])
    assert.deepStrictEqual([limit(false, 49n), limit(false, 50n)], [9, 10])
  })

  it("ranks by the exact score, also where scores differ by less than a float shows; then by address", () => {
    const big = 10n ** 40n
    const ranked = (...scores: ReadonlyArray<readonly [address: string, dividend: bigint, divisor: bigint]>) =>
      Adl.rank(scores.map(([address, dividend, divisor]) => ({ address, score: { dividend, divisor } }))).map(
        ({ address }) => address
      )
    assert.deepStrictEqual(ranked(["a", 1n, 2n], ["b", 3n, 2n], ["c", -1n, 2n], ["d", 2n, 2n]), ["b", "d", "a", "c"])
    for (const sign of [1n, -1n]) {
      const [high, low] = [big + sign, big].map((value) => sign * value) as [bigint, bigint]
      for (const scores of [
        [
          ["z", high, big],
          ["a", low, big]
        ] as const,
        [
          ["a", low, big],
          ["z", high, big]
        ] as const
      ])
        assert.deepStrictEqual(ranked(...scores), ["z", "a"], String(sign))
    }
    assert.deepStrictEqual(ranked(["b", 1n, 3n], ["a", 2n, 6n], ["c", 3n, 9n]), ["a", "b", "c"])
  })

  it("keeps a maximum for 480 minutes, the last one included", () => {
    const peaks = [{ minute: 100, value: 9n }]
    Pools.recordPeak(peaks, 580, 1n)
    assert.strictEqual(Pools.currentPeak(peaks), 9n)
    Pools.recordPeak(peaks, 581, 1n)
    assert.strictEqual(Pools.currentPeak(peaks), 1n)
  })

  it("records the pools in each minute, though no price changes", () => {
    const bench = new Bench()
    bench.tick()
    const recorded = Array.from({ length: 130 }, () => pools(bench.tick()).length)
    const { length } = bench.state.pools
    assert.deepStrictEqual(
      recorded.filter((count) => count > 0),
      [length, length]
    )
  })

  it("keeps a bust price within the prices of the market", () => {
    const bench = new Bench()
    const who = trader("who")
    bench.open(who)
    const holding = positionOf(bench.state.accountOf.get(who.address)!, bench.state.marketOf.get(BTC)!)
    put(bench.state, holding, 1000, n("60000"))
    const bust = (equity: string) =>
      Grid.text(holding.market.rules.price, Liquidation.bustTicks(holding, { dividend: n(equity), divisor: 1n }))
    assert.deepStrictEqual([bust("70000"), bust("6000"), bust("-2000000")], ["0.1", "54000", "1000000"])
  })

  const alertOf = (sample: Partial<Parameters<typeof Pools.alertOf>[0]>) =>
    Pools.alertOf({
      equity: 100n * ONE,
      base: 100n * ONE,
      obligation: 0n,
      redistributed: 0n,
      ratio: 0n,
      maxGroup: 20_000n * ONE,
      hasInventory: true,
      wasDrawdown: false,
      ...sample
    })

  it("ends a drawdown only above the ratio -0.25", () => {
    const alert = (ratio: bigint, wasDrawdown: boolean) => alertOf({ ratio, wasDrawdown }).mode
    const end = n("-0.25")
    assert.strictEqual(alert(end, true), AdlMode.ADL_MODE_ACTIVE)
    assert.notStrictEqual(alert(end + 1n, true), AdlMode.ADL_MODE_ACTIVE)
    assert.notStrictEqual(alert(end, false), AdlMode.ADL_MODE_ACTIVE)
  })

  it("warns below a fifth of the seed and below the ratio -0.2, and deleverages below -0.3, not at these bounds", () => {
    const alert = (ratio: bigint, equity = 100n * ONE) => {
      const { mode, reason } = alertOf({ ratio, equity })
      return [MODES[mode], REASONS[reason]].join(" ")
    }
    assert.strictEqual(alert(0n, 20n * ONE), "Inactive NoTrigger")
    assert.strictEqual(alert(0n, 20n * ONE - 1n), "Warning EquityDepleted")
    assert.strictEqual(alert(n("-0.2")), "Inactive NoTrigger")
    assert.strictEqual(alert(n("-0.2") - 1n), "Warning PnlDrawdown")
    assert.strictEqual(alert(n("-0.3")), "Warning PnlDrawdown")
    assert.strictEqual(alert(n("-0.3") - 1n), "Active PnlDrawdown")
  })

  it("has no ratio for a group whose largest equity is not positive", () => {
    assert.deepStrictEqual([Pools.ratioOf(-ONE, 0n, 0n), Pools.ratioOf(-ONE, 0n, -ONE)], [0n, 0n])
  })
})

describe("an account with several positions below their margins", () => {
  it("loses the Isolated ones in the order of their symbols, not of their markets", () => {
    const bench = new Bench()
    const { state } = bench
    const [user, other] = [trader("user"), trader("other")]
    bench.tick()
    for (const who of [user, other]) bench.open(who, "1000")
    const turn = begin(state, bench.now, undefined)
    for (const market of [...state.markets].reverse()) {
      const [holding, counter] = [user, other].map(({ address }) => positionOf(state.accountOf.get(address)!, market))
      const value = market.markPrice
      const lots = Number(Decimal.ONE / market.rules.qty.step)
      put(state, holding!, lots, value)
      put(state, counter!, -lots, value)
      holding!.isolated = true
      turn.changedPositions.add(holding!)
    }
    assert.isTrue(drain(Liquidation.run(turn)))
    const started = turn.events.flatMap(({ event }) =>
      event?.$case === "liquidation_started" ? [event.value.symbol] : []
    )
    assert.deepStrictEqual(started.slice(0, 4), ["BTC-USDC", "DOGE-USDC", "ETH-USDC", "SOL-USDC"])
  })
})

describe("a liquidation", () => {
  const opened = () => {
    const bench = new Bench()
    const [user, second, maker] = [trader("user"), trader("user", 1), trader("maker")]
    bench.tick()
    bench.index(BTC, "60000")
    bench.index(ETH, "3000")
    bench.open(user, "10000")
    bench.open(second, "10000", 1)
    bench.open(maker, "10000000")
    const mode = (symbol: string, leverage = "10") => {
      const margin_mode = MarginMode.MARGIN_MODE_ISOLATED
      ackOf(bench.send(user, { $case: "set_margin_mode", value: { symbol, margin_mode, leverage } }))
    }
    const buy = (symbol: string, qty: string, price: string) => {
      bench.place(maker, { symbol, side: SELL, qty, price })
      bench.place(user, { symbol, side: BUY, qty, price })
    }
    const held = () =>
      Reads.positions(bench.state, { sub_account_address: user.address }).map(({ symbol, size }) => [symbol, size])
    return { bench, user, second, maker, mode, buy, held }
  }
  const BEFORE = CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ

  it("follows a withdrawal, at a mark that the account would have survived with its money", () => {
    const { bench, buy, held, user } = opened()
    buy(BTC, "0.5", "60000")
    // 10000 − 16.5 of fees: at 50000 there are 4983.5 for a maintenance margin of 250
    bench.index(BTC, "59000")
    const value = { withdrawal_id: "w", asset: "USDC", amount: "6000", destination: "0xab" }
    ackOf(bench.send(user, { $case: "withdraw_funds", value }))
    bench.index(BTC, "53000")
    assert.deepStrictEqual(held(), [[BTC, "0.5"]])
    bench.index(BTC, "52500")
    assert.deepStrictEqual(held(), [])
  })

  it.each([
    // equity 12967: at 72300 there are 667 left, for 1 % of 72300
    { deposit: "13000", qty: "1", mark: "72300" },
    // equity 219800: at 65970 there are 22790 left, for 2 % of 2177010 less 20000, in the second tier
    { deposit: "220889", qty: "33", mark: "65970" }
  ])("of a short of $qty counts the maintenance margin that grows with the mark", ({ deposit, mark, qty }) => {
    const { bench, maker } = opened()
    const short = trader("short")
    bench.open(short, deposit)
    bench.place(maker, { side: BUY, qty, price: "60000" })
    bench.place(short, { side: SELL, qty, price: "60000" })
    bench.index(BTC, "60000.1")
    bench.index(BTC, mark)
    assert.deepStrictEqual(Reads.positions(bench.state, { sub_account_address: short.address }), [])
  })

  it("cancels an order of another sub-account of its user that is in its way, and fills the next one", () => {
    const { bench, buy, maker, second, user } = opened()
    buy(BTC, "1", "60000")
    bench.place(second, { side: BUY, qty: "0.1", price: "51000" })
    bench.place(maker, { side: BUY, qty: "1", price: "50900" })
    const step = bench.index(BTC, "50500")
    assert.deepStrictEqual(
      executions(step, user).map(({ exec_price, exec_qty }) => [exec_price, exec_qty]),
      [["50900", "1"]]
    )
    const canceled = orders(step).filter(({ sub_account_address }) => sub_account_address === second.address)
    assert.deepStrictEqual(
      canceled.map(({ cancel_type }) => cancel_type),
      [CancelType.CANCEL_TYPE_CANCEL_BY_SMP]
    )
  })

  it("of a Cross account leaves its Isolated positions, and cancels its orders in every market", () => {
    const { bench, buy, held, mode, user } = opened()
    mode(ETH)
    buy(ETH, "20", "3000")
    buy(BTC, "0.3", "60000")
    bench.place(user, { symbol: ETH, side: SELL, qty: "1", price: "3500", link: "isolated" })
    bench.place(user, { symbol: "SOL-USDC", side: BUY, qty: "1", price: "100", link: "flat" })
    const step = bench.index(BTC, "40000")
    assert.deepStrictEqual(
      orders(step, user)
        .filter(({ cancel_type }) => cancel_type === BEFORE)
        .map(({ order_link_id }) => order_link_id),
      ["isolated", "flat"]
    )
    assert.deepStrictEqual(held(), [[ETH, "20"]])
  })

  it("of an Isolated position leaves the Cross positions with exactly their maintenance margin, which is enough", () => {
    const bench = new Bench()
    const { state } = bench
    const [user, other] = [trader("user"), trader("other")]
    bench.tick()
    for (const who of [user, other]) bench.open(who, "600")
    const held = (symbol: string) => {
      const market = state.marketOf.get(symbol)!
      const [holding, counter] = [user, other].map(({ address }) => positionOf(state.accountOf.get(address)!, market))
      const lots = Number(Decimal.ONE / market.rules.qty.step)
      put(state, holding!, lots, market.markPrice)
      put(state, counter!, -lots, market.markPrice)
      return holding!
    }
    bench.place(user, { symbol: "SOL-USDC", side: BUY, qty: "0.1", price: "100" })
    const [isolated, cross] = [held(ETH), held(BTC)]
    isolated.isolated = true
    // 1 % of 3000, and of 60000
    isolated.isolatedMargin = n("30")
    const check = () => {
      const turn = begin(state, bench.now, undefined)
      turn.changedPositions.add(isolated)
      const done = drain(Liquidation.run(turn))
      return [done, isolated.lots !== 0, cross.lots !== 0, Reads.openOrders(state).length]
    }
    assert.deepStrictEqual(check(), [false, true, true, 1])
    // at a bust price on the tick nothing of it is left for the wallet
    isolated.isolatedMargin -= n("0.01")
    assert.deepStrictEqual(check(), [true, false, true, 1])
    assert.strictEqual(format(cross.account.wallet), "600")
    assert.deepStrictEqual(check(), [false, false, true, 1])
    cross.account.wallet--
    assert.deepStrictEqual(check(), [true, false, false, 0])
  })
})

describe("a check of many accounts", () => {
  it("can stop after each of them", () => {
    const bench = new Bench({ markets: shippedMarkets.filter(({ symbol }) => symbol === BTC) })
    const { state } = bench
    const [market] = state.markets
    const traders = ["a", "b", "c", "d"].map((name) => trader(name))
    bench.tick()
    for (const one of traders) bench.open(one)
    const due = traders.map((one) => positionOf(state.accountOf.get(one.address)!, market!))
    Object.assign(state.liquidationRanges, {
      *takeDue() {
        return due
      }
    })
    const turn = begin(state, bench.now, undefined)
    turn.repricedMarkets.add(market!)
    assert.isAtLeast([...Liquidation.run(turn)].length, due.length)
  })
})

describe("the alert of a pool", () => {
  it("is emitted again where its ratio has changed by 0.01 since the last one", () => {
    const bench = new Bench({ markets: shippedMarkets.filter(({ symbol }) => symbol === BTC), poolBaseEquity: "100" })
    const pool = bench.state.pools[0]!
    bench.tick()
    // without profit and loss its ratio stays 0
    const again = ["0.01", "-0.01", "0.00999999", "-0.00999999"].map((last, i) => {
      pool.alertedRatio = n(last)
      return alerts(bench.index(BTC, String(60_001 + i))).map(({ latest_pnl_ratio, updated_time_ms }) => [
        latest_pnl_ratio,
        bench.now - updated_time_ms
      ])
    })
    assert.deepStrictEqual(again, [[["0", 0]], [["0", 0]], [], []])
  })
})

describe("deleveraging of a depleted pool", () => {
  it.each([1, -1])("takes the opposite position of a single lot: the pool has %i", (lots) => {
    const markets = shippedMarkets.filter(({ symbol }) => symbol === BTC)
    const bench = new Bench({ markets, poolBaseEquity: "100" })
    const { state } = bench
    const { holding } = state.pools[0]!
    const user = trader("user")
    bench.tick()
    bench.open(user, "1000")
    const value = Grid.scaled(holding.market.rules.qty, 1) * 60_000n
    put(state, holding, lots, value)
    put(state, positionOf(state.accountOf.get(user.address)!, holding.market), -lots, value)
    fund(state, holding.account, n("-101"))
    assert.deepStrictEqual(
      executions(bench.index(BTC, "60001"), user).map(({ exec_qty, exec_type, side }) => [exec_type, exec_qty, side]),
      [[ExecType.EXEC_TYPE_ADL_TRADE, "0.001", lots > 0 ? BUY : SELL]]
    )
    assert.strictEqual(holding.lots, 0)
    assertConserved(state, state.markets)
  })
})

/** A pool that is long 1 BTC from 60000, and a user who is short 1 from `entry` with an Isolated margin of 800. */
const poolAndShort = (given: { readonly poolBaseEquity: string; readonly index: string; readonly entry: string }) => {
  const { entry, index, poolBaseEquity } = given
  const bench = new Bench({ markets: shippedMarkets.filter(({ symbol }) => symbol === BTC), poolBaseEquity })
  const { state } = bench
  const { holding } = state.pools[0]!
  const user = trader("user")
  bench.tick()
  bench.open(user, "800")
  bench.index(BTC, index)
  put(state, holding, 1000, n("60000"))
  const short = positionOf(state.accountOf.get(user.address)!, holding.market)
  short.isolated = true
  short.isolatedMargin = n("800")
  put(state, short, -1000, n(entry))
  // the user has closed a short of 60000 before
  const profit = n("60000") - n(entry)
  short.account.wallet += profit - short.isolatedMargin
  state.wallets += profit
  return { bench, state, holding, user }
}

describe("the obligation of a pool", () => {
  it("is announced in each step that changes it, until a position can take the inventory", () => {
    // the price at which the pool keeps nothing, 59900, costs the short more than its margin
    const { bench, state, user } = poolAndShort({ poolBaseEquity: "100", index: "59001", entry: "59000" })
    const announced = ["59000", "58990", "58995"].map((price) =>
      pools(bench.index(BTC, price)).map(({ group_adl_obligation }) => group_adl_obligation)
    )
    assert.deepStrictEqual(announced, [["900"], ["910"], ["905"]])
    // no mark moves in this step
    const step = bench.send(user, { $case: "add_margin", value: { symbol: BTC, margin: "200" } })
    assert.deepStrictEqual(
      executions(step, user).map(({ exec_price, exec_type }) => [exec_type, exec_price]),
      [[ExecType.EXEC_TYPE_ADL_TRADE, "59900"]]
    )
    assert.strictEqual(pools(step).at(-1)!.group_adl_obligation, "0")
    assertConserved(state, state.markets)
  })
})

describe("deleveraging after a drawdown", () => {
  it("continues in a later step with the rest, while the ratio is at most -0.25", () => {
    const { bench, holding, state, user } = poolAndShort({ poolBaseEquity: "20000", index: "53000", entry: "53000" })
    const seen = (step: Engine.Step) => [
      executions(step, user).map(({ exec_type, exec_price }) => [exec_type, exec_price]),
      alerts(step).map(({ adl_mode, latest_pnl_ratio }) => [adl_mode, latest_pnl_ratio])
    ]
    // at 54000 the only counterparty would pay more than its equity
    const begun = bench.index(BTC, "52900")
    assert.deepStrictEqual(seen(begun), [[], [[AdlMode.ADL_MODE_ACTIVE, "-0.355"]]])
    // the record of the pool shows the mode too
    assert.deepStrictEqual(
      pools(begun).map(({ adl_mode, latest_pnl_ratio }) => [adl_mode, latest_pnl_ratio]),
      [[AdlMode.ADL_MODE_ACTIVE, "-0.355"]]
    )
    // income of the pool
    fund(state, holding.account, n("1700"))
    const later = bench.index(BTC, "53000")
    assert.deepStrictEqual(seen(later), [
      [[ExecType.EXEC_TYPE_ADL_TRADE, "53000"]],
      [
        [AdlMode.ADL_MODE_ACTIVE, "-0.265"],
        [AdlMode.ADL_MODE_INACTIVE, "-0.265"]
      ]
    ])
  })
})

describe("the queue of a deleveraging", () => {
  it("passes an Isolated position that cannot bear the price, which follows from the largest PnL of the window", () => {
    const bench = new Bench({ markets: shippedMarkets.filter(({ symbol }) => symbol === BTC), poolBaseEquity: "20000" })
    const { state } = bench
    const { holding } = state.pools[0]!
    const [user, rich, long] = [trader("user"), trader("rich"), trader("long")]
    bench.tick()
    for (const who of [user, rich, long]) bench.open(who, "800")
    bench.deposit(rich, "100000")
    bench.deposit(long, "100000")
    bench.index(BTC, "53000")
    const held = ({ address }: Trader) => positionOf(state.accountOf.get(address)!, holding.market)
    put(state, holding, 1000, n("60000"))
    // the largest leverage is first in line
    held(user).isolated = true
    held(user).isolatedMargin = n("800")
    held(user).account.wallet -= n("800")
    for (const who of [user, rich]) put(state, held(who), -1000, n("53000"))
    put(state, held(long), 1000, n("46000"))
    // the PnL of the pool was 0 in the minute before
    bench.now += 60_000
    const step = bench.index(BTC, "52900")
    assert.deepStrictEqual(
      executions(step).map(({ exec_price, exec_qty, exec_type, user_id }) => [
        user_id,
        exec_type,
        exec_qty,
        exec_price
      ]),
      [[rich.user_id, ExecType.EXEC_TYPE_ADL_TRADE, "1", "54000"]]
    )
    assert.deepStrictEqual(
      [user, rich].map((who) => held(who).lots),
      [-1000, 0]
    )
  })
})

describe("the indicator of deleveraging", () => {
  /** Six longs of different prices and equities. */
  const opened = () => {
    const bench = new Bench({ markets: shippedMarkets.filter(({ symbol }) => symbol === BTC) })
    const maker = trader("maker")
    bench.tick()
    bench.open(maker, "10000000")
    const longs = Array.from({ length: 6 }, (_, i) => trader(`long-${i}`))
    bench.index(BTC, "60000")
    for (const [i, who] of longs.entries()) {
      bench.open(who, String(3_000 * (i + 1)))
      const margin_mode = i % 2 === 0 ? MarginMode.MARGIN_MODE_CROSS : MarginMode.MARGIN_MODE_ISOLATED
      bench.send(who, {
        $case: "set_margin_mode",
        value: { symbol: BTC, margin_mode, leverage: String(10 * (i % 3) + 10) }
      })
      const price = String(60_000 + 20 * i)
      bench.place(maker, { side: SELL, qty: "0.1", price })
      bench.place(who, { side: BUY, qty: "0.1", price })
    }
    bench.tick()
    const indicators = (state = bench.state) =>
      longs.map(({ address }) => state.accountOf.get(address)!.holdings[0]!.adlRank)
    /** Those that a copy of the state ranks, which remembers no score. */
    const ranked = () => {
      const copy = Snapshot.load(bench.state.config, Snapshot.dump(bench.state), memoryClientIdIndex())
      Engine.apply(copy, { at_ms: bench.now + 1000, command: undefined })
      bench.tick()
      return indicators(copy)
    }
    return { bench, longs, maker, indicators, ranked }
  }

  it("follows the mark, the money of an account, and the funding that an Isolated margin pays", () => {
    const { bench, indicators, longs, maker, ranked } = opened()
    const seen = [indicators().join("")]
    const expectChange = (name: string) => {
      assert.deepStrictEqual(ranked(), indicators(), name)
      assert.notStrictEqual(indicators().join(""), seen.at(-1), name)
      seen.push(indicators().join(""))
    }
    for (const mark of ["60060", "60090", "60120"]) {
      bench.index(BTC, mark)
      expectChange(mark)
    }
    // the first of the Cross accounts
    bench.deposit(longs[0]!, "1000000")
    expectChange("a deposit")
    bench.now = START + 8 * 3_600_000 - 1_000
    // the cap of 0.5 %: 30 of each margin
    Object.assign(bench.state.marketOf.get(BTC)!, { premiumSum: n("1"), premiumCount: 0 })
    expectChange("funding")
    bench.place(maker, { side: BUY, qty: "0.1", price: "60000" })
    bench.place(longs[0]!, { side: SELL, qty: "0.1", price: "60000" })
    assert.strictEqual(indicators()[0], 0, "no position")
  })
})

describe("drawdowns of two pools in one step", () => {
  /** A pool is long 1 BTC from 60000, another short 10 ETH from 3000; an account has the other side of both. */
  const fall = (deposit: string) => {
    const markets = shippedMarkets.filter(({ symbol }) => symbol === BTC || symbol === ETH)
    const bench = new Bench({ markets, poolBaseEquity: "20000" })
    const { state } = bench
    const [user, winner] = [trader("user"), trader("winner")]
    bench.tick()
    bench.open(user, deposit)
    bench.open(winner, "1")
    bench.index(ETH, "4300")
    bench.index(BTC, "47100")
    for (const [symbol, lots, entry, mark] of [
      [BTC, 1000, "60000", "47000"],
      [ETH, -1000, "30000", "43000"]
    ] as const) {
      const pool = state.pools.find(({ holding }) => holding.market.market.symbol === symbol)!
      put(state, pool.holding, lots, n(entry))
      put(state, positionOf(state.accountOf.get(user.address)!, pool.holding.market), -lots, n(mark))
      // what the pool has lost so far, another account has won
      const won = Decimal.abs(n(entry) - n(mark))
      state.wallets += won
      state.accountOf.get(winner.address)!.wallet += won
    }
    return { bench, user, step: bench.index(BTC, "47000") }
  }
  const traded = (step: Engine.Step, user: Trader) =>
    executions(step, user).map(({ exec_price, exec_qty, exec_type, symbol }) => [
      symbol,
      exec_type,
      exec_qty,
      exec_price
    ])

  it("deleverage both at the ratio -0.3 of the same largest equity of the group, in the order of the symbols", () => {
    const { bench, step, user } = fall("10000")
    // 60000 - 0.3 * 40000, and 3000 + 0.3 * 40000 / 10
    assert.deepStrictEqual(traded(step, user), [
      [BTC, ExecType.EXEC_TYPE_ADL_TRADE, "1", "48000"],
      [ETH, ExecType.EXEC_TYPE_ADL_TRADE, "10", "4200"]
    ])
    assert.deepStrictEqual(
      alerts(step).map(({ adl_mode, adl_trigger_reason, latest_pnl_ratio, symbol }) =>
        [symbol, MODES[adl_mode], REASONS[adl_trigger_reason], latest_pnl_ratio].join(" ")
      ),
      [
        "BTC-USDC Active PnlDrawdown -0.325",
        "ETH-USDC Active PnlDrawdown -0.325",
        "BTC-USDC Inactive NoTrigger -0.3",
        "ETH-USDC Inactive NoTrigger -0.3"
      ]
    )
    for (const pool of bench.state.pools)
      assert.deepStrictEqual([pool.holding.lots, format(Pools.equityOf(pool)), pool.paid], [0, "8000", 0n])
    // 1000 less for each of the two positions than at the mark
    assert.strictEqual(format(bench.state.accountOf.get(user.address)!.wallet), "8000")
    assertConserved(
      bench.state,
      bench.state.pools.map(({ holding }) => holding.market)
    )
  })

  it("deleverage an account in the second market as far as its equity bears after the first", () => {
    const { bench, step, user } = fall("1500")
    // 1500 x 47000 / 90000 = 783.33 bears 1000 a BTC for 0.783; then 717 x 43000 / 53199 = 579.5 bears 100 an ETH for 5.79
    assert.deepStrictEqual(traded(step, user).slice(0, 2), [
      [BTC, ExecType.EXEC_TYPE_ADL_TRADE, "0.783", "48000"],
      [ETH, ExecType.EXEC_TYPE_ADL_TRADE, "5.79", "4200"]
    ])
    // what is left of its equity does not cover the rest, which the same step liquidates
    assert.include(kinds(step), "liquidation_started")
    const markets = bench.state.pools.map(({ holding }) => holding.market)
    assertConserved(bench.state, markets)
  })

  it("liquidate in the same step what they leave of an account below its maintenance margin", () => {
    const { bench, step, user } = fall("1500")
    const rest = traded(step, user).slice(2)
    assert.deepStrictEqual(
      rest.map(([symbol, type, qty]) => [symbol, type, qty]),
      [
        [ETH, ExecType.EXEC_TYPE_BUST_TRADE, "4.21"],
        [BTC, ExecType.EXEC_TYPE_BUST_TRADE, "0.217"]
      ]
    )
    assertNoneBelowMaintenance(bench.state)
  })
})

describe("a Cross account with two positions", () => {
  it("is not paid by the pool for a wallet below 0 while the other position's profit covers it", () => {
    const bench = new Bench()
    const [alice, bob] = [trader("alice"), trader("bob")]
    bench.tick()
    bench.index(BTC, "60000")
    bench.index(ETH, "3000")
    bench.open(alice, "13000")
    bench.open(bob, "10000000")
    bench.place(bob, { side: SELL, qty: "1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "1" })
    bench.place(bob, { symbol: ETH, side: SELL, qty: "5", price: "3000" })
    bench.place(alice, { symbol: ETH, side: BUY, qty: "5" })
    // 5000 of profit that is not realised
    bench.index(ETH, "4000")
    bench.tick()
    bench.place(bob, { side: BUY, qty: "1", price: "42500" })
    const step = bench.index(BTC, "42600")
    assert.deepStrictEqual(
      executions(step, alice).map(({ exec_price, symbol }) => [symbol, exec_price]),
      [[BTC, "42500"]]
    )
    const { holdings, wallet } = bench.state.accountOf.get(alice.address)!
    assert.deepStrictEqual(
      holdings.map((holding) => holding!.lots),
      [0, 500]
    )
    // 13000 less the fees 33 and 8.25, the loss of 17500 and the fee of the liquidation, 0.5 % of 42500
    assert.strictEqual(format(wallet), "-4753.75")
    for (const { paid } of bench.state.pools) assert.strictEqual(paid, 0n)
  })
})

describe("a Cross account whose other position has lost more than its equity", () => {
  const { max_price, min_price } = shippedMarkets.find(({ symbol }) => symbol === BTC)!
  it.each([
    { name: "long", side: BUY, against: SELL, bust: max_price },
    { name: "short", side: SELL, against: BUY, bust: min_price }
  ])("loses a $name at the limit of the market's prices, and the pool raises its wallet to 0", (given) => {
    const bench = new Bench()
    const { state } = bench
    const [alice, bob] = [trader("alice"), trader("bob")]
    bench.tick()
    bench.open(alice, "100000")
    bench.open(bob, "10000000")
    bench.place(bob, { side: given.against, qty: "0.001", price: "60000" })
    bench.place(alice, { side: given.side, qty: "0.001" })
    bench.place(bob, { symbol: ETH, side: SELL, qty: "100", price: "3000" })
    bench.place(alice, { symbol: ETH, side: BUY, qty: "100" })
    // the loss of 299900 leaves nothing to the position in BTC: its bust price is millions away
    const step = bench.index(ETH, "1")
    assert.deepInclude(executions(step, alice).at(-1), {
      symbol: BTC,
      exec_type: ExecType.EXEC_TYPE_BUST_TRADE,
      exec_qty: "0.001",
      exec_price: given.bust
    })
    assert.strictEqual(format(state.accountOf.get(alice.address)!.wallet), "0")
    assertConserved(state, state.markets)
  })
})

describe("the record of a pool", () => {
  const opened = () => {
    const bench = new Bench({ markets: shippedMarkets.filter(({ symbol }) => symbol === BTC) })
    const [user, maker] = [trader("user"), trader("maker")]
    bench.tick()
    bench.open(user, "1000")
    bench.open(maker, "1000000")
    bench.index(BTC, "60000")
    bench.place(maker, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(user, { side: BUY, qty: "0.1", price: "60000" })
    const sizes = (step: Engine.Step) => pools(step).map(({ inventory }) => inventory.map(({ size }) => size))
    return { bench, user, maker, sizes }
  }

  it("is emitted in the step in which the pool takes over a position, without a fee too, and in that of each trade", () => {
    const { bench, user, maker, sizes } = opened()
    // no bid: the pool takes all of it
    const crash = bench.index(BTC, "50500")
    assert.deepStrictEqual(
      executions(crash, user).map(({ exec_type }) => exec_type),
      [ExecType.EXEC_TYPE_BUST_TRADE]
    )
    assert.deepStrictEqual(sizes(crash), [["0.1"]])
    // its PnL is too small for an alert, so the alert is still that of the seed
    assert.deepInclude(Reads.adlAlert(bench.state, BTC)!.alert, {
      adl_mode: AdlMode.ADL_MODE_INACTIVE,
      latest_pnl_ratio: "0",
      equity: "1000000",
      updated_time_ms: 0
    })
    bench.place(maker, { side: BUY, qty: "1", price: "50500" })
    bench.tick()
    assert.deepStrictEqual(sizes(bench.tick()), [["0.081"]])
  })

  it("is emitted in the step in which the pool receives a fee, without an inventory too", () => {
    const { bench, user, maker } = opened()
    bench.place(maker, { side: BUY, qty: "1", price: "50500" })
    const crash = bench.index(BTC, "50500")
    // 0.5 % of 5050, of the 46.7 that are left
    assert.deepStrictEqual(
      pools(crash).map(({ cash_balance, inventory }) => [cash_balance, inventory]),
      [["1000025.25", []]]
    )
    // the next position has nothing of the liquidation
    bench.cancelAll(maker)
    bench.deposit(user, "1000")
    bench.place(user, { side: BUY, qty: "0.01", price: "50500" })
    const next = bench.place(maker, { side: SELL, qty: "0.01", price: "50500" })
    assert.deepInclude(positions(next, user).at(-1), {
      position_status: PositionStatus.POSITION_STATUS_NORMAL,
      liquidation_fee: "0",
      size: "0.01"
    })
  })
})

describe("a pool below 0", () => {
  it("is paid by the others, and each payment is announced, also where its mode stays", () => {
    const bench = new Bench({
      markets: shippedMarkets.filter(({ symbol }) => symbol === BTC || symbol === ETH),
      poolBaseEquity: "1000"
    })
    const { state } = bench
    const other = trader("other")
    bench.tick()
    bench.open(other, "100000")
    bench.index(BTC, "60000")
    const { holding } = state.pools.find((pool) => pool.holding.market.market.symbol === BTC)!
    put(state, holding, 1000, n("61000"))
    put(state, positionOf(state.accountOf.get(other.address)!, holding.market), -1000, n("61000"))
    const paid = (mark: string) =>
      pools(bench.index(BTC, mark)).map(({ equity, group_redistribution_in, group_redistribution_out, symbol }) => [
        symbol,
        equity,
        group_redistribution_in,
        group_redistribution_out
      ])
    // a loss of 1100, then of 1110
    assert.deepStrictEqual(paid("59900"), [
      [BTC, "0", "100", "0"],
      [ETH, "900", "0", "100"]
    ])
    assert.deepStrictEqual(paid("59890"), [
      [BTC, "0", "110", "0"],
      [ETH, "890", "0", "110"]
    ])
  })
})

describe("unwinding", () => {
  it.each([
    { inventory: 25, side: BUY, near: "59700", far: "59699.9" },
    { inventory: -25, side: SELL, near: "60300", far: "60300.1" }
  ])("closes a tenth of an inventory of $inventory lots a second, within 0.5 % of the mark", (given) => {
    const bench = new Bench()
    const { state } = bench
    const [rich, maker] = [trader("rich"), trader("maker")]
    for (const who of [rich, maker]) bench.open(who, "1000000")
    bench.tick()
    const { holding } = state.pools[state.marketOf.get(BTC)!.index]!
    const { markTicks, rules } = holding.market
    assert.strictEqual(Grid.text(rules.price, markTicks), "60000")
    const value = Grid.scaled(rules.qty, 25) * 60_000n
    put(state, holding, given.inventory, value)
    put(state, positionOf(state.accountOf.get(rich.address)!, holding.market), -given.inventory, value)
    assert.strictEqual(Pools.record(state.pools[holding.market.index]!).inventory[0]!.side, given.side)
    const text = Grid.text(rules.qty, 3)
    bench.place(maker, { side: given.side, qty: text, price: given.far })
    bench.tick()
    assert.strictEqual(holding.lots, given.inventory)
    bench.place(maker, { side: given.side, qty: text, price: given.near })
    for (const lots of [23, 22]) {
      bench.tick()
      assert.strictEqual(Math.abs(holding.lots), lots)
    }
    // nobody can ask for the orders of a pool: only the status of the maker's is kept
    assert.strictEqual(state.closed.size, 1)
  })
})
