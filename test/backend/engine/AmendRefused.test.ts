import { assert, describe, it } from "@effect/vitest"
import { OrderCause } from "../../../src/proto/gateway/v1/sequencer.ts"
import { RejectReason, TriggerBy } from "../../../src/proto/gateway/v1/types.ts"
import { ackOf, Bench, BTC, BUY, orderId, SELL, statusOf, trader } from "../Bench.ts"
import { replays } from "../Invariants.ts"

const R = RejectReason
const INVALID_ARGUMENT = 3
const FAILED_PRECONDITION = 9

const setup = () => {
  const bench = new Bench()
  const [v, m] = [trader("v1"), trader("m")]
  bench.tick()
  bench.tick(1)
  bench.open(v, "10000")
  bench.open(m, "1000000")
  bench.index(BTC, "60000")
  return { bench, v, m }
}
type Setup = ReturnType<typeof setup>

interface Expected {
  readonly code: number
  readonly reason: string
  readonly metadata: Record<string, string>
  readonly reject: RejectReason
  readonly message: RegExp
}

const cases: Record<string, { readonly expected: Expected; readonly amend: (of: Setup) => readonly [string, object] }> =
  {
    "more than the balance covers": {
      expected: {
        code: FAILED_PRECONDITION,
        reason: "InsufficientBalance",
        metadata: {},
        reject: R.REJECT_REASON_EC_INSUFFICIENT_BALANCE,
        message: /balance does not cover/u
      },
      amend: ({ bench, v }) => [orderId(bench.place(v, { side: BUY, qty: "0.1", price: "59000" })), { qty: "10" }]
    },
    "a post-only order to a price that crosses": {
      expected: {
        code: FAILED_PRECONDITION,
        reason: "PostOnlyWouldTake",
        metadata: { field: "price" },
        reject: R.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY,
        message: /would take liquidity/u
      },
      amend: ({ bench, m, v }) => {
        bench.place(m, { side: SELL, qty: "1", price: "60000" })
        return [orderId(bench.place(v, { side: BUY, qty: "0.1", price: "59000", post_only: true })), { price: "60000" }]
      }
    },
    "a quantity that is filled already": {
      expected: {
        code: INVALID_ARGUMENT,
        reason: "InvalidQty",
        metadata: { field: "qty", cum_exec_qty: "0.06" },
        reject: R.REJECT_REASON_EC_INVALID_QTY,
        message: /qty 0\.05 .* 0\.06/u
      },
      amend: ({ bench, m, v }) => {
        const id = orderId(bench.place(v, { side: BUY, qty: "0.1", price: "59000" }))
        bench.place(m, { side: SELL, qty: "0.06", price: "59000" })
        return [id, { qty: "0.05" }]
      }
    },
    "the quantity of an exit over the whole position": {
      expected: {
        code: INVALID_ARGUMENT,
        reason: "InvalidQty",
        metadata: { field: "qty" },
        reject: R.REJECT_REASON_EC_INVALID_QTY,
        message: /whole position/u
      },
      amend: ({ bench, m, v }) => {
        bench.place(m, { side: SELL, qty: "0.1", price: "60000" })
        bench.place(v, { side: BUY, qty: "0.1", price: "60000" })
        const stop = bench.stop(v, { sl: "59000" })
        const created = stop.events.find(({ event }) => event?.$case === "order_changed")!.event!
        return [created.$case === "order_changed" ? created.value.order!.order_id : "", { qty: "0.05" }]
      }
    },
    "a trigger that is met": {
      expected: {
        code: FAILED_PRECONDITION,
        reason: "TriggerAlreadyMet",
        metadata: { field: "trigger.trigger_price" },
        reject: R.REJECT_REASON_EC_TRIGGER_ALREADY_MET,
        message: /reached the trigger/u
      },
      amend: ({ bench, v }) => [
        orderId(bench.place(v, { side: BUY, qty: "0.1", trigger: "61000", by: TriggerBy.TRIGGER_BY_INDEX_PRICE })),
        { trigger: "60000" }
      ]
    },
    "a price beyond the band": {
      expected: {
        code: INVALID_ARGUMENT,
        reason: "OutOfRange",
        metadata: { field: "price", max: "63000" },
        reject: R.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT,
        message: /price band/u
      },
      amend: ({ bench, v }) => [
        orderId(bench.place(v, { side: BUY, qty: "0.01", price: "59000" })),
        { price: "63000.1" }
      ]
    },
    "a position beyond the risk limit": {
      expected: {
        code: INVALID_ARGUMENT,
        reason: "OutOfRange",
        metadata: { field: "qty" },
        reject: R.REJECT_REASON_EC_REACH_RISK_LIMIT,
        message: /risk limit/u
      },
      amend: ({ bench, v }) => {
        bench.deposit(v, "900000000")
        for (let i = 0; i < 8; i++) bench.place(v, { side: BUY, qty: "100", price: "59000" })
        return [orderId(bench.place(v, { side: BUY, qty: "1", price: "59000" })), { qty: "100" }]
      }
    }
  }

describe("a rejected amend", () => {
  for (const [name, { amend, expected }] of Object.entries(cases))
    it(`${name}: the acknowledgement and the order event of row 18 report it`, () => {
      const of = setup()
      const { bench, v } = of
      const [id, change] = amend(of)
      const step = bench.amend(v, { id }, change)
      const { orders, refusal, seq, version } = ackOf(step)
      assert.deepInclude(refusal, { code: expected.code, reason: expected.reason, metadata: expected.metadata })
      assert.match(refusal!.message, expected.message)
      assert.deepStrictEqual([orders[0]!.order_id, version, seq], [id, 1, bench.state.seq])
      const [event, ...more] = step.events.map(({ event }) => event!)
      assert.strictEqual(more.length, 0)
      assert.isTrue(event!.$case === "order_changed" && event!.value.cause === OrderCause.ORDER_CAUSE_AMEND_REFUSED)
      if (event!.$case === "order_changed")
        assert.deepInclude(event!.value.order, {
          reject_reason: expected.reject,
          reject_message: refusal!.message,
          version: 1
        })
      replays(bench)
    })

  it("an amend that succeeds or changes nothing has no refusal", () => {
    const { bench, v } = setup()
    const id = orderId(bench.place(v, { side: BUY, qty: "0.1", price: "59000" }))
    assert.isUndefined(ackOf(bench.amend(v, { id }, { qty: "0.1" })).refusal)
    assert.isUndefined(ackOf(bench.amend(v, { id }, { qty: "0.2" })).refusal)
    // a version mismatch changes nothing and has no event, so it is an ordinary refusal
    assert.deepInclude(statusOf(bench.amend(v, { id }, { qty: "0.3", version: 1 })), {
      reason: "OrderVersionMismatch",
      metadata: { version: "2" }
    })
  })
})
