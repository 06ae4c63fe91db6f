/**
 * A walk by cursor over 10,000 rows returns every row once while 1,000 more arrive. A cursor of another list, user or signer
 * is refused. Rows are inserted through the port, since an exchange would take too long to create them.
 * Source: docs/contract/conventions.md#paging.
 */
import { Effect, Layer, ManagedRuntime } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Event, EventBody } from "../../src/domain/Event.ts"
import { Projecting } from "../../src/domain/Projection.ts"
import { MINUTE_MS } from "../../src/domain/Time.ts"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../src/layers/sql/SqlHistory.ts"
import { History } from "../../src/services/History.ts"
import { body, event, START, symbol, uuid } from "../../verification/harness/Records.ts"
import { type Gateway, gateway, tokenCaller, userId, v0, v1 } from "../http/Fixture.ts"
import { operations } from "../../verification/harness/documents/JsonSchema.ts"

const ROWS = 10_000
const ARRIVING = 1_000
const LIMIT = 200
/** Rows with the same time, so that a page ends between equal times. */
const PER_MS = 7
const time = (n: number): number => START + Math.floor(n / PER_MS)

interface Walk {
  readonly path: string
  /** The n-th row. */
  readonly row: (n: number) => EventBody
  /** The field that identifies a row, and its value in the n-th row; by default the id of the row. */
  readonly id: string
  readonly known?: (n: number) => string
  /** Parameters that the list needs; a list of a market has no owner. */
  readonly market?: string
}
const order = (n: number) =>
  body.order({
    order_id: uuid(n),
    sub_account_address: v0,
    created_time: String(time(n)),
    updated_time: String(time(n))
  })
const movement =
  (kind: "transfer" | "deposit" | "withdrawal") =>
  (n: number): EventBody => ({
    type: "movement",
    movement: {
      transfer_id: uuid(n),
      user_id: userId,
      kind,
      from_sub_account_address: v0,
      to_sub_account_address: v1,
      asset: "USDC",
      amount: "1",
      status: "completed",
      reference: "",
      created_time: time(n),
      updated_time: time(n)
    }
  })
const walks: ReadonlyArray<Walk> = [
  { path: "/api/v1/order/history", id: "order_id", row: order },
  { path: "/api/v1/order/realtime", id: "order_id", row: order },
  {
    path: "/api/v1/execution/list",
    id: "exec_id",
    row: (n) => body.execution({ exec_id: uuid(n), sub_account_address: v0, exec_time: String(time(n)) })
  },
  { path: "/api/v1/account/transfer", id: "transfer_id", row: movement("transfer") },
  { path: "/api/v1/account/deposits", id: "deposit_id", row: movement("deposit") },
  { path: "/api/v1/account/withdrawals", id: "withdrawal_id", row: movement("withdrawal") },
  {
    path: "/api/v1/position/closed-pnl",
    id: "order_id",
    row: (n) => body.closing({ order_id: uuid(n), sub_account_address: v0, exec_time: String(time(n)) })
  },
  {
    path: "/api/v1/account/funding",
    id: "size",
    known: (n) => String(n + 1),
    row: (n) => body.funded({ exec_qty: String(n + 1), sub_account_address: v0, exec_time: String(time(n)) })
  },
  {
    path: "/api/v1/account/transactions",
    id: "balance_after",
    known: (n) => String(n + 1),
    row: (n) => body.money("deposit", String(n + 1), { amount: "1" })
  },
  {
    path: "/api/v1/market/funding/history",
    market: `symbol=${symbol}`,
    id: "mark_price",
    known: (n) => String(n + 1),
    row: (n) => body.funding({ mark_price: String(n + 1), funding_time_ms: time(n) })
  },
  {
    path: "/api/v1/market/open-interest",
    market: `symbol=${symbol}`,
    id: "open_interest",
    known: (n) => String(n + 1),
    row: (n) => body.prices({ open_interest: String(n + 1), ts_ms: START + n * 5 * MINUTE_MS })
  }
]
/** Lists with a cursor that are as long as the number of markets: they cannot have 10,000 rows. */
const short: ReadonlySet<string> = new Set(["/api/v1/market/instruments-info", "/api/v1/position/list"])
/** Lists with a cursor of stores other than the history; StoreWalk.test.ts walks them. */
const kept = [
  "/api/v1/admin/access-codes",
  "/api/v1/admin/audit",
  "/api/v1/user/rewards",
  "/api/v1/user/competitions",
  "/api/v1/user/competitions/{competition_id}/leaderboard"
]

interface Page {
  readonly list: ReadonlyArray<Record<string, string>>
  readonly next_page_cursor: string
}

