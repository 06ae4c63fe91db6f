/** The REST requests of the page, with the types of the API's schemas. Live data comes from the feeds. */
import type { Balance, Deposit } from "../src/domain/Account.ts"
import type { Interval, TransactionType } from "../src/domain/Enumerations.ts"
import type { ClosedPnl } from "../src/domain/ClosedPnl.ts"
import type { FundingPayment } from "../src/domain/Funding.ts"
import type { Transaction } from "../src/domain/Transaction.ts"
import type { Execution } from "../src/domain/Execution.ts"
import type { Candle, Instrument, PriceCandle, RiskTier } from "../src/domain/Market.ts"
import type { Order, OrderRef } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"
import type { SubAccount } from "../src/domain/User.ts"
import type { FaucetBody } from "../src/http/api/AccountApi.ts"
import type { Login, LoginBody } from "../src/http/api/AuthorizeApi.ts"
import type { AmendOrderBody, CancelAllBody, CancelOrderBody, CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import type {
  AddMarginBody,
  LeverageBody,
  MarginModeBody,
  MarginSetting,
  TradingStopBody
} from "../src/http/api/PositionApi.ts"

const BASE = "/api/v1"
/** Time limit of a request, in ms. */
const TIMEOUT_MS = 15_000
/** Fills that the page loads and shows. */
export const FILLS_MAX = 100
/** Candles that the chart loads. */
const CANDLES = 500

/** An error response of the gateway; status 0: no response. */
export class ApiFailure extends Error {
  readonly status: number
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

interface ErrorBody {
  readonly message?: string
  readonly details?: { readonly reason?: string }
}

const refusalOf = async (response: Response): Promise<ApiFailure> => {
  const { details, message } = (await response.json().catch(() => ({}))) as ErrorBody
  const wait = response.headers.get("retry-after")
  const summary = message ?? `the gateway responded with status ${response.status}`
  const text = response.status === 429 && wait !== null ? `${summary}; try again in ${wait} s` : summary
  return new ApiFailure(response.status, details?.reason ?? "", text)
}

const send = async <A>(method: string, path: string, body?: object, token?: string): Promise<A> => {
  const response = await fetch(BASE + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS)
  }).catch(() => {
    throw new ApiFailure(0, "NoAnswer", "the gateway does not answer")
  })
  if (!response.ok) throw await refusalOf(response)
  // the type parameter follows the schema of the operation
  return (await response.json()) as A
}

interface List<A> {
  readonly list: ReadonlyArray<A>
}
/** A page of a list; the cursor of the last page is empty. */
export interface Page<A> extends List<A> {
  readonly next_page_cursor: string
}
/** Records of one page of a table. */
const PAGE_RECORDS = 50
/** A page of a list of the API; the cursor of the first one is empty. */
const pageOf = <A>(path: string, cursor: string, token: string, filter = ""): Promise<Page<A>> =>
  send(
    "GET",
    `${path}?limit=${PAGE_RECORDS}${filter}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    undefined,
    token
  )

/** Public requests. */
export const instruments = (): Promise<List<Instrument>> => send("GET", "/market/instruments-info")
export const riskTiers = (): Promise<List<RiskTier>> => send("GET", "/market/risk-limit")
export const candles = (symbol: string, interval: Interval): Promise<List<Candle>> =>
  send("GET", `/market/kline?symbol=${symbol}&interval=${interval}&limit=${CANDLES}`)
export const markCandles = (symbol: string, interval: Interval): Promise<List<PriceCandle>> =>
  send("GET", `/market/mark-price-kline?symbol=${symbol}&interval=${interval}&limit=${CANDLES}`)
export const login = (body: typeof LoginBody.Type): Promise<typeof Login.Type> => send("POST", "/authorize", body)

/** Requests with a token. */
export const asOwner = (token: string) => ({
  subAccounts: (): Promise<List<SubAccount>> => send("GET", "/user/sub-accounts", undefined, token),
  executions: (): Promise<List<Execution>> => send("GET", `/execution/list?limit=${FILLS_MAX}`, undefined, token),
  balances: (): Promise<List<Balance>> => send("GET", "/account/balances", undefined, token),
  /** With a symbol the list includes a flat position, which has the leverage. */
  positions: (symbol: string): Promise<List<Position>> =>
    send("GET", `/position/list?symbol=${symbol}`, undefined, token),
  orderHistory: (cursor: string): Promise<Page<Order>> => pageOf("/order/history", cursor, token),
  fills: (cursor: string): Promise<Page<Execution>> => pageOf("/execution/list", cursor, token),
  closedPnl: (cursor: string): Promise<Page<ClosedPnl>> => pageOf("/position/closed-pnl", cursor, token),
  funding: (cursor: string): Promise<Page<FundingPayment>> => pageOf("/account/funding", cursor, token),
  /** `type`: only transactions of this type; empty: of all. */
  transactions: (cursor: string, type: TransactionType | ""): Promise<Page<Transaction>> =>
    pageOf("/account/transactions", cursor, token, type === "" ? "" : `&type=${type}`),
  create: (body: CreateOrderBody): Promise<OrderRef> => send("POST", "/order/create", body, token),
  amend: (body: AmendOrderBody): Promise<OrderRef> => send("POST", "/order/amend", body, token),
  cancel: (body: CancelOrderBody): Promise<OrderRef> => send("POST", "/order/cancel", body, token),
  cancelAll: (body: CancelAllBody): Promise<List<OrderRef>> => send("POST", "/order/cancel-all", body, token),
  setLeverage: (body: LeverageBody): Promise<{ readonly leverage: string }> =>
    send("POST", "/position/set-leverage", body, token),
  switchMarginMode: (body: MarginModeBody): Promise<typeof MarginSetting.Type> =>
    send("POST", "/position/switch-margin-mode", body, token),
  addMargin: (body: AddMarginBody): Promise<Position> => send("POST", "/position/add-margin", body, token),
  tradingStop: (body: TradingStopBody): Promise<unknown> => send("POST", "/position/trading-stop", body, token),
  faucet: (body: FaucetBody): Promise<Deposit> => send("POST", "/account/faucet", body, token),
  logout: (): Promise<unknown> => send("POST", "/authorize/logout", undefined, token)
})
export type Owner = ReturnType<typeof asOwner>
