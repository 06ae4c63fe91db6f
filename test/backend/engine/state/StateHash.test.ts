import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../../src/backend/engine/Engine.ts"
import { Bench, BTC, BUY, SELL, trader } from "../../Bench.ts"

/** Fields that derive from hashed ones, or from the configuration. */
const DERIVED = new Set([
  "markPrice",
  "markText",
  "indexText",
  "indexTicks",
  "bandBuyTicks",
  "bandSellTicks",
  "base",
  "basisSum",
  "predictedRate",
  "figures",
  "figuresMark",
  "faucetLimit",
  "id",
  "orderSeed",
  "executionSeed",
  "tradeSeed",
  "index",
  "makerFee",
  "takerFee",
  "band",
  "defaultLeverage",
  "indexBase"
])

const other = (value: unknown): unknown => {
  switch (typeof value) {
    case "number":
      return value + 1
    case "bigint":
      return value + 1n
    case "boolean":
      return !value
    case "string":
      return `${value}x`
    default:
      return undefined
  }
}

describe("the state's hash", () => {
  it("depends on every field that is not derived", () => {
    const bench = new Bench({ simMaker: true })
    const [alice, bob] = [trader("alice"), trader("bob")]
    bench.tick()
    bench.open(alice, "100000")
    bench.open(bob, "100000", 0)
    bench.place(alice, { side: BUY, qty: "0.5", price: "60005", link: "a" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60005" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "70000", link: "b" })
    bench.cancel(bob, { link: "b" })
    bench.deposit(alice, "5", "faucet")
    bench.tick()
    const { state } = bench
    const before = Engine.hash(state)
    const account = state.accountOf.get(alice.address)!
    const holding = account.holdings.find((held) => held !== undefined)!
    const order = [...holding.orders.values()][0]!
    const market = state.marketOf.get(BTC)!
    const user = state.users.get(alice.user_id)!
    let fields = 0
    for (const part of [
      state,
      account,
      holding,
      order,
      market,
      user,
      state.trail,
      market.basis[0]!,
      state.pools[0]!,
      state.pools[0]!.holding
    ]) {
      const record = part as unknown as Record<string, unknown>
      for (const [key, value] of Object.entries(record)) {
        if (DERIVED.has(key) || other(value) === undefined) continue
        record[key] = other(value)
        const hash = Engine.hash(state)
        record[key] = value
        assert.notStrictEqual(hash, before, `${key} is not in the hash`)
        fields++
      }
    }
    const house = state.pools[0]!.holding.account
    house.wallet++
    assert.notStrictEqual(Engine.hash(state), before)
    house.wallet--
    assert.isAbove(fields, 60)
    assert.strictEqual(Engine.hash(state), before)
  })

  it("depends on append-only records: links, closed orders, transfers", () => {
    const run = (link: string, cancel: "first" | "second", transfer: string): string => {
      const bench = new Bench()
      const alice = trader("alice")
      bench.tick()
      bench.open(alice)
      bench.send(alice, {
        $case: "deposit_funds",
        value: { deposit_id: transfer, asset: "USDC", amount: "1000", source: "rail" }
      })
      bench.place(alice, { side: BUY, qty: "0.01", price: "50000", link })
      bench.place(alice, { side: BUY, qty: "0.01", price: "50000" })
      const [first, second] = bench.state.orders.all().map(({ id }) => id)
      bench.cancel(alice, { id: cancel === "first" ? first! : second! })
      bench.cancel(alice, { id: cancel === "first" ? second! : first! })
      return Engine.hash(bench.state)
    }
    const hashes = [run("x", "first", "t"), run("y", "first", "t"), run("x", "second", "t"), run("x", "first", "u")]
    assert.strictEqual(new Set(hashes).size, 4)
    assert.strictEqual(run("x", "first", "t"), hashes[0])
  })

  it("depends on the configuration", () => {
    assert.notStrictEqual(Engine.hash(new Bench({ epoch: "a" }).state), Engine.hash(new Bench({ epoch: "b" }).state))
  })
})
