/**
 * Transactions: every change of an account's money, with one signed amount each.
 *
 * Money is the wallet plus the isolated margins, so moving margin is not a transaction. `balance_after` of each
 * transaction is that of the previous one plus its amount.
 * Source: docs/contract/conventions.md#enumerations, docs/contract/rest-account.md.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Asset } from "./Account.ts"
import * as Decimals from "./Decimal.ts"
import { SignedDecimal } from "./Decimal.ts"
import { TransactionType } from "./Enumerations.ts"
import type { EventBody } from "./Event.ts"
import { field, measure } from "./Field.ts"
import { Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

export const Transaction = Schema.Struct({
  id: field(Schema.String, "Unique and stable"),
  sub_account_address: field(Address, "Sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  type: TransactionType,
  amount: measure(SignedDecimal, "Amount; negative: paid", "asset"),
  balance_after: measure(
    SignedDecimal,
    "Sum of wallet and isolated margins after it: the previous one plus amount",
    "asset"
  ),
  symbol: Schema.optionalKey(field(MarketSymbol, "Market")),
  order_id: Schema.optionalKey(field(Uuid, "Order id")),
  exec_id: Schema.optionalKey(field(Uuid, "Execution id")),
  timestamp: field(Millis, "Event time")
}).annotate({ identifier: "Transaction" })
export type Transaction = typeof Transaction.Type

type BalanceBody = Extract<EventBody, { readonly type: "balance" }>

/** Money of an account: its wallet and its isolated margins. */
export const moneyOf = ({ balance }: BalanceBody): Decimals.Scaled =>
  Decimals.parse(balance.wallet_balance) + Decimals.parse(balance.isolated_margin)

interface Part {
  readonly type: TransactionType
  readonly amount: Decimals.Scaled
}

/** The money movements of a balance event; none if only margins changed. The result of a fill precedes its fee. */
export const partsOf = (body: BalanceBody): ReadonlyArray<Part> => {
  const { parse } = Decimals
  const parts = (): ReadonlyArray<Part> => {
    switch (body.reason) {
      case "order":
      case "margin":
      case "mark":
        return []
      case "trade":
      case "adl":
        return [
          { type: body.reason === "adl" ? "adl" : "realized_pnl", amount: parse(body.realised_pnl) },
          { type: "fee", amount: -parse(body.fee) }
        ]
      default:
        return [{ type: body.reason, amount: parse(body.amount) }]
    }
  }
  return parts().filter(({ amount }) => amount !== 0n)
}

/** The transactions of a balance event, oldest first. `id` is that of the event. */
export const transactionsOf = (id: string, ts_ms: number, body: BalanceBody): ReadonlyArray<Transaction> => {
  const parts = partsOf(body)
  const { balance, exec_id, order_id, symbol } = body
  let money = moneyOf(body) - parts.reduce((sum, { amount }) => sum + amount, 0n)
  return parts.map(({ type, amount }, n) => {
    money += amount
    return {
      id: parts.length === 1 ? id : `${id}-${n + 1}`,
      sub_account_address: balance.sub_account_address,
      asset: balance.asset,
      type,
      amount: Decimals.format(amount),
      balance_after: Decimals.format(money),
      ...(symbol === undefined ? undefined : { symbol }),
      ...(order_id === undefined ? undefined : { order_id }),
      ...(exec_id === undefined ? undefined : { exec_id }),
      timestamp: ts_ms
    }
  })
}
