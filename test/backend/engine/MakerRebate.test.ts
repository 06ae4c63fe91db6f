import { assert, describe, it } from "@effect/vitest"
import { assertConserved } from "../../../src/backend/engine/accounts/Accounts.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import { format } from "../../../src/domain/Decimal.ts"
import { balances, Bench, BTC, BUY, executions, SELL, trader } from "../Bench.ts"
import { replays } from "../Invariants.ts"

describe("a market whose makers are paid", () => {
  it("credits the maker from the taker's fee, to the digit", () => {
    const bench = new Bench({
      markets: shippedMarkets.map((market) => ({ ...market, maker_fee_rate: "-0.00012345", taker_fee_rate: "0.0005" }))
    })
    const [maker, taker] = [trader("maker"), trader("taker")]
    bench.tick()
    bench.tick(1)
    bench.index(BTC, "60000")
    bench.open(maker, "100000")
    bench.open(taker, "100000")
    bench.place(maker, { side: SELL, qty: "0.1", price: "60000" })
    const step = bench.place(taker, { side: BUY, qty: "0.1", price: "60000" })
    assert.deepInclude(executions(step, maker)[0], { is_maker: true, base_fee: "-0.7407", fee_rate: "-0.00012345" })
    assert.deepInclude(executions(step, taker)[0], { is_maker: false, base_fee: "3", fee_rate: "0.0005" })
    assert.strictEqual(balances(step, maker).at(-1)!.wallet_balance, "100000.7407")
    assert.strictEqual(balances(step, taker).at(-1)!.wallet_balance, "99997")
    assert.strictEqual(format(bench.state.fees), "2.2593")
    assert.strictEqual(Reads.feeRates(bench.state, BTC)[0]!.maker_fee_rate, "-0.00012345")
    assertConserved(bench.state, bench.state.markets)
    replays(bench)
  })
})
