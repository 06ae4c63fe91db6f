/** The operations of the SDK, one line each. The compiler compares them with the gateway's endpoints. Source: docs/contract/rest.md. */
import type { HttpApi } from "effect/http-api"
import type { Api } from "../http/api/Api.ts"

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer G> ? G : never
type GroupName = Groups["identifier"]
export type Endpoints<G extends GroupName> = Extract<Groups, { readonly identifier: G }>["endpoints"]

type WithoutSlash<P extends string> = P extends `${infer Head}/` ? Head : P
/** Method and path of an endpoint, the path below the base path. */
type OperationOf<E> = E extends { readonly method: infer M extends string; readonly path: `/api/v1${infer P}` }
  ? `${M} ${WithoutSlash<P>}`
  : never

export const operations = {
  market: {
    time: "GET /market/time",
    instruments: "GET /market/instruments-info",
    tickers: "GET /market/tickers",
    orderbook: "GET /market/orderbook",
    recentTrades: "GET /market/recent-trade",
    kline: "GET /market/kline"
  },
  market_history: {
    markKline: "GET /market/mark-price-kline",
    indexKline: "GET /market/index-price-kline",
    funding: "GET /market/funding/history",
    riskLimit: "GET /market/risk-limit",
    openInterest: "GET /market/open-interest",
    pool: "GET /market/insurance-pool",
    pools: "GET /market/insurance-pool/history",
    adl: "GET /market/adl-alert",
    adls: "GET /market/adl-alert/history"
  },
  order: {
    create: "POST /order/create",
    amend: "POST /order/amend",
    cancel: "POST /order/cancel",
    cancelAll: "POST /order/cancel-all",
    createBatch: "POST /order/create-batch",
    cancelBatch: "POST /order/cancel-batch",
    switches: "GET /order/disconnect-cancel-all",
    setSwitch: "POST /order/disconnect-cancel-all",
    realtime: "GET /order/realtime",
    history: "GET /order/history"
  },
  execution: { list: "GET /execution/list" },
  position: {
    list: "GET /position/list",
    closedPnl: "GET /position/closed-pnl",
    setLeverage: "POST /position/set-leverage",
    switchMarginMode: "POST /position/switch-margin-mode",
    addMargin: "POST /position/add-margin",
    tradingStop: "POST /position/trading-stop"
  },
  account: {
    balances: "GET /account/balances",
    faucet: "POST /account/faucet",
    transfer: "POST /account/transfer",
    transfers: "GET /account/transfer",
    withdraw: "POST /account/withdrawals"
  },
  withdrawal_address: {
    addresses: "GET /account/withdrawal-addresses",
    add: "POST /account/withdrawal-addresses",
    restrict: "PUT /account/withdrawal-addresses",
    remove: "DELETE /account/withdrawal-addresses/:destination"
  },
  statement: {
    funding: "GET /account/funding",
    transactions: "GET /account/transactions",
    deposits: "GET /account/deposits",
    withdrawals: "GET /account/withdrawals",
    statistics: "GET /account/statistics",
    feeRates: "GET /account/fee-rate"
  },
  user: {
    me: "GET /user/me",
    portfolio: "GET /user/portfolio",
    subAccounts: "GET /user/sub-accounts",
    createSubAccount: "POST /user/sub-accounts",
    changeSubAccount: "PATCH /user/sub-accounts/:sub_account_address",
    deleteSubAccount: "DELETE /user/sub-accounts/:sub_account_address",
    apiKeys: "GET /user/api-keys",
    createApiKey: "POST /user/api-keys",
    changeApiKey: "PATCH /user/api-keys/:api_key_id",
    revokeApiKey: "DELETE /user/api-keys/:api_key_id"
  },
  reward: {
    referral: "GET /user/referral",
    refer: "POST /user/referral",
    rewards: "GET /user/rewards",
    claim: "POST /user/rewards/:reward_id/claim"
  },
  competition: {
    competitions: "GET /user/competitions",
    competition: "GET /user/competitions/:competition_id",
    placement: "GET /user/competitions/:competition_id/placement",
    leaderboard: "GET /user/competitions/:competition_id/leaderboard"
  },
  access: { activate: "POST /access/activate" },
  authorize: { login: "POST /authorize", logout: "POST /authorize/logout" }
} as const satisfies {
  readonly [G in GroupName]?: { readonly [E in keyof Endpoints<G>]?: OperationOf<Endpoints<G>[E]> }
}
export type Operations = typeof operations

/** Groups and single operations that need no credential and send none. */
const OPEN: ReadonlySet<string> = new Set(["market", "market_history", "access", "authorize.login"])
export const isOpen = (group: string, name: string): boolean => OPEN.has(group) || OPEN.has(`${group}.${name}`)
