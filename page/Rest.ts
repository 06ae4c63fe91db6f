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
import type { ApiKey, SubAccount } from "../src/domain/User.ts"
import type { FaucetBody, TransferBody } from "../src/http/api/AccountApi.ts"
import type { Login, LoginBody } from "../src/http/api/AuthorizeApi.ts"
import type { AmendOrderBody, CancelAllBody, CancelOrderBody, CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import type {
  AddMarginBody,
  LeverageBody,
  MarginModeBody,
  MarginSetting,
  TradingStopBody
} from "../src/http/api/PositionApi.ts"
import type { ChangeSubAccountBody, CreateApiKeyBody } from "../src/http/api/UserApi.ts"
import { type Throttled, throttledOf, throttledText } from "./Throttle.ts"

const BASE = "/api/v1"
/** Time limit of a request, in ms. */
const TIMEOUT_MS = 15_000
/** Fills that the page loads and shows. */
export const FILLS_MAX = 100
/** Candles that the chart loads at once. */
const CANDLES = 1_000

/** An error response of the gateway; status 0: no response. */
export class ApiFailure extends Error {
  readonly status: number
  readonly reason: string
  /** Set for a request beyond a rate. */
  readonly throttled: Throttled | undefined
  constructor(status: number, reason: string, message: string, throttled?: Throttled) {
    super(message)
    this.status = status
    this.reason = reason
    this.throttled = throttled
  }
}

interface ErrorBody {
  readonly message?: string
  readonly details?: { readonly reason?: string }
}

const refusalOf = async (response: Response): Promise<ApiFailure> => {
  const { details, message } = (await response.json().catch(() => ({}))) as ErrorBody
  const reason = details?.reason ?? ""
  if (response.status === 429) {
    const now_ms = Date.now()
    const throttled = throttledOf(response.headers, now_ms)
    return new ApiFailure(429, reason, throttledText(throttled, now_ms), throttled)
  }
  return new ApiFailure(response.status, reason, message ?? `the gateway responded with status ${response.status}`)
}

/** Whether the same request may succeed later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 0 || error.status === 429 || error.status >= 500)

const noAnswer = (): never => {
  throw new ApiFailure(0, "NoAnswer", "the gateway does not answer")
}

/** The credential of requests: its headers, and what follows when the gateway refuses it. */
export interface Credential {
  readonly headers: (request: {
    readonly method: string
    /** Path and query as sent. */
    readonly uri: string
    readonly body: string | undefined
  }) => Promise<Record<string, string>>
  /** Called after a 401; returns whether another credential takes over, so that the request is repeated. */
  readonly refused?: () => boolean
}
export const bearer = (token: string): Credential => ({
  headers: () => Promise.resolve({ authorization: `Bearer ${token}` })
})

const send = async <A>(method: string, path: string, content?: object, credential?: Credential): Promise<A> => {
  const uri = BASE + path
  const body = content === undefined ? undefined : JSON.stringify(content)
  const response = await fetch(uri, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(await credential?.headers({ method, uri, body }))
    },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(TIMEOUT_MS)
  }).catch(noAnswer)
  // a refused credential has changed nothing, so the request can be repeated
  if (response.status === 401 && credential?.refused?.() === true)
    return send(method, path, content, { headers: credential.headers })
  if (!response.ok) throw await refusalOf(response)
  // the type parameter follows the schema of the operation
  return (await response.json().catch(noAnswer)) as A
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
/** A page of a list of a sub-account; the cursor of the first one is empty. */
const pageOf = <A>(
  path: string,
  cursor: string,
  credential: Credential,
  address: string,
  filter = ""
): Promise<Page<A>> => {
  const after = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
  const query = `limit=${PAGE_RECORDS}&sub_account_address=${address}${filter}${after}`
  return send("GET", `${path}?${query}`, undefined, credential)
}

/** Public requests. */
export const instruments = (): Promise<List<Instrument>> => send("GET", "/market/instruments-info")
export const riskTiers = (): Promise<List<RiskTier>> => send("GET", "/market/risk-limit")
const candleQuery = (symbol: string, interval: Interval, before: number | undefined): string =>
  `symbol=${symbol}&interval=${interval}&limit=${CANDLES}${before === undefined ? "" : `&end_time=${before}`}`
