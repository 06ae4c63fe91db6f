import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { History } from "../../../src/services/History.ts"
import { shownHistory, type WrittenHistory } from "../../../src/services/read-model/WrittenHistory.ts"

const user_id = "alice"
const symbol = "BTC-USDC"
const list = {
  user_id,
  sub_accounts: undefined,
  symbol,
  start_time: undefined,
  end_time: undefined,
  limit: 10
} as const
const page = { ...list, after: undefined }
const orders = { ...page, order_id: undefined, order_link_id: undefined, statuses: undefined }
const market = { symbol, start_time: undefined, end_time: undefined, limit: 10, after: undefined }
const hours = { start: 0, end: 1 }

type Reads = Omit<History["Service"], "moment" | "momentAndPosition" | "commit" | "restart" | "clear">
type Call = readonly [waitsFor: string | undefined, read: (_: History["Service"]) => Effect.Effect<unknown, unknown>]

/** Every read of the history, with what it waits for first. */
const reads: { readonly [K in keyof Reads]: ReadonlyArray<Call> } = {
  orders: [["user alice", (_) => _.orders(orders)]],
  order: [
    ["user alice", (_) => _.order({ user_id, sub_account_address: "0xa", order_id: "1", order_link_id: undefined })]
  ],
  executions: [["user alice", (_) => _.executions({ ...page, order_id: undefined, exec_type: undefined })]],
  executionsAt: [["user alice", (_) => _.executionsAt({ ...list, offset: 0 })]],
  closedPnls: [["user alice", (_) => _.closedPnls(page)]],
  transactions: [["user alice", (_) => _.transactions({ ...page, type: undefined })]],
  fundingPayments: [["user alice", (_) => _.fundingPayments(page)]],
  movements: [["user alice", (_) => _.movements({ ...page, kind: undefined })]],
  subAccounts: [["shown rows of alice", (_) => _.subAccounts(user_id)]],
  fills: [["user alice", (_) => _.fills({ user_id, ...hours })]],
  hoursBefore: [["user alice", (_) => _.hoursBefore({ user_id, hour: 1 })]],
  userEvents: [["user alice", (_) => _.userEvents(user_id, 0, 10)]],
  lastRecords: [["shown rows of alice", (_) => _.lastRecords(user_id, "position")]],
  marketHours: [
    ["user alice", (_) => _.marketHours({ user_id, ...hours })],
    ["all", (_) => _.marketHours({ user_id: undefined, ...hours })]
  ],
  accountHours: [
    ["user alice", (_) => _.accountHours({ user_id, ...hours })],
    ["all", (_) => _.accountHours({ user_id: undefined, ...hours })]
  ],
  instruments: [["all", (_) => _.instruments]],
  trades: [["market BTC-USDC", (_) => _.trades(symbol, 10)]],
  candles: [["market BTC-USDC", (_) => _.candles({ kind: "trade", symbol, interval: "1", ...hours, limit: 10 })]],
  fundingRates: [["market BTC-USDC", (_) => _.fundingRates(market)]],
  openInterest: [["market BTC-USDC", (_) => _.openInterest({ ...market, interval: "60" })]],
  pools: [
    ["market BTC-USDC", (_) => _.pools(market)],
    ["all", (_) => _.pools({ ...market, symbol: undefined })]
  ],
  adlAlerts: [
    ["market BTC-USDC", (_) => _.adlAlerts(market)],
    ["all", (_) => _.adlAlerts({ ...market, symbol: undefined })]
  ],
  // for a start, and for the consumer of all executions: what the history holds, and no more
  executionsAfter: [[undefined, (_) => _.executionsAfter(0, 10)]],
  lastExecution: [[undefined, (_) => _.lastExecution]],
  ledger: [[undefined, (_) => _.ledger]],
  lastCandles: [[undefined, (_) => _.lastCandles]],
  streamHeads: [[undefined, (_) => _.streamHeads]],
  position: [[undefined, (_) => _.position]]
}
/** Reads without a parameter. */
const values = ["instruments", "lastExecution", "ledger", "lastCandles", "streamHeads", "position"]

describe("a read of what was shown", () => {
  for (const [method, calls] of Object.entries(reads)) {
    for (const [waitsFor, read] of calls) {
      it.effect(`${method} ${waitsFor === undefined ? "does not wait" : `begins with ${waitsFor}`}`, () =>
        Effect.gen(function* () {
          const steps: Array<string> = []
          const step = (text: string) => Effect.sync(() => steps.push(text) > 0)
          const readOf = (name: string) => [name, values.includes(name) ? step("read") : () => step("read")]
          const stored = Object.fromEntries(Object.keys(reads).map(readOf)) as History["Service"]
          const shown = (text: string) =>
            Effect.as(step(text), { rows: [], isComplete: true }).pipe(Effect.tap(() => step("read")))
          const waits = {
            subAccounts: (id: string) => shown(`shown rows of ${id}`),
            lastRecords: (id: string) => shown(`shown rows of ${id}`),
            user: (id: string) => step(`user ${id}`),
            market: (of: string) => step(`market ${of}`),
            all: step("all")
          } as unknown as WrittenHistory["Service"]
          yield* read(shownHistory(stored, waits))
          assert.deepStrictEqual(steps, [...(waitsFor === undefined ? [] : [waitsFor]), "read"])
        })
      )
    }
  }
})
