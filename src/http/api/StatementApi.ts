/** /account: what moved an account's money, and its figures. Source: docs/contract/rest-account.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Deposit, Statistics, Withdrawal } from "../../domain/Account.ts"
import { Period, TransactionType } from "../../domain/Enumerations.ts"
import { field } from "../../domain/Field.ts"
import { FundingPayment } from "../../domain/Funding.ts"
import { FeeRate } from "../../domain/Market.ts"
import { list, page } from "../../domain/Page.ts"
import { Transaction } from "../../domain/Transaction.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, AnySymbol, paging, span } from "./Fields.ts"
import { errors, names } from "./OperationErrors.ts"
import { BearerOrApiKey } from "./Security.ts"

const sub_account_address = Schema.optionalKey(anyAddress("Sub-account"))
const symbol = Schema.optionalKey(AnySymbol)

const fundingQuery = { sub_account_address, symbol, ...span, ...paging }
const transactionsQuery = {
  sub_account_address,
  symbol,
  type: Schema.optionalKey(TransactionType),
  ...span,
  ...paging
}
const movementsQuery = { sub_account_address, ...paging }
const statisticsQuery = {
  sub_account_address,
  period: Schema.optionalKey(field(Period, "How far it reaches back, from a full hour on; 30d by default", "30d"))
}

const v0 = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
const id = "018f3f1e-5d5b-4a00-8000-000000000003"
const movement = { sub_account_address: v0, asset: "USDC", amount: "10000", status: "completed" }
const times = { created_time: 1767225600000, updated_time: 1767225600000 }

export class StatementApi extends HttpApiGroup.make("statement")
  .add(
    HttpApiEndpoint.get("funding", "/funding", {
      query: fundingQuery,
      success: page(FundingPayment),
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getFundingPayments",
        summary: "Funding payments",
        description: "What positions paid and received, by the time of settlement, newest first.",
        access: "read",
        response: {
          list: [
            {
              symbol: "BTC-USDC",
              sub_account_address: v0,
              side: "Buy",
              size: "0.5",
              mark_price: "60000",
              funding_rate: "0.0003",
              payment: "-9",
              funding_time: "2026-01-01T08:00:00.000Z",
              funding_time_ms: 1767254400000
            }
          ],
          next_page_cursor: ""
        }
      })
    ),
    HttpApiEndpoint.get("transactions", "/transactions", {
      query: transactionsQuery,
      success: page(Transaction),
      error: errors(...names, "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getTransactions",
        summary: "Transactions",
        description:
          "Every change of the money of an account, newest first. Money is the wallet and the isolated margins together, so moving margin is none, and each balance_after is the one before plus the amount.",
        access: "read",
        response: {
          list: [
            {
              id: "018f3f1e-5d5b-7a00-8000-000000000000-42",
              sub_account_address: v0,
              asset: "USDC",
              type: "fee",
              amount: "-6.6",
              balance_after: "9993.4",
              symbol: "BTC-USDC",
              order_id: "018f3f1e-5d5b-7a00-8000-000000000001",
              exec_id: "018f3f1e-5d5b-7a00-8000-000000000002",
              timestamp: 1767225600010
            }
          ],
          next_page_cursor: ""
        }
      })
    ),
    HttpApiEndpoint.get("deposits", "/deposits", {
      query: movementsQuery,
      success: page(Deposit),
      error: errors("SubAccountNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getDeposits",
        summary: "Deposits",
        description: "Money that came from outside, newest first.",
        access: "read",
        response: { list: [{ deposit_id: id, ...movement, source: "faucet", ...times }], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.get("withdrawals", "/withdrawals", {
      query: movementsQuery,
      success: page(Withdrawal),
      error: errors("SubAccountNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getWithdrawals",
        summary: "Withdrawals",
        description: "Money that left, or is on its way (`pending`), newest first.",
        access: "read",
        response: { list: [{ withdrawal_id: id, ...movement, destination: v0, ...times }], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.get("statistics", "/statistics", {
      query: statisticsQuery,
      success: Statistics,
      error: errors("SubAccountNotFound")
    }).annotateMerge(
      docs({
        id: "getStatistics",
        summary: "Figures of a period",
        description: "Volume, fees, results and the largest drawdown of one sub-account or of all; exact sums.",
        access: "read",
        response: {
          volume: "24200",
          maker_volume: "0",
          taker_volume: "24200",
          trade_count: 2,
          fees_paid: "13.31",
          liquidation_fee: "0",
          funding_paid: "0",
          realised_pnl: "200",
          win_count: 1,
          loss_count: 0,
          max_drawdown: "6.6",
          period: "30d",
          from_ms: 1764633600000,
          to_ms: 1767225600000
        }
      })
    ),
    HttpApiEndpoint.get("feeRates", "/fee-rate", {
      query: { symbol },
      success: list(FeeRate),
      error: errors("SymbolNotFound")
    }).annotateMerge(
      docs({
        id: "getFeeRates",
        summary: "Fee rates",
        description: "What fills cost you in one market or in all; a negative rate is a rebate.",
        access: "read",
        response: { list: [{ symbol: "BTC-USDC", maker_fee_rate: "0.0002", taker_fee_rate: "0.00055" }] }
      })
    )
  )
  .prefix("/api/v1/account")
  .middleware(BearerOrApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Statements", description: "What moved an account's money, and its figures" })
  ) {}
