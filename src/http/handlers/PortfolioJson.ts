/**
 * The portfolio as JSON text: money is decimal text inside and a bare numeral on the wire, digit for digit, so no float
 * ever holds it. Source: specification, Portfolio; docs/contract/rest-user.md#portfolio.
 */
import type { Portfolio } from "../../domain/Portfolio.ts"

/** Decimal text is a JSON numeral already: no exponent, no leading zero, no plus sign. */
const numeral = (text: string): string => {
  if (!/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/u.test(text)) throw new RangeError(`not a decimal: ${text}`)
  return text
}

const object = (members: ReadonlyArray<readonly [string, string]>): string =>
  `{${members.map(([key, json]) => `"${key}":${json}`).join(",")}}`
const array = (items: ReadonlyArray<string>): string => `[${items.join(",")}]`
const text = (value: string): string => JSON.stringify(value)

export const encode = (portfolio: Portfolio, user_addr: string): string => {
  const { summary } = portfolio
  return object([
    [
      "positions",
      array(
        portfolio.positions.map((position) =>
          object([
            ["epoch", String(position.epoch)],
            ["funding_index", numeral(position.funding_index)],
            ["margin", numeral(position.margin)],
            ["price", numeral(position.price)],
            ["seq", String(position.seq)],
            ["size", numeral(position.size)],
            ["timestamp", String(position.timestamp)],
            ["timestamp_ms", String(position.timestamp_ms)],
            ["market_addr", text(position.market_addr)],
            ["sid", text(position.sid)]
          ])
        )
      )
    ],
    [
      "summary",
      object([
        ["collateral_notional", numeral(summary.collateral_notional)],
        ["maintenance_margin_required", numeral(summary.maintenance_margin_required)],
        ["total_available_balance", numeral(summary.total_available_balance)],
        ["total_balance", numeral(summary.total_balance)],
        ["total_margin_used", numeral(summary.total_margin_used)],
        ["total_positions", String(summary.total_positions)],
        ["total_vaults", String(summary.total_vaults)],
        ["unrealized_funding_total", numeral(summary.unrealized_funding_total)],
        ["unrealized_pnl_total", numeral(summary.unrealized_pnl_total)]
      ])
    ],
    ["user_addr", text(user_addr)],
    [
      "vault_balances",
      array(
        portfolio.vault_balances.map((vault) =>
          object([
            ["asset_addr", text(vault.asset_addr)],
            ["balance", numeral(vault.balance)],
            ["id", text(vault.id)]
          ])
        )
      )
    ]
  ])
}
