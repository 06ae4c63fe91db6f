/** Histories of the engine are bounded, and read by pages within a range. */
import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../../src/backend/engine/Reads.ts"
import * as Retention from "../../../../src/backend/engine/state/Retention.ts"
import type { Order } from "../../../../src/backend/engine/state/State.ts"
import { AdlMode, AdlTriggerReason, OrderStatus } from "../../../../src/proto/gateway/v1/types.ts"
import { Bench, BTC, START } from "../../Bench.ts"

const OTHER = "ETH-USDC"
const MAX = 10_000
const HOUR = 3_600_000

const setup = () => {
  const { state } = new Bench()
  const marketOf = (symbol: string) => state.marketOf.get(symbol)!
  const poolOf = (symbol: string) => state.pools[marketOf(symbol).index]!
  const settle = (n: number, symbol = BTC) =>
    Retention.retainFundingRate(state, marketOf(symbol), {
      symbol,
      funding_rate: "0.0001",
      mark_price: "60000",
      funding_index: String(n),
      funding_time_ms: START + n * HOUR
    })
  const pool = (n: number, symbol = BTC) =>
    Retention.retainPoolState(state, poolOf(symbol), {
      ...Reads.insurancePool(state, symbol)!.pool!,
      symbol,
      equity: String(n),
      updated_time_ms: START + n * HOUR
    })
  const alert = (n: number, symbol = BTC) =>
    Retention.retainAdlAlert(state, poolOf(symbol), {
      pool_id: "p",
      pool_group_id: "g",
      symbol,
      adl_mode: AdlMode.ADL_MODE_UNSPECIFIED,
      adl_trigger_reason: AdlTriggerReason.ADL_TRIGGER_REASON_UNSPECIFIED,
      latest_pnl_ratio: "0",
      equity: String(n),
      updated_time_ms: START + n * HOUR
    })
  return { state, settle, pool, alert }
}

describe("the history of funding", () => {
  it("keeps the newest 10,000 settlements of each market, and is read newest first, 1,000 a page", () => {
    const { settle, state } = setup()
    settle(1, OTHER)
    for (let n = 1; n <= MAX + 3; n++) settle(n)
    const read: Array<number> = []
    let page_token = ""
    let pages = 0
    do {
      const page = Reads.fundingRates(state, { symbol: BTC, start_ms: 0, end_ms: 0, page_token })!
      assert.isAtMost(page.rates.length, 1_000)
      read.push(...page.rates.map(({ funding_index }) => Number(funding_index)))
      page_token = page.next_page_token
      pages++
    } while (page_token !== "")
    assert.strictEqual(pages, 10)
    assert.deepStrictEqual(
      read,
      Array.from({ length: MAX }, (_, i) => MAX + 3 - i)
    )
    assert.lengthOf(Reads.fundingRates(state, { symbol: OTHER, start_ms: 0, end_ms: 0 })!.rates, 1)
  })

  it("is read within both bounds", () => {
    const { settle, state } = setup()
    for (let n = 1; n <= 5; n++) settle(n)
    const read = (from: number, to: number) =>
      Reads.fundingRates(state, { symbol: BTC, start_ms: START + from * HOUR, end_ms: START + to * HOUR })!.rates.map(
        ({ funding_index }) => Number(funding_index)
      )
    assert.deepStrictEqual(read(2, 4), [4, 3, 2])
    assert.deepStrictEqual(read(6, 9), [])
    assert.isUndefined(Reads.fundingRates(state, { symbol: "XYZ-USDC", start_ms: 0, end_ms: 0 }))
  })
})

const kinds = {
  "states of a pool": {
    add: "pool",
    read: (state: Bench["state"], range: Parameters<typeof Reads.insurancePoolHistory>[1]) =>
      Reads.insurancePoolHistory(state, range).pools
  },
  "alerts of deleveraging": {
    add: "alert",
    read: (state: Bench["state"], range: Parameters<typeof Reads.insurancePoolHistory>[1]) =>
      Reads.adlAlertHistory(state, range).alerts
  }
} as const

for (const [name, { add, read }] of Object.entries(kinds))
  describe(`the history of ${name}`, () => {
    const all = { start_ms: 0, end_ms: 0, limit: 0 }
    const shown = (state: Bench["state"], range: Parameters<typeof read>[1]) =>
      read(state, range).map(({ equity, symbol }) => `${symbol === BTC ? "btc" : "eth"} ${equity}`)

    it("is newest first, of one market or of all, within both bounds", () => {
      const { state, ...of } = setup()
      const before = read(state, all).length
      for (const n of [1, 3, 5]) of[add](n)
      for (const n of [2, 4]) of[add](n, OTHER)
      assert.deepStrictEqual(shown(state, all).slice(0, 5), ["btc 5", "eth 4", "btc 3", "eth 2", "btc 1"])
      assert.lengthOf(read(state, all), before + 5)
      const range = { start_ms: START + 2 * HOUR, end_ms: START + 4 * HOUR, limit: 0 }
      assert.deepStrictEqual(shown(state, range), ["eth 4", "btc 3", "eth 2"])
      assert.deepStrictEqual(shown(state, { ...range, symbol: BTC }), ["btc 3"])
      assert.deepStrictEqual(shown(state, { ...range, limit: 2 }), ["eth 4", "btc 3"])
      assert.deepStrictEqual(shown(state, { ...range, symbol: "XYZ-USDC" }), [])
    })

    it("keeps the newest 10,000 of each market, of which at most 1,000 are read", () => {
      const { state, ...of } = setup()
      of[add](1, OTHER)
      for (let n = 1; n <= MAX + 3; n++) of[add](n)
      assert.lengthOf(read(state, { ...all, symbol: BTC, limit: 5_000 }), 1_000)
      const oldest = { ...all, symbol: BTC, end_ms: START + 5 * HOUR, start_ms: START + HOUR }
      assert.deepStrictEqual(shown(state, oldest), ["btc 5", "btc 4"])
      assert.include(shown(state, { ...all, symbol: OTHER }), "eth 1")
    })
  })

describe("closed orders", () => {
  it(
    "are known, with their account, for the newest 500,000 at least and 1,000,000 at most",
    { timeout: 120_000 },
    () => {
      const { state } = setup()
      const count = 1_200_000
      const close = (number: number) =>
        Retention.retainClosedOrder(state, {
          number,
          status: OrderStatus.ORDER_STATUS_FILLED,
          account: { index: number % 7 }
        } as Order)
      const known = (number: number) => Retention.closedOrder(state, number)
      for (let number = 1; number <= count; number++) {
        close(number)
        if (number >= 500_000 && known(number - 499_999) === undefined) assert.fail(`too few after ${number}`)
      }
      for (const number of [count, count - 1, count - 499_999])
        assert.deepStrictEqual(known(number), { status: OrderStatus.ORDER_STATUS_FILLED, account: number % 7 })
      for (const number of [1, count - 1_000_000, count + 1]) assert.isUndefined(known(number), String(number))
    }
  )
})

describe("the hash of the state", () => {
  it("covers what is kept: one digit in one record changes it", () => {
    const kinds = ["settle", "pool", "alert"] as const
    for (const kind of kinds) {
      const hashes = [1, 1, 2].map((n) => {
        const { state, ...of } = setup()
        of[kind](n)
        return Engine.hash(state)
      })
      assert.strictEqual(hashes[0], hashes[1], kind)
      assert.notStrictEqual(hashes[0], hashes[2], kind)
    }
  })
})
