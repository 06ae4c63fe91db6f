/**
 * Fills the tables of the lists inside the database, each row from its number. One user owns every second row; a thousand
 * others share the rest. The user's rows are uneven, as those of a busy account: most belong to one sub-account and two markets.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { orderExample } from "../../src/http/api/OrderApi.ts"

export const START = 1_767_225_600_000
export const OWN = "00000000-0000-5000-8000-000000000000"
const OTHERS = 1_000
/** Rows of one statement, so that it ends within the statement timeout of four seconds. */
const CHUNK = 10_000

export const padded = (n: number): string => String(100_000_000_000 + n)
export const uuidOf = (n: number): string => `018f3f1e-5d5b-7a00-8000-${padded(n)}`
export const addressOf = (n: number): string => `0x${"0".repeat(52)}${padded(n)}`
export const timeOf = (n: number): number => START + n * 10
const text = (expression: string): string => `CAST(${expression} AS TEXT)`
const padding = (expression: string): string => text(`100000000000 + ${expression}`)

const every = (n: number, rare: string, common: string): string =>
  `CASE WHEN n % ${n} = 0 THEN ${rare} ELSE ${common} END`
const isOwn = "n % 2 = 0"
const owner = `CASE WHEN ${isOwn} THEN '${OWN}' ELSE '00000000-0000-5000-9000-' || ${padding(`n % ${OTHERS}`)} END`
/** 0 but for every 5,000th row. */
const account = every(5_000, "1", "0")
const address = `'0x${"0".repeat(52)}' || ${padding(`CASE WHEN ${isOwn} THEN ${account} ELSE 10 + n % ${OTHERS} END`)}`
const symbol = every(3_000, "'SOL-USDC'", every(3, "'ETH-USDC'", "'BTC-USDC'"))
const side = every(4, "'Sell'", every(7_000, "'Sell'", "'Buy'"))
const id = `'018f3f1e-5d5b-7a00-8000-' || ${padding("n")}`
const time = `${START} + n * 10`
/** A record of an order's size, which begins with the row's number. */
const record = `'{"n":' || ${text("n")} || ',${JSON.stringify(orderExample).slice(1)}'`

type Columns = { readonly [column: string]: string }
const common: Columns = { user_id: owner, sub_account_address: address, symbol, record }
/** The columns of each table as expressions of `n`. */
export const tables = {
  orders: {
    ...common,
    order_id: id,
    id: "n",
    order_link_id: every(3, `'link-' || ${text("n")}`, "NULL"),
    // an open order in a thousand, a rejected one in 9,000
    status: every(1_000, "'New'", every(9_000, "'Rejected'", every(5, "'Filled'", "'Canceled'"))),
    is_open: every(1_000, "1", "0"),
    created_time: time,
    side
  },
  executions: {
    ...common,
    id: "n",
    // ten fills of an order
    order_id: `'018f3f1e-5d5b-7a00-8000-' || ${padding("n - n % 20")}`,
    exec_type: every(6_000, "'Funding'", "'Trade'"),
    exec_time: time,
    side
  },
  closed_pnls: { ...common, order_id: id, id: "n", created_time: time },
  transactions: { ...common, id: "n", type: every(6_000, "'funding'", "'fee'"), time },
  funding_payments: { ...common, id: "n", funding_time: time },
  movements: {
    user_id: owner,
    kind: every(6_000, "'withdrawal'", every(4, "'transfer'", "'deposit'")),
    transfer_id: id,
    id: "n",
    from_address: address,
    to_address: address,
    created_time: time,
    record
  },
  funding_rates: { symbol, funding_time: time, id: "n", record },
  open_interest: { symbol, span: every(4, "'15'", "'5'"), time, id: "0", record },
  insurance_pools: { symbol, time, id: "n", record },
  adl_alerts: { symbol, time, id: "n", record },
  candles: { kind: every(4, "'mark'", "'trade'"), symbol, span: "'1'", start_time: time, record },
  trades: { symbol, id: "n", n: "0", record },
  rewards: {
    reward_id: id,
    user_id: owner,
    kind: "'referral'",
    asset: "'USDC'",
    amount: "'1'",
    status: every(6_000, "'pending'", "'claimed'"),
    source_id: id,
    created_time: time,
    due_time: time
  },
  access_codes: {
    code_id: id,
    code_hash: id,
    label: every(6_000, "'rare'", "'common'"),
    max_uses: "1",
    uses: "0",
    badge: "TRUE",
    multiplier_bps: "10000",
    revoked: "FALSE",
    created_time: time
  },
  competition_entries: {
    competition_id: "'one'",
    sub_account_address: `'0x${"0".repeat(52)}' || ${padding("n")}`,
    user_id: owner,
    days: "'[]'",
    last_time: time,
    active_days: "1",
    metric_value: "'1'",
    score: "'1'",
    place: padding("n")
  }
} as const satisfies Record<string, Columns>
export type Table = keyof typeof tables

/** Inserts rows 1 to `rows` into a table and updates its statistics. */
export const fill = Effect.fnUntraced(function* (table: Table, rows: number) {
  const sql = yield* SqlClient.SqlClient
  const columns = Object.entries<string>(tables[table])
  const names = columns.map(([name]) => name).join(", ")
  const values = columns.map(([, value]) => value).join(", ")
  for (let from = 1; from <= rows; from += CHUNK) {
    const to = Math.min(from + CHUNK - 1, rows)
    yield* sql.unsafe(
      `INSERT INTO ${table} (${names}) WITH RECURSIVE numbers (n) AS
        (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to}) SELECT ${values} FROM numbers`
    )
  }
  // SQLite needs no statistics for these indexes
  yield* sql.onDialectOrElse({ pg: () => sql.unsafe(`ANALYZE ${table}`), orElse: () => Effect.void })
})
