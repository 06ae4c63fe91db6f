/** The reads of both services, answered from the engine's state. */
import { Schema } from "effect"
import * as Decimal from "../domain/Decimal.ts"
import { Interval } from "../domain/Enumerations.ts"
import type { ListIndexCandlesRequest } from "../proto/gateway/v1/referee.ts"
import type { GetOpenOrdersRequest, GetOpenOrdersResponse } from "../proto/gateway/v1/sequencer.ts"
import type * as Engine from "./engine/Engine.ts"
import * as Reads from "./engine/Reads.ts"
import { indexCandles } from "./engine/referee/IndexCandles.ts"
import * as Positions from "./engine/referee/Positions.ts"
import * as Ids from "./engine/state/Ids.ts"
import type * as Running from "./server/Running.ts"

/** Maximum number of open orders per page. */
export const PAGE_ORDERS_MAX = 10_000

/**
 * Open orders after a page token. The token is the id of the last order of the previous page, which may have closed
 * meanwhile.
 */
const openOrders = (state: Engine.State, request: GetOpenOrdersRequest): GetOpenOrdersResponse => {
  const all = Reads.openOrders(state, request)
  const numberOf = (order_id: string) => Ids.read(state.orderSeed, order_id)?.number ?? 0
  const after = request.page_token === "" ? 0 : numberOf(request.page_token)
  const rest = after === 0 ? all : all.filter((order) => numberOf(order.order_id) > after)
  const orders = rest.slice(0, PAGE_ORDERS_MAX)
  const next_page_token = orders.length < rest.length ? orders.at(-1)!.order_id : ""
  return { orders, as_of_seq: Reads.headSeq(state), next_page_token }
}

const isInterval = Schema.is(Interval)
const orNotFound = <A>(value: A | undefined, what: string) => value ?? { notFound: `no such ${what}` }

/** Creates the reads of both services over the engine's state. */
export const reads = (state: Engine.State): Running.Reads => {
  const asOf = <A extends object>(value: A) => ({ ...value, as_of_seq: Reads.headSeq(state) })
  return {
    sequencer: {
      getOrderBook: ({ symbol, depth }) => orNotFound(Reads.orderBook(state, symbol, depth), "market"),
      getOpenOrders: (request) => openOrders(state, request),
      getOrder: (request) => {
        const order = Reads.order(state, request)
        return order === undefined ? { notFound: "no such open order" } : asOf({ order })
      },
      listInstruments: () => asOf({ instruments: Reads.instruments(state) }),
      listSubAccounts: ({ user_id }) => asOf({ sub_accounts: Reads.subAccounts(state, user_id), next_page_token: "" })
    },
    referee: {
      getAccount: ({ sub_account_address }) => orNotFound(Reads.account(state, sub_account_address), "sub-account"),
      getPortfolio: ({ user_id }) => Reads.portfolio(state, user_id),
      listPositions: (request) => asOf({ positions: Reads.positions(state, request), next_page_token: "" }),
      getPrices: ({ symbols }) => ({ prices: Reads.prices(state, symbols) }),
      listRiskTiers: ({ symbol }) => ({ tiers: Reads.riskTiers(state, symbol) }),
      getFeeRates: ({ symbol }) => ({ rates: Reads.feeRates(state, symbol) }),
      listFundingRates: (request) => orNotFound(Reads.fundingRates(state, request), "market"),
      getInsurancePool: ({ symbol }) => orNotFound(Reads.insurancePool(state, symbol), "market"),
      listInsurancePoolHistory: (request) => Reads.insurancePoolHistory(state, request),
      getAdlAlert: ({ symbol }) => orNotFound(Reads.adlAlert(state, symbol), "market"),
      listAdlAlertHistory: (request) => Reads.adlAlertHistory(state, request),
      previewMargin: ({ leverage, sub_account_address, symbol }) => {
        const parsed = Positions.readLeverage(leverage)
        return parsed === undefined
          ? { invalid: "leverage is a decimal from 1 with at most two places" }
          : orNotFound(Reads.previewMargin(state, sub_account_address, symbol, parsed), "sub-account or market")
      },
      listIndexCandles: (request: ListIndexCandlesRequest) => {
        const { interval } = request
        const market = state.marketOf.get(request.symbol)
        if (market === undefined) return { notFound: "no such market" }
        return isInterval(interval)
          ? { candles: indexCandles(state, market, { ...request, interval }) }
          : { invalid: `interval is one of ${Interval.literals.join(", ")}` }
      }
    },
    prices: () => Reads.prices(state),
    feeAccount: () => Number(Decimal.format(state.fees))
  }
}
