/** The REST requests of the page, with the types of the API's schemas. Live data comes from the feeds. */
import type { Balance, Deposit } from "../src/domain/Account.ts"
import type { Interval } from "../src/domain/Enumerations.ts"
import type { Execution } from "../src/domain/Execution.ts"
import type { Candle, Instrument, PriceCandle, RiskTier } from "../src/domain/Market.ts"
import type { OrderRef } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"
import type { SubAccount } from "../src/domain/User.ts"
import type { FaucetBody } from "../src/http/api/AccountApi.ts"
import type { Login, LoginBody } from "../src/http/api/AuthorizeApi.ts"
import type { CancelAllBody, CancelOrderBody, CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import type { LeverageBody } from "../src/http/api/PositionApi.ts"

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
  create: (body: CreateOrderBody): Promise<OrderRef> => send("POST", "/order/create", body, token),
  cancel: (body: CancelOrderBody): Promise<OrderRef> => send("POST", "/order/cancel", body, token),
  cancelAll: (body: CancelAllBody): Promise<List<OrderRef>> => send("POST", "/order/cancel-all", body, token),
  setLeverage: (body: LeverageBody): Promise<{ readonly leverage: string }> =>
    send("POST", "/position/set-leverage", body, token),
  faucet: (body: FaucetBody): Promise<Deposit> => send("POST", "/account/faucet", body, token),
  logout: (): Promise<unknown> => send("POST", "/authorize/logout", undefined, token)
})
export type Owner = ReturnType<typeof asOwner>
