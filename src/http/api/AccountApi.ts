/** /account: balances and movements of money. Source: docs/contract/rest-account.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Asset, Balance, Deposit, Transfer, Withdrawal } from "../../domain/Account.ts"
import { Decimal } from "../../domain/Decimal.ts"
import { TransferStatus } from "../../domain/Enumerations.ts"
import { field, measure } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { list, page, streamPosition } from "../../domain/Page.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, paging } from "./Fields.ts"
import { changes, errors, takesBody } from "./OperationErrors.ts"
import { BearerOrApiKey } from "./Security.ts"

export const Balances = Schema.Struct({ ...list(Balance).fields, ...streamPosition }).annotate({
  identifier: "Balances"
})

export const FaucetBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount", "asset")
}).annotate({ identifier: "FaucetBody" })
export type FaucetBody = typeof FaucetBody.Type

export const TransferBody = Schema.Struct({
  transfer_id: field(Uuid, "You choose the id; a repeated request with it returns the first result"),
  from_sub_account_address: anyAddress("Source sub-account"),
  to_sub_account_address: anyAddress("Target sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount", "asset")
}).annotate({ identifier: "TransferBody" })
export type TransferBody = typeof TransferBody.Type

export const WithdrawalBody = Schema.Struct({
  withdrawal_id: field(Uuid, "You choose the id; a repeated request with it returns the first result"),
  sub_account_address: anyAddress("Sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount; at most the sub-account's `withdrawable`", "asset"),
  destination: field(
    Schema.String,
    "In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused",
    "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
  )
}).annotate({ identifier: "WithdrawalBody" })
export type WithdrawalBody = typeof WithdrawalBody.Type

export const TransferReceipt = Schema.Struct({
  transfer_id: field(Uuid, "Transfer; you choose the id"),
  status: TransferStatus
}).annotate({
  identifier: "TransferReceipt"
})

const balancesQuery = { sub_account_address: Schema.optionalKey(anyAddress("Sub-account")) }
const transfersQuery = { sub_account_address: Schema.optionalKey(anyAddress("Sub-account")), ...paging }

const v0 = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
const v1 = "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be"
const id = "018f3f1e-5d5b-4a00-8000-000000000003"
const movement = { asset: "USDC", amount: "10000", status: "completed" }
const times = { created_time: 1767225600000, updated_time: 1767225600000 }

export class AccountApi extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("balances", "/balances", {
      query: balancesQuery,
      success: Balances,
      error: errors("SubAccountNotFound")
    }).annotateMerge(
      docs({
        id: "getBalances",
        summary: "Balances",
        description: "Wallet, equity and margins of one sub-account or of all.",
        access: "read",
        response: {
          list: [
            {
              sub_account_address: v0,
              asset: "USDC",
              asset_addr: v1,
              wallet_balance: "9993.4",
              equity: "9993.4",
              available_balance: "6983.5",
              margin_used: "1200",
              order_margin: "1809.9",
              maintenance_margin: "120",
              unrealised_pnl: "0",
              isolated_margin: "0",
              withdrawable: "6983.5",
              updated_time: 1767225600010,
              seq: 5
            }
          ],
          stream_id: "s1",
          seq: 7
        }
      })
    ),
    HttpApiEndpoint.post("faucet", "/faucet", {
      payload: FaucetBody,
      success: Deposit,
      error: errors(...takesBody, ...changes, "SubAccountNotFound", "OutOfRange", "FaucetLimit", "ModuleDisabled")
    }).annotateMerge(
      docs({
        id: "askFaucet",
        summary: "Test money",
        description: "Deposits test money, up to a daily limit; switched off in production.",
        access: "account",
        request: { sub_account_address: v0, asset: "USDC", amount: "10000" },
        response: { deposit_id: id, sub_account_address: v0, ...movement, source: "faucet", ...times }
      })
    ),
    HttpApiEndpoint.post("transfer", "/transfer", {
      payload: TransferBody,
      success: TransferReceipt,
      error: errors(
        ...takesBody,
        ...changes,
        "InsufficientBalance",
        "OutOfRange",
        "SubAccountNotFound",
        "DuplicateRequestId"
      )
    }).annotateMerge(
      docs({
        id: "transferFunds",
        summary: "Transfer between own sub-accounts",
        description: "The transfer_id makes it idempotent: other content under a used id is 409 DuplicateRequestId.",
        access: "transfer",
        request: {
          transfer_id: id,
          from_sub_account_address: v0,
          to_sub_account_address: v1,
          asset: "USDC",
          amount: "100"
        },
        response: { transfer_id: id, status: "completed" }
      })
    ),
    HttpApiEndpoint.post("withdraw", "/withdrawals", {
      payload: WithdrawalBody,
      success: Withdrawal,
      error: errors(
        ...takesBody,
        ...changes,
        "InsufficientBalance",
        "OutOfRange",
        "SubAccountNotFound",
        "DuplicateRequestId",
        "DestinationNotListed"
      )
    }).annotateMerge(
      docs({
        id: "withdrawFunds",
        summary: "Withdraw",
        description:
          "Takes the amount out of the wallet at once; the withdrawal is `pending` until it has arrived. The withdrawal_id makes it idempotent: other content under a used id is 409 DuplicateRequestId.",
        access: "withdraw",
        request: { withdrawal_id: id, sub_account_address: v0, asset: "USDC", amount: "100", destination: v1 },
        response: {
          withdrawal_id: id,
          sub_account_address: v0,
          asset: "USDC",
          amount: "100",
          status: "pending",
          destination: v1,
          ...times
        }
      })
    ),
    HttpApiEndpoint.get("transfers", "/transfer", {
      query: transfersQuery,
      success: page(Transfer),
      error: errors("SubAccountNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getTransfers",
        summary: "Transfers",
        description: "Transfers between own sub-accounts, newest first.",
        access: "read",
        response: {
          list: [{ transfer_id: id, from_sub_account_address: v0, to_sub_account_address: v1, ...movement, ...times }],
          next_page_cursor: ""
        }
      })
    )
  )
  .prefix("/api/v1/account")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "Balances and movements of money" })) {}
