/** Open positions: what they are worth, how near their liquidation is, and the buttons to change and to close them. */
import { keyOf } from "../src/client/Account.ts"
import * as Decimal from "../src/domain/Decimal.ts"
import type { Position } from "../src/domain/Position.ts"
import { type AccountView, byGain, bySide } from "./AccountView.ts"
import { h, setAttribute, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import { dangerOf, marginRatio, pnlNow, roeNow, wayToLiquidation } from "./PositionRisk.ts"
import { closeDialog } from "./CloseDialog.ts"
import { exitsDialog } from "./ExitsDialog.ts"
import { marginDialog } from "./AddMarginDialog.ts"
import { reverseDialog } from "./ReverseDialog.ts"
import { type Cell, type Column, type Table, table } from "./Table.ts"

const signed = (value: bigint): string => Decimal.format(value)

/** A cell with a text and a button that opens a dialog. */
const withButton =
  <A>(
    label: string,
    open: (record: A) => void,
    textOf: (record: A) => string,
    can: (record: A) => boolean = () => true
  ) =>
  (record: () => A): Cell<A> => {
    const text = h("span")
    const button = h("button", { type: "button", class: "edit", onclick: () => open(record()) }, text)
    return {
      element: button,
      show: (next) => {
        setText(text, textOf(next))
        button.disabled = !can(next)
        setAttribute(button, "aria-label", `${label}: ${textOf(next)}. Change`)
      }
    }
  }

export const positionsTable = (view: AccountView): Table<Position> => {
  const { market, markOf, price, qty, session } = view
  const dialogs = {
    close: closeDialog(view),
    exits: exitsDialog(view),
    margin: marginDialog(view),
    reverse: reverseDialog(view)
  }
  const ratioOf = (position: Position): bigint | undefined =>
    marginRatio(position, session.own(session.account.value.positions), session.balance(), markOf)
  const danger = (position: Position) => {
    const level = dangerOf(ratioOf(position), wayToLiquidation(position, markOf(position.symbol)))
    return level === "calm" ? undefined : level
  }
  const pnlOf = (position: Position): string => signed(pnlNow(position, markOf(position.symbol)))
  const columns: ReadonlyArray<Column<Position>> = [
    {
      head: "Market",
      cell: () => {
        const [name, mode] = [h("span"), h("small", { class: "dim" })]
        return {
          element: h("span", { class: "named" }, name, " ", mode),
          show: ({ leverage, margin_mode, symbol }) => {
            setText(name, symbol)
            setText(mode, `${margin_mode} ${leverage}×`)
          }
        }
      }
    },
    {
      head: "Size",
      of: ({ side, size, symbol }) => `${side === "Buy" ? "Long" : "Short"} ${qty(symbol, size)}`,
      tone: bySide
    },
    { head: "Entry", of: ({ avg_price, symbol }) => price(symbol, avg_price) },
    {
      head: "Break-even",
      hint: "Price at which closing brings neither profit nor loss, fees and funding included",
      of: ({ break_even_price, symbol }) => price(symbol, break_even_price)
    },
    { head: "Mark", of: ({ mark_price, symbol }) => price(symbol, markOf(symbol) ?? mark_price) },
    { head: "Liquidation", of: ({ liq_price, symbol }) => price(symbol, liq_price), tone: danger },
    {
      head: "Margin",
      cell: withButton(
        "Margin",
        dialogs.margin,
        ({ isolated_margin, position_im }) => Format.money(isolated_margin ?? position_im),
        ({ margin_mode }) => margin_mode === "Isolated"
      )
    },
    {
      head: "Margin ratio",
      hint: "Maintenance margin divided by the equity behind the position; 100 % is the liquidation",
      of: (position) => {
        const ratio = ratioOf(position)
        return ratio === undefined ? "–" : Format.percent(Decimal.format(ratio), 1)
      },
      tone: danger
    },
    {
      head: "Unrealised PnL",
      hint: "At the mark price, with the return on the margin",
      of: (position) => {
        const pnl = pnlNow(position, markOf(position.symbol))
        return `${Format.gain(signed(pnl))} (${Format.percent(signed(roeNow(position, pnl)), 1)})`
      },
      tone: (position) => byGain(pnlOf(position))
    },
    {
      head: "Realised PnL",
      hint: "Of this position, fees and funding included",
      of: ({ cur_realised_pnl }) => Format.gain(cur_realised_pnl),
      tone: ({ cur_realised_pnl }) => byGain(cur_realised_pnl)
    },
    {
      head: "TP / SL",
      cell: withButton("Take profit and stop loss", dialogs.exits, ({ stop_loss, symbol, take_profit }) =>
        take_profit === "" && stop_loss === "" ? "Add" : `${price(symbol, take_profit)} / ${price(symbol, stop_loss)}`
      )
    },
    {
      head: "ADL",
      hint: "Place in the line for auto-deleveraging; 5 is the first",
      of: ({ adl_rank_indicator }) => `${adl_rank_indicator}/5`
    }
  ]
  const button = (label: string, name: string, open: (position: Position) => void) => (position: () => Position) =>
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `${name} the position in ${position().symbol}`,
        onclick: () => open(position())
      },
      label
    )
  const list = table(columns, keyOf, "No open positions.", [
    button("Close", "Close", dialogs.close),
    button("Reverse", "Reverse", dialogs.reverse)
  ])
  drawn([session.account, session.user, market.tickers, market.instrument, view.onlyHere], () => {
    const held = session.own(session.account.value.positions)
    list.show(held.filter(({ symbol }) => !view.onlyHere.value || symbol === market.symbol))
  })
  return list
}
