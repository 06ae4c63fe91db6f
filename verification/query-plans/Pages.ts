/** Every list that a database serves, with every filter and the hardest pairs of them. */
import { Effect } from "effect"
import { type RowKey, type Rows } from "../../src/domain/Page.ts"
import { AccessCodes } from "../../src/services/identity/AccessCodes.ts"
import { CompetitionStore } from "../../src/services/rewards/CompetitionStore.ts"
import {
  type ExecutionQuery,
  History,
  type ListQuery,
  OFFSET_MAX,
  type OrderQuery
} from "../../src/services/History.ts"
import { RewardStore } from "../../src/services/rewards/RewardStore.ts"
import { addressOf, OWN, type Table, timeOf, uuidOf } from "./Fill.ts"

type Services = AccessCodes | CompetitionStore | History | RewardStore
/** Which page of a list of so many rows is read. */
export interface Asked {
  readonly limit: number
  /** The row after which the page begins; `undefined`: the newest. */
  readonly after: number | undefined
}
/** The part of a page that all lists have. */
export interface Found {
  readonly rows: number
  /** Numbers of the rows, where their records tell. */
  readonly numbers?: ReadonlyArray<number>
  readonly next?: RowKey | undefined
}
export interface Case {
  readonly endpoint: string
  readonly filter: string
  readonly table: Table
  readonly read: (asked: Asked) => Effect.Effect<Found, unknown, Services>
  /** Whether a row belongs to the list, by its number. */
  readonly has?: (n: number) => boolean
}

const keyOf = (after: number | undefined): RowKey | undefined =>
  after === undefined ? undefined : { time: timeOf(after), id: after }
const listOf = ({ after, limit }: Asked, query: Partial<ListQuery>): ListQuery => ({
  user_id: OWN,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit,
  after: keyOf(after),
  ...query
})
const foundOf = <A>({ next, rows, texts }: Rows<A>): Found => ({
  rows: (texts ?? rows).length,
  get numbers() {
    return rows.map((row) => (row as { readonly n: number }).n)
  },
  next
})
const history = <A>(read: (history: History["Service"]) => Effect.Effect<Rows<A>, unknown>) =>
  Effect.map(Effect.flatMap(History, read), foundOf)
const counted = <A, E>(rows: Effect.Effect<ReadonlyArray<A>, E, Services>) =>
  Effect.map(rows, (all): Found => ({ rows: all.length }))

const own = (n: number) => n % 2 === 0
const market = (n: number) => (n % 3_000 === 0 ? "SOL-USDC" : n % 3 === 0 ? "ETH-USDC" : "BTC-USDC")
const sideOf = (n: number) => (n % 4 === 0 || n % 7_000 === 0 ? "Sell" : "Buy")
const first = (n: number) => n % 5_000 !== 0
const statusOf = (n: number) =>
  n % 1_000 === 0 ? "New" : n % 9_000 === 0 ? "Rejected" : n % 5 === 0 ? "Filled" : "Canceled"