/** Candles that start before a time, newest first; default: now. */
export const candles = (symbol: string, interval: Interval, before?: number): Promise<List<Candle>> =>
  send("GET", `/market/kline?${candleQuery(symbol, interval, before)}`)
export const markCandles = (symbol: string, interval: Interval, before?: number): Promise<List<PriceCandle>> =>
  send("GET", `/market/mark-price-kline?${candleQuery(symbol, interval, before)}`)
export const login = (body: typeof LoginBody.Type): Promise<typeof Login.Type> => send("POST", "/authorize", body)

/** Requests of the user, with an API key or a token. The histories are those of the sub-account `address`. */
export const asOwner = (credential: Credential, address: string) => ({
  subAccounts: (): Promise<List<SubAccount>> => send("GET", "/user/sub-accounts", undefined, credential),
  executions: (): Promise<List<Execution>> =>
    send("GET", `/execution/list?limit=${FILLS_MAX}&sub_account_address=${address}`, undefined, credential),
  balances: (): Promise<List<Balance>> => send("GET", "/account/balances", undefined, credential),
  /** With a symbol the list includes a flat position, which has the leverage. */
  positions: (symbol: string): Promise<List<Position>> =>
    send("GET", `/position/list?symbol=${symbol}`, undefined, credential),
  orderHistory: (cursor: string): Promise<Page<Order>> => pageOf("/order/history", cursor, credential, address),
  fills: (cursor: string): Promise<Page<Execution>> => pageOf("/execution/list", cursor, credential, address),
  closedPnl: (cursor: string): Promise<Page<ClosedPnl>> => pageOf("/position/closed-pnl", cursor, credential, address),
  funding: (cursor: string): Promise<Page<FundingPayment>> => pageOf("/account/funding", cursor, credential, address),
  /** `type`: only transactions of this type; empty: of all. */
  transactions: (cursor: string, type: TransactionType | ""): Promise<Page<Transaction>> =>
    pageOf("/account/transactions", cursor, credential, address, type === "" ? "" : `&type=${type}`),
  create: (body: CreateOrderBody): Promise<OrderRef> => send("POST", "/order/create", body, credential),
  amend: (body: AmendOrderBody): Promise<OrderRef> => send("POST", "/order/amend", body, credential),
  cancel: (body: CancelOrderBody): Promise<OrderRef> => send("POST", "/order/cancel", body, credential),
  cancelAll: (body: CancelAllBody): Promise<List<OrderRef>> => send("POST", "/order/cancel-all", body, credential),
  setLeverage: (body: LeverageBody): Promise<{ readonly leverage: string }> =>
    send("POST", "/position/set-leverage", body, credential),
  switchMarginMode: (body: MarginModeBody): Promise<typeof MarginSetting.Type> =>
    send("POST", "/position/switch-margin-mode", body, credential),
  addMargin: (body: AddMarginBody): Promise<Position> => send("POST", "/position/add-margin", body, credential),
  tradingStop: (body: TradingStopBody): Promise<unknown> => send("POST", "/position/trading-stop", body, credential),
  faucet: (body: FaucetBody): Promise<Deposit> => send("POST", "/account/faucet", body, credential),
  createSubAccount: (label: string): Promise<SubAccount> =>
    send("POST", "/user/sub-accounts", label === "" ? {} : { label }, credential),
  changeSubAccount: (address: string, body: typeof ChangeSubAccountBody.Type): Promise<SubAccount> =>
    send("PATCH", `/user/sub-accounts/${address}`, body, credential),
  deleteSubAccount: (address: string): Promise<unknown> =>
    send("DELETE", `/user/sub-accounts/${address}`, undefined, credential),
  transfer: (body: TransferBody): Promise<unknown> => send("POST", "/account/transfer", body, credential)
})
export type Owner = ReturnType<typeof asOwner>

/** Requests that only a token may make. */
export const asBearer = (token: string) => {
  const credential = bearer(token)
  return {
    apiKeys: (): Promise<List<ApiKey>> => send("GET", "/user/api-keys", undefined, credential),
    createApiKey: (body: CreateApiKeyBody): Promise<ApiKey> => send("POST", "/user/api-keys", body, credential),
    revokeApiKey: (id: string): Promise<unknown> => send("DELETE", `/user/api-keys/${id}`, undefined, credential),
    logout: (): Promise<unknown> => send("POST", "/authorize/logout", undefined, credential)
  }
}