it("every list with a cursor has a walk", () => {
  const cursored = operations
    .filter(({ op }) => op.parameters.some((each: { readonly name: string }) => each.name === "cursor"))
    .map(({ path }) => path)
  const walked = new Set([...walks.map(({ path }) => path), ...kept])
  assert.deepStrictEqual(
    cursored.filter((path) => !walked.has(path) && !short.has(path)),
    [],
    "add a walk to test/spec/CursorWalk.test.ts or test/spec/StoreWalk.test.ts"
  )
})

const suite = <E>(name: string, layer: Layer.Layer<History, E>) =>
  describe.each(walks)(`a walk of $path on ${name}`, ({ id, known = uuid, market, path, row }) => {
    const runtime = ManagedRuntime.make(layer)
    let history: History["Service"]
    let projecting: Projecting
    let gate: Gateway
    let seq = 0
    let rows = 0
    /** Inserts the next rows. */
    const arrive = async (count: number): Promise<void> => {
      const events: Array<Event> = []
      for (let i = 0; i < count; i++) events.push(event(++seq, row(rows++), { user_id: userId }))
      await runtime.runPromise(history.commit(projecting.next("e1", events)))
    }
    beforeAll(async () => {
      history = await runtime.runPromise(History)
      projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      gate = gateway({
        history: {
          orders: history.orders,
          order: history.order,
          executions: history.executions,
          movements: history.movements,
          closedPnls: history.closedPnls,
          fundingPayments: history.fundingPayments,
          transactions: history.transactions,
          fundingRates: history.fundingRates,
          openInterest: history.openInterest
        },
        authenticator: {
          bearer: (token) =>
            Effect.succeed(token === "good" ? tokenCaller : { ...tokenCaller, user_id: uuid(5), root_address: v1 })
        }
      })
      for (let i = 0; i < ROWS; i += 1_000) await arrive(1_000)
    })
    afterAll(async () => {
      await gate?.dispose()
      await runtime.dispose()
    })
    const asking = (of: Walk) => `${of.path}?${of.market === undefined ? "" : `${of.market}&`}limit=${LIMIT}`
    const first = asking({ id, path, row, ...(market === undefined ? {} : { market }) })
    const ask = (target: string, token = "good") => gate.fetch("GET", target, { authorization: `Bearer ${token}` })
    const pageAfter = async (cursor: string): Promise<Page> => {
      const response = await ask(`${first}${cursor === "" ? "" : `&cursor=${cursor}`}`)
      assert.strictEqual(response.status, 200, cursor)
      return (await response.json()) as Page
    }

    it(`returns each of ${ROWS} rows once while ${ARRIVING} arrive, newest first`, { timeout: 60_000 }, async () => {
      const met: Array<string> = []
      let cursor = ""
      do {
        const page = await pageAfter(cursor)
        met.push(...page.list.map((each) => each[id]!))
        cursor = page.next_page_cursor
        if (rows < ROWS + ARRIVING) await arrive(ARRIVING / (ROWS / LIMIT))
      } while (cursor !== "")
      assert.strictEqual(rows, ROWS + ARRIVING)
      assert.deepStrictEqual(
        met,
        Array.from({ length: ROWS }, (_, i) => known(ROWS - 1 - i))
      )
    })

    it("refuses every foreign cursor", async () => {
      const { next_page_cursor: cursor } = await pageAfter("")
      const altered = [0, Math.floor(cursor.length / 2), cursor.length - 2].map(
        (at) => cursor.slice(0, at) + (cursor[at] === "A" ? "B" : "A") + cursor.slice(at + 1)
      )
      const wrong = [
        ...altered.map((each) => [each, "good", ""] as const),
        [cursor.slice(0, -4), "good", ""] as const,
        ...(market === undefined
          ? [[cursor, "other", ""] as const, [cursor, "good", `&sub_account_address=${v0}`] as const]
          : [[cursor, "good", `&end_time=${START}`] as const])
      ]
      for (const [each, token, filter] of wrong) {
        const response = await ask(`${first}&cursor=${each}${filter}`, token)
        const { details } = (await response.json()) as { readonly details?: { readonly reason: string } }
        assert.deepStrictEqual([response.status, details?.reason], [400, "InvalidCursor"], `${each} ${filter}`)
      }
      for (const other of walks) {
        if (other.path === path) continue
        assert.strictEqual((await ask(`${asking(other)}&cursor=${cursor}`)).status, 400, other.path)
      }
    })
  })

suite(
  "SqlHistory",
  SqlHistory.layer.pipe(Layer.provide(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
)
