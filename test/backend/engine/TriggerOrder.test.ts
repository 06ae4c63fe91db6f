import { assert, describe, it } from "@effect/vitest"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { OrderStatus, type Side, TriggerBy } from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BTC, BUY, executions, orderId, orders, SELL, type Trader, trader } from "../Bench.ts"
import { recomputeTotals, replays } from "../Invariants.ts"

const S = OrderStatus

const setup = () => {
  const bench = new Bench()
  const [a, b, m, x] = [trader("a"), trader("b"), trader("m"), trader("x")]
  bench.tick()
  bench.tick(1)
  for (const who of [a, b, m, x]) bench.open(who, "1000000")
  bench.index(BTC, "60000")
  /** A trade between two other users sets the last price. */
  const last = (price: string) => {
    bench.place(m, { side: BUY, qty: "0.001", price })
    return bench.place(x, { side: SELL, qty: "0.001", price })
  }
  const stop = (who: Trader, side: Side, trigger: string, more: object = {}) =>
    orderId(bench.place(who, { side, qty: "0.01", trigger, ...more }))
  const fired = (step: ReturnType<Bench["step"]>) =>
    orders(step).flatMap(({ order_id, order_status }) => (order_status === S.ORDER_STATUS_TRIGGERED ? [order_id] : []))
  const check = () => {
    recomputeTotals(bench.state)
    replays(bench)
  }
  return { bench, a, b, m, x, last, stop, fired, check }
}

describe("Amendment 4: triggered orders", () => {
  it("a triggered stop activates even if an earlier activation moves the reference back", () => {
    const { bench, a, b, m, last, stop, fired, check } = setup()
    last("60000")
    // the first triggered order buys the offer at 60,010, which moves the last price back above both triggers
    const first = stop(a, BUY, "59500")
    const second = stop(b, SELL, "59400")
    bench.place(m, { side: SELL, qty: "0.01", price: "60010" })
    bench.place(m, { side: BUY, qty: "1", price: "59000" })
    const hit = bench.place(trader("x"), { side: SELL, qty: "0.001", price: "59000" })
    assert.deepStrictEqual(fired(hit), [first, second])
    assert.deepStrictEqual(
      executions(hit)
        .filter(({ is_maker }) => !is_maker)
        .map(({ exec_price }) => exec_price),
      ["59000", "60010", "59000"]
    )
    // the command and each activation are separate steps
    assert.strictEqual(new Set(hit.events.map(({ step }) => step)).size, 3)
    check()
  })

  it("they activate in order of acceptance, including those that an activation triggers", () => {
    const { bench, a, b, m, last, stop, fired, check } = setup()
    last("60000")
    const early = stop(a, SELL, "58000")
    const lone = stop(b, SELL, "59000")
    const late = stop(a, SELL, "59500")
    bench.place(m, { side: BUY, qty: "0.001", price: "59000" })
    bench.place(m, { side: BUY, qty: "1", price: "58000" })
    // triggers the second and the third; the second's fill at 58,000 triggers the first, which was accepted before the
    // third
    const hit = bench.place(trader("x"), { side: SELL, qty: "0.001", price: "59000" })
    assert.deepStrictEqual(fired(hit), [lone, early, late])
    check()
  })

  it("an order that ended before its activation is skipped", () => {
    const { bench, a, m, last, fired, check } = setup()
    bench.place(m, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(a, { side: BUY, qty: "0.1", price: "60000" })
    last("60000")
    bench.stop(a, { sl: "59000" })
    bench.stop(a, { sl: "59500", mode: 2 }, { sl: "0.05" })
    const [whole, part] = Reads.openOrders(bench.state, { sub_account_address: a.address }).map(
      ({ order_id }) => order_id
    )
    bench.place(m, { side: BUY, qty: "1", price: "58900" })
    // both are triggered; the first closes the position, which ends the second
    const hit = bench.place(trader("x"), { side: SELL, qty: "0.001", price: "58900" })
    assert.deepStrictEqual(fired(hit), [whole])
    assert.include(
      orders(hit).flatMap(({ order_id, order_status }) =>
        order_status === S.ORDER_STATUS_DEACTIVATED ? [order_id] : []
      ),
      part
    )
    assert.strictEqual(bench.state.met.size, 0)
    check()
  })

  it("a thousand triggered at once all activate, in order of acceptance", () => {
    const { bench, m, fired } = setup()
    const who = Array.from({ length: 50 }, (_, i) => trader(`s-${i}`))
    for (const one of who) bench.open(one, "100000")
    const ids = who.flatMap((one, i) =>
      Array.from({ length: 20 }, (_, n) =>
        orderId(
          bench.place(one, {
            side: n % 2 === 0 ? SELL : BUY,
            qty: "0.001",
            trigger: String(59_000 - ((i * 7 + n) % 50)),
            by: TriggerBy.TRIGGER_BY_INDEX_PRICE
          })
        )
      )
    )
    bench.place(m, { side: BUY, qty: "100", price: "58000" })
    assert.deepStrictEqual(fired(bench.index(BTC, "58900")), ids)
    recomputeTotals(bench.state)
  })
})
