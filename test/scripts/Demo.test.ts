import { Effect, Schedule } from "effect"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { QUIET_MARKET } from "../../verification/harness/Settings.ts"
import { enlist, SYMBOL, type Trader } from "../../verification/harness/Trader.ts"

let exchange: Exchange
beforeAll(async () => {
  exchange = await startExchange({ env: QUIET_MARKET })
})
afterAll(() => exchange.close())

const demo = Effect.promise(async () => {
  const env = { ...process.env, GATEWAY_URL: exchange.url }
  const { stdout } = await promisify(execFile)(process.execPath, ["scripts/demo.ts"], { env, timeout: 60_000 })
  return stdout
})

/** Buys whatever is offered. */
const buying = ({ client, vault }: Trader) =>
  Effect.gen(function* () {
    const { asks } = yield* client.market.orderbook({ query: { symbol: SYMBOL, depth: 1 } })
    const offer = asks[0]
    if (offer === undefined) return
    const order = { sub_account_address: vault, symbol: SYMBOL, side: "Buy", order_type: "Market" } as const
    yield* client.order.create({ payload: { ...order, qty: offer[1] } })
  }).pipe(Effect.repeat(Schedule.spaced(10)))

describe("the demo", () => {
  it("trades, amends, cancels and closes", { timeout: 60_000 }, async () => {
    const printed = await Effect.runPromise(demo)
    for (const part of ["qty 0.018", "order_status PartiallyFilledCanceled", "executions: Sell 0.015 at 60000"])
      assert.include(printed, part)
    assert.notInclude(printed, "other traders")
  })

  it("continues where other traders take the offer first", { timeout: 60_000 }, async () => {
    const trader = await Effect.runPromise(enlist(exchange.url))
    const printed = await Effect.runPromise(Effect.raceFirst(demo, Effect.andThen(buying(trader), Effect.never)))
    assert.include(printed, "other traders have taken the rest")
    assert.match(printed, /Bob .*\n +executions: none\n/u)
    assert.notInclude(printed, "~effect")
  })
})
