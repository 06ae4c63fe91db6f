import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceState } from "../../src/domain/Account.ts"
import { marketAddress } from "../../src/domain/Address.ts"
import type { PositionState } from "../../src/domain/Position.ts"
import type { Caller } from "../../src/domain/User.ts"
import { lastSeqKey } from "../../src/services/History.ts"
import { Holdings } from "../../src/services/Holdings.ts"
import { type Doubles, emptyPortfolio, foreign, policies, tokenCaller, v0, v1, well } from "../http/Fixture.ts"

const balance = (sub_account_address: string, wallet_balance: string) =>
  ({
    sub_account_address,
    asset: "USDC",
    wallet_balance,
    equity: wallet_balance,
    available_balance: "1",
    margin_used: "2",
    order_margin: "3",
    maintenance_margin: "0.5",
    unrealised_pnl: "-0.25"
  }) as BalanceState
const position = (sub_account_address: string, symbol: string, created_time: number) =>
  ({
    sub_account_address,
    symbol,
    created_time,
    size: "0.2",
    side: "Buy",
    position_value: "12000",
    position_mm: "0.75",
    unrealised_pnl: "-0.25"
  }) as PositionState

const held = {
  epoch: 61_362,
  funding_index: "1.5",
  margin: "1200",
  price: "60000",
  seq: 4_711,
  size: "0.2",
  timestamp: 5,
  timestamp_ms: 5,
  market_addr: marketAddress("BTC-USDC")
}

const world = (more: Doubles = {}): Doubles => ({
  ...more,
  referee: {
    account: (address) =>
      Effect.succeed({
        balances: [balance(address, address === v0 ? "100" : "0.000000000000000001")],
        positions: [position(address, "BTC-USDC", 5)],
        as_of_seq: 9
      }),
    positions: () =>
      Effect.succeed({
        positions: [position(v0, "BTC-USDC", 5), position(v1, "BTC-USDC", 7), position(v1, "ETH-USDC", 5)],
        as_of_seq: 9
      }),
    portfolio: () =>
      Effect.succeed({
        as_of_seq: 9,
        portfolio: {
          ...emptyPortfolio,
          positions: [v0, v1].map((sid) => ({ ...held, sid })),
          vault_balances: [v0, v1].map((id) => ({ asset_addr: id, balance: "1", id }))
        }
      }),
    ...more.referee
  },
  history: {
    lastSeqs: (_user, topic) =>
      Effect.succeed(new Map([[lastSeqKey(v1, topic === "position" ? "BTC-USDC" : "USDC"), 3]])),
    ...more.history
  }
})
const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }

describe("holdings", () => {
  it.effect("join their records to the user stream", () =>
    Effect.gen(function* () {
      const holdings = yield* Holdings
      const balances = yield* holdings.balances(tokenCaller, undefined)
      assert.deepInclude(balances, { stream_id: "s1", seq: 7 })
      assert.deepStrictEqual(
        balances.list.map((record) => [record.sub_account_address, record.seq]),
        [
          [v0, 0],
          [v1, 3]
        ]
      )
      assert.lengthOf((yield* holdings.balances(bound, undefined)).list, 1)
      assert.deepInclude(yield* Effect.flip(holdings.balances(bound, v0)), { reason: "SubAccountNotFound" })
      assert.deepInclude(yield* Effect.flip(holdings.balances(tokenCaller, foreign)), { reason: "SubAccountNotFound" })
    }).pipe(Effect.provide(policies(world())))
  )

  it.effect("page through positions, newest first, each once", () =>
    Effect.gen(function* () {
      const holdings = yield* Holdings
      const seen: Array<string> = []
      let cursor: string | undefined
      do {
        const page = yield* holdings.positions(tokenCaller, { limit: 1, ...(cursor === undefined ? {} : { cursor }) })
        for (const record of page.list) seen.push(`${record.created_time} ${record.symbol} ${record.seq}`)
        cursor = page.next_page_cursor
      } while (cursor !== "")
      assert.strictEqual(seen[0], "7 BTC-USDC 3")
      assert.sameMembers(seen, ["7 BTC-USDC 3", "5 BTC-USDC 0", "5 ETH-USDC 0"])
      assert.lengthOf((yield* holdings.positions(bound, {})).list, 2)
      assert.deepInclude(yield* Effect.flip(holdings.positions(tokenCaller, { symbol: "X-Y" })), {
        reason: "SymbolNotFound"
      })
    }).pipe(Effect.provide(policies(world())))
  )

  it.effect("leave out of a bound key's portfolio what it does not see, sums too", () =>
    Effect.gen(function* () {
      const holdings = yield* Holdings
      const { positions, summary, vault_balances } = yield* holdings.portfolio(bound)
      // counted as /position/list counts: by the events of the user, not by those of the exchange
      assert.deepStrictEqual(positions, [{ ...held, sid: v1, seq: 3 }])
      assert.deepStrictEqual(
        vault_balances.map(({ id }) => id),
        [v1]
      )
      assert.deepStrictEqual(summary, {
        collateral_notional: "0.000000000000000001",
        // of the positions: the balance does not count Isolated ones
        maintenance_margin_required: "0.75",
        total_available_balance: "1",
        total_balance: "0.000000000000000001",
        total_margin_used: "5",
        total_positions: 1,
        total_vaults: 1,
        unrealized_funding_total: "0",
        unrealized_pnl_total: "-0.25"
      })
      const all = yield* holdings.portfolio(tokenCaller)
      assert.lengthOf(all.vault_balances, 2)
      assert.deepStrictEqual(
        all.positions.map(({ seq }) => seq),
        [0, 3]
      )
      const late: Caller = { ...tokenCaller, bound_to: new Set([v1, foreign]) }
      assert.strictEqual((yield* holdings.portfolio(late)).summary.total_vaults, 1, "one named by the key is gone")
    }).pipe(Effect.provide(policies(world())))
  )

  it.effect("wait for a referee that lies behind what was told, and then give up", () => {
    let told = 10
    const layer = policies(
      world({ history: { position: Effect.sync(() => ({ epoch: "e", seq: told, began: 1, ts_ms: 0 })) } })
    )
    return Effect.gen(function* () {
      const holdings = yield* Holdings
      const asking = yield* Effect.forkChild(Effect.flip(holdings.positions(tokenCaller, {})))
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* Fiber.join(asking), { reason: "BackendLagging" })
      told = 9
      assert.lengthOf((yield* holdings.positions(tokenCaller, {})).list, 3)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are refused while the referee is ill, whatever the sequencer does", () =>
    Effect.gen(function* () {
      const holdings = yield* Holdings
      for (const read of [
        holdings.balances(tokenCaller, undefined),
        holdings.positions(tokenCaller, {}),
        holdings.portfolio(tokenCaller)
      ]) {
        assert.deepInclude(yield* Effect.flip(read as Effect.Effect<unknown, unknown>), {
          reason: "BackendUnavailable"
        })
      }
    }).pipe(Effect.provide(policies(world({ health: { referee: () => ({ ...well, connected: false, ill: true }) } }))))
  )
})