const span = { start_time: timeOf(100), end_time: timeOf(1_000_000) }
const inSpan = (n: number) => n >= 100 && n < 1_000_000
/** Filters that lists have in common; the rare ones leave pages short. */
const shared: ReadonlyArray<readonly [string, Partial<ListQuery>, (n: number) => boolean]> = [
  ["none", {}, () => true],
  ["span", span, inSpan],
  ["symbol", { symbol: "BTC-USDC" }, (n) => market(n) === "BTC-USDC"],
  ["symbol, rare", { symbol: "SOL-USDC" }, (n) => market(n) === "SOL-USDC"],
  ["symbol, of no row", { symbol: "XRP-USDC" }, () => false],
  ["sub_account", { sub_accounts: [addressOf(0)] }, first],
  ["sub_account, rare", { sub_accounts: [addressOf(1)] }, (n) => !first(n)],
  [
    "sub_account, symbol, span",
    { ...span, symbol: "ETH-USDC", sub_accounts: [addressOf(0), addressOf(1)] },
    (n) => inSpan(n) && market(n) === "ETH-USDC"
  ]
]
type Filter<Q> = readonly [string, Partial<Q>, (n: number) => boolean]
const ORDER = 12_000
const open = (n: number) => statusOf(n) === "New"
const orderFilters: ReadonlyArray<Filter<OrderQuery>> = [
  ...shared,
  ["side", { side: "Sell" }, (n) => sideOf(n) === "Sell"],
  ["order_status", { statuses: ["Filled"] }, (n) => statusOf(n) === "Filled"],
  ["order_status, rare", { statuses: ["Rejected"] }, (n) => statusOf(n) === "Rejected"],
  ["order_status, several", { statuses: ["Rejected", "Filled", "New"] }, (n) => statusOf(n) !== "Canceled"],
  ["order_status, open", { statuses: ["New"] }, open],
  [
    "order_status, symbol, side",
    { statuses: ["Rejected"], symbol: "BTC-USDC", side: "Sell" },
    (n) => statusOf(n) === "Rejected" && market(n) === "BTC-USDC" && sideOf(n) === "Sell"
  ],
  ["order_id", { order_id: uuidOf(ORDER) }, (n) => n === ORDER],
  ["order_link_id", { order_link_id: `link-${ORDER}` }, (n) => n === ORDER]
]
const statuses = ["New", "PartiallyFilled", "Untriggered", "CancelRequested"] as const
const openFilters: ReadonlyArray<Filter<OrderQuery>> = [
  ...shared.filter(([name]) => !name.includes("span")),
  ["side", { side: "Sell" }, (n) => sideOf(n) === "Sell"],
  ["order_id", { order_id: uuidOf(ORDER) }, (n) => n === ORDER],
  ["order_link_id", { order_link_id: `link-${ORDER}` }, (n) => n === ORDER]
]
const executionFilters: ReadonlyArray<Filter<ExecutionQuery>> = [
  ...shared,
  ["side", { side: "Sell" }, (n) => sideOf(n) === "Sell"],
  ["exec_type", { exec_type: "Trade" }, (n) => n % 6_000 !== 0],
  ["exec_type, rare", { exec_type: "Funding" }, (n) => n % 6_000 === 0],
  ["exec_type, side, of no row", { exec_type: "Funding", side: "Buy" }, () => false],
  ["order_id", { order_id: uuidOf(ORDER) }, (n) => n - (n % 20) === ORDER],
  [
    "order_id, symbol",
    { order_id: uuidOf(ORDER), symbol: "BTC-USDC" },
    (n) => n - (n % 20) === ORDER && market(n) === "BTC-USDC"
  ]
]

const ownCases = <Q extends ListQuery, A>(
  endpoint: string,
  table: Table,
  filters: ReadonlyArray<Filter<Q>>,
  read: (history: History["Service"], query: Q) => Effect.Effect<Rows<A>, unknown>,
  also: (n: number) => boolean = () => true
): ReadonlyArray<Case> =>
  filters.map(([filter, query, has]) => ({
    endpoint,
    filter,
    table,
    read: (asked) => history((port) => read(port, { ...listOf(asked, {}), ...query } as Q)),
    has: (n) => own(n) && also(n) && has(n)
  }))

const anyOrder = { order_id: undefined, order_link_id: undefined, statuses: undefined }
const anyExecution = { order_id: undefined, exec_type: undefined }
const kindOf = (n: number) => (n % 6_000 === 0 ? "withdrawal" : n % 4 === 0 ? "transfer" : "deposit")
const byAccount = shared.filter(
  ([name]) => name === "none" || (name.startsWith("sub_account") && !name.includes("symbol"))
)
const marketSpan = { start_time: timeOf(100), end_time: timeOf(1_000_000) }
const allTime = { start_time: undefined, end_time: undefined }

const marketCases: ReadonlyArray<Case> = [
  ...[allTime, marketSpan].flatMap((bounds): ReadonlyArray<Case> => {
    const filter = bounds === allTime ? "symbol" : "symbol, span"
    const of = ({ after, limit }: Asked) => ({ symbol: "BTC-USDC", ...bounds, limit, after: keyOf(after) })
    return [
      {
        endpoint: "market/funding/history",
        filter,
        table: "funding_rates",
        read: (asked) => history((port) => port.fundingRates(of(asked)))
      },
      {
        endpoint: "market/open-interest",
        filter: `interval, ${filter}`,
        table: "open_interest",
        read: (asked) => history((port) => port.openInterest({ ...of(asked), interval: "5" }))
      }
    ]
  }),
  ...["BTC-USDC", "SOL-USDC", undefined].flatMap((symbol): ReadonlyArray<Case> => {
    const filter = symbol === undefined ? "span" : "symbol, span"
    const of = ({ after, limit }: Asked) => ({
      symbol,
      start_time: undefined,
      end_time: after === undefined ? undefined : timeOf(after),
      limit
    })
    return [
      {
        endpoint: "market/insurance-pool/history",
        filter,
        table: "insurance_pools",
        read: (asked) => counted(Effect.flatMap(History, (port) => port.pools(of(asked))))
      },
      {
        endpoint: "market/adl-alert/history",
        filter,
        table: "adl_alerts",
        read: (asked) => counted(Effect.flatMap(History, (port) => port.adlAlerts(of(asked))))
      }
    ]
  }),
  {
    endpoint: "market/kline",
    filter: "symbol, interval, span",
    table: "candles",
    read: ({ after, limit }) =>
      counted(
        Effect.flatMap(History, (port) =>
          port.candles({
            kind: "trade",
            symbol: "BTC-USDC",
            interval: "1",
            start: 0,
            end: after === undefined ? timeOf(2_000_000) : timeOf(after),
            limit
          })
        )
      )
  },
  {
    endpoint: "market/recent-trade",
    filter: "symbol",
    table: "trades",
    read: ({ limit }) => counted(Effect.flatMap(History, (port) => port.trades("BTC-USDC", limit)))
  }
]

