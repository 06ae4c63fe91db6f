/** Two of the ten points at which `node verification/crashes/main.ts` kills, once each; and the checker of histories finds what it is for. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import {
  type Answered,
  check,
  type HeldFill,
  type HeldOrder,
  type SentOrder
} from "../../verification/crashes/OrderChecker.ts"
import { crashes } from "../../verification/crashes/Crashes.ts"
import { answeredBy } from "../../verification/crashes/Load.ts"
import { canTrace } from "../../verification/power-loss/Trace.ts"

const ROUNDS = Number(process.env["KILL_ROUNDS"] ?? 1)

describe("processes that are killed under load", () => {
  it.skipIf(!canTrace)("lose nothing and double nothing", { timeout: ROUNDS * 240_000 }, async () => {
    const points = ["before the journal's sync", "after the projector's commit"] as const
    const report = await Effect.runPromise(
      crashes({ rounds: ROUNDS, seed: 1, points, users: 2, callers: 2, say: () => {} })
    )
    assert.deepStrictEqual(report.faults, [])
    assert.deepStrictEqual([report.lost, report.doubled, report.gaps, report.repetitions], [0, 0, 0, 0])
    assert.deepStrictEqual(report.kills, { [points[0]]: ROUNDS, [points[1]]: ROUNDS })
    assert.isAbove(report.acknowledged, 0)
    assert.match(report.state_hash, /^[0-9a-f]{64}$/u)
  })
})

const attempt = (link: string, answers: ReadonlyArray<Answered>, canceled = false): SentOrder => ({
  link,
  answers: [...answers],
  canceled
})
const order = (link: string, order_id: string, fields: Partial<HeldOrder> = {}): HeldOrder => ({
  order_id,
  order_link_id: link,
  order_status: "Canceled",
  side: "Buy",
  cum_exec_qty: "0",
  ...fields
})
const yes = (order_id: string): Answered => ({ as: "acknowledged", order_id })
const no: Answered = { as: "refused", reason: "BackendUnavailable" }
const perhaps: Answered = { as: "unknown" }
const found = (
  attempts: ReadonlyArray<SentOrder>,
  orders: ReadonlyArray<HeldOrder>,
  fills: ReadonlyArray<HeldFill> = []
) => check(attempts, orders, fills).faults.length

describe("the checker of histories", () => {
  it("finds nothing where every outcome is as it was acknowledged", () => {
    const fill = { exec_id: "x", exec_qty: "0.001" }
    const verdict = check(
      [
        attempt("a", [yes("1")], true),
        attempt("b", [no]),
        attempt("c", [perhaps]),
        attempt("d", [perhaps, { as: "repeated", order_id: "4" }]),
        attempt("e", [yes("5")])
      ],
      [
        order("a", "1"),
        order("d", "4", { order_status: "Filled", cum_exec_qty: "0.001" }),
        order("e", "5", { order_status: "Filled", cum_exec_qty: "0.001", side: "Sell" })
      ],
      [
        { ...fill, order_id: "4" },
        { ...fill, order_id: "5" }
      ]
    )
    assert.deepStrictEqual(verdict, {
      acknowledged: 3,
      unknown: 1,
      orders: 3,
      fills: 2,
      lost: 0,
      doubled: 0,
      faults: []
    })
  })

  it("finds an order that is lost, doubled, replaced, refused, open, or unowned", () => {
    assert.strictEqual(check([attempt("a", [yes("1")])], [], []).lost, 1)
    assert.strictEqual(check([attempt("a", [yes("1")])], [order("a", "1"), order("a", "2")], []).doubled, 1)
    assert.strictEqual(found([attempt("a", [yes("1")])], [order("a", "2")]), 1)
    assert.strictEqual(found([attempt("a", [no])], [order("a", "1")]), 1)
    assert.strictEqual(found([attempt("a", [yes("1")], true)], [order("a", "1", { order_status: "New" })]), 1)
    assert.strictEqual(found([], [order("a", "1")]), 1)
    assert.strictEqual(found([attempt("a", [perhaps, yes("1"), yes("1")])], [order("a", "1")]), 1)
  })

  it("finds a fill that is missing, doubled, or one-sided", () => {
    const filled = { order_status: "Filled", cum_exec_qty: "0.001" }
    const [buy, sell] = [order("a", "1", filled), order("b", "2", { ...filled, side: "Sell" })]
    const both = [attempt("a", [yes("1")]), attempt("b", [yes("2")])]
    const fill = (order_id: string) => ({ exec_id: "x", order_id, exec_qty: "0.001" })
    assert.strictEqual(found(both, [buy, sell], [fill("1"), fill("2")]), 0)
    // its order differs, and so does the sum of both sides
    assert.strictEqual(found(both, [buy, sell], [fill("1")]), 2)
    assert.strictEqual(found(both, [buy, sell], [fill("1"), fill("2"), fill("2")]), 3)
  })

  it("reads the outcome from a response", () => {
    const outcomeOf = (status: number, body: object) => answeredBy({ status, text: JSON.stringify(body), ms: 1 }).as
    assert.strictEqual(outcomeOf(200, { order_id: "1" }), "acknowledged")
    assert.strictEqual(outcomeOf(409, { details: { reason: "DuplicateOrderLinkId", order_id: "1" } }), "repeated")
    assert.strictEqual(outcomeOf(503, { details: { reason: "DeadlineExceeded", outcome: "unknown" } }), "unknown")
    assert.strictEqual(outcomeOf(0, {}), "unknown")
    assert.strictEqual(outcomeOf(503, { details: { reason: "BackendUnavailable" } }), "refused")
  })
})
