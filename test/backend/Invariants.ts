/** Invariants after every step, recomputed from the state, and a comparison with a replay. */
import { assert } from "@effect/vitest"
import * as Accounts from "../../src/backend/engine/accounts/Accounts.ts"
import * as Engine from "../../src/backend/engine/Engine.ts"
import * as Pools from "../../src/backend/engine/referee/Pools.ts"
import type { Order } from "../../src/backend/engine/state/State.ts"
import { isMet } from "../../src/backend/engine/state/TriggerQueues.ts"
import { type Bench, BUY } from "./Bench.ts"

/** A small seeded random generator (mulberry32). */
export const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

export const pick = <A>(random: () => number, list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)]!

/** Recomputes from accounts and pools what the engine keeps as running totals. */
export const recomputeTotals = (state: Engine.State): void => {
  let held = state.fees
  const net = state.markets.map(() => 0)
  const long = state.markets.map(() => 0)
  for (const account of state.accounts) {
    held += account.wallet
    for (const holding of account.holdings) {
      if (holding === undefined) continue
      const { lots, market } = holding
      net[market.index]! += lots
      long[market.index]! += Math.max(0, lots)
      assert.strictEqual(market.holders.has(holding), lots !== 0)
      const value = BigInt(lots) * BigInt(market.markTicks) * market.rules.unit
      held += holding.isolatedMargin + (lots < 0 ? value + holding.entryValue : value - holding.entryValue)
      if (!holding.isolated) assert.strictEqual(holding.isolatedMargin, 0n)
      let buys = 0
      let sells = 0
      for (const order of holding.orders.values()) {
        if (order.reduceOnly) continue
        if (order.side === BUY) buys += order.leaves
        else sells += order.leaves
      }
      assert.strictEqual(holding.buyLots, buys)
      assert.strictEqual(holding.sellLots, sells)
      assert.isAtMost(holding.reduceBuyLots, Math.max(0, -lots))
      assert.isAtMost(holding.reduceSellLots, Math.max(0, lots))
    }
  }
  const waiting = state.accounts.flatMap(({ holdings }) =>
    holdings.flatMap((holding) => [...(holding?.conditional.values() ?? [])])
  )
  const resting = state.accounts.flatMap(({ holdings }) => holdings.flatMap((holding) => [...(holding?.orders ?? [])]))
  for (const [, order] of resting) assert.strictEqual(order.holding.market.book.lotsOf(order.slot), order.leaves)
  assert.strictEqual(state.orders.size(), waiting.length + resting.length)
  const queued = state.markets.flatMap(({ triggers }) => triggers.flatMap((queue) => queue.sorted()))
  const numbers = (orders: ReadonlyArray<Order>) => orders.map(({ number }) => number).sort((a, b) => a - b)
  assert.deepStrictEqual(numbers(queued), numbers(waiting))
  assert.strictEqual(state.met.size, 0, "a trigger that was met did not fire")
  for (const order of queued)
    assert.isFalse(isMet(order.holding.market, order.trigger!), "a trigger that is met did not fire")
  const timed = state.orders.all().filter(({ expireMs }) => expireMs !== undefined)
  assert.deepStrictEqual(numbers(state.expiries.sorted()), numbers(timed))
  let seeds = 0n
  for (const pool of state.pools) {
    const { lots, market } = pool.holding
    net[market.index]! += lots
    long[market.index]! += Math.max(0, lots)
    held += Pools.equityOf(pool)
    seeds += pool.base
    assert.isFalse(pool.changed)
  }
  assert.deepStrictEqual(
    net,
    state.markets.map(() => 0)
  )
  assert.deepStrictEqual(
    long,
    state.markets.map(({ openLots }) => openLots)
  )
  assert.strictEqual(held, state.deposits + seeds, "money is not conserved")
}

/** No account is left that the liquidation rules would close. */
export const assertNoneBelowMaintenance = (state: Engine.State): void => {
  for (const account of state.accounts) {
    const totals = Accounts.totalsOf(account)
    assert.isTrue(totals.crossEquity >= totals.maintenanceMargin, "an account below its maintenance margin was left")
    for (const holding of account.holdings) {
      if (holding === undefined || !holding.isolated || holding.lots === 0) continue
      const figures = Accounts.figuresOf(holding)
      assert.isTrue(holding.isolatedMargin + figures.unrealisedPnl >= figures.maintenanceMargin)
    }
  }
}

/** A replay of the whole history, and of its journaled part, ends in the same state. */
export const replays = (bench: Bench): void => {
  const now = Engine.hash(bench.state)
  assert.isBelow(bench.journal.length, bench.inputs.length)
  for (const inputs of [bench.inputs, bench.journal]) {
    const again = Engine.initial(bench.state.config)
    for (const input of inputs) Engine.apply(again, input)
    assert.strictEqual(Engine.hash(again), now)
  }
}