const storeCases: ReadonlyArray<Case> = [
  ...([undefined, "claimed", "pending"] as const).map((status): Case => ({
    endpoint: "user/rewards",
    filter: status === undefined ? "none" : `status ${status}`,
    table: "rewards",
    read: ({ after, limit }) =>
      counted(
        Effect.flatMap(RewardStore, (port) =>
          port.list({
            user_id: OWN,
            status,
            limit,
            after: after === undefined ? undefined : { created_time: timeOf(after), reward_id: uuidOf(after) }
          })
        )
      )
  })),
  ...[undefined, "common", "rare"].map((label): Case => ({
    endpoint: "admin/access-codes",
    filter: label === undefined ? "none" : `label ${label}`,
    table: "access_codes",
    read: ({ after, limit }) =>
      counted(
        Effect.flatMap(AccessCodes, (port) =>
          port.list({
            label,
            limit,
            after: after === undefined ? undefined : { created_time: timeOf(after), code_id: uuidOf(after) }
          })
        )
      )
  })),
  {
    endpoint: "user/competitions/{id}/leaderboard",
    filter: "none",
    table: "competition_entries",
    read: ({ after, limit }) =>
      counted(
        Effect.flatMap(CompetitionStore, (port) =>
          port.ranked("one", after === undefined ? undefined : String(100_000_000_000 + after), limit)
        )
      )
  }
]

/** By table, so that one is filled at a time. */
export const cases: ReadonlyArray<Case> = [
  ...ownCases<OrderQuery, unknown>("order/history", "orders", orderFilters, (port, query) =>
    port.orders({ ...anyOrder, ...query })
  ),
  ...ownCases<OrderQuery, unknown>(
    "order/realtime",
    "orders",
    openFilters,
    (port, query) => port.orders({ ...anyOrder, ...query, statuses }),
    open
  ),
  ...ownCases<ExecutionQuery, unknown>("execution/list", "executions", executionFilters, (port, query) =>
    port.executions({ ...anyExecution, ...query })
  ),
  ...[undefined, "BTC-USDC", "SOL-USDC"].flatMap((symbol): ReadonlyArray<Case> => [
    {
      endpoint: "trade/executions",
      filter: symbol === undefined ? "none" : `symbol ${symbol}`,
      table: "executions",
      read: ({ after, limit }) =>
        counted(
          Effect.map(
            Effect.flatMap(History, (port) =>
              port.executionsAt({
                user_id: OWN,
                sub_accounts: undefined,
                symbol,
                limit: Math.min(limit, 100),
                offset: after === undefined ? 0 : OFFSET_MAX - 100
              })
            ),
            ({ rows }) => rows
          )
        )
    }
  ]),
  ...ownCases<ListQuery & { readonly order_id?: string }, unknown>(
    "position/closed-pnl",
    "closed_pnls",
    [...shared, ["order_id", { order_id: uuidOf(ORDER) }, (n) => n === ORDER]],
    (port, query) => port.closedPnls(query)
  ),
  ...ownCases<ListQuery & { readonly type?: "fee" | "funding" }, unknown>(
    "account/transactions",
    "transactions",
    [
      ...shared,
      ["type", { type: "fee" }, (n) => n % 6_000 !== 0],
      ["type, rare", { type: "funding" }, (n) => n % 6_000 === 0],
      ["type, symbol, of no row", { type: "funding", symbol: "BTC-USDC" }, () => false]
    ],
    (port, query) => port.transactions({ type: undefined, ...query })
  ),
  ...ownCases("account/funding", "funding_payments", shared, (port, query) => port.fundingPayments(query)),
  ...(["transfer", "deposit", "withdrawal"] as const).flatMap((kind) =>
    ownCases(
      kind === "transfer" ? "account/transfer" : `account/${kind}s`,
      "movements",
      byAccount,
      (port, query) => port.movements({ ...query, kind }),
      (n) => kindOf(n) === kind
    )
  ),
  ...marketCases,
  ...storeCases
]
