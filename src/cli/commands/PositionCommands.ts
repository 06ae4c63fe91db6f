/** `position`: leverage, margin mode, margin, exits, closing, and the PnL of closed positions. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Decimal } from "../../domain/Decimal.ts"
import type { Position } from "../../domain/Position.ts"
import { CliError } from "../ErrorOutput.ts"
import { optionally } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import * as Live from "../Live.ts"
import { show, time } from "../Show.ts"
import { symbol } from "./MarketCommands.ts"
import { limit, rowsOf, showOutcome, showPage, subAccount } from "./OrderCommands.ts"

const multiple = (name: string) => `${name}×`

const leverage = Command.make(
  "leverage",
  {
    symbol,
    leverage: Argument.String("leverage").pipe(Argument.withDescription("Such as 12.5"), Argument.withSchema(Decimal)),
    subAccount
  },
  Effect.fnUntraced(function* ({ leverage, subAccount, symbol }) {
    const { client, wallet } = yield* Gateway.trader
    const set = yield* client.position.setLeverage({
      payload: { sub_account_address: Gateway.vaultOf(wallet, subAccount), symbol, leverage }
    })
    yield* show(set, (now) => `${now.symbol} ${multiple(now.leverage)}`)
  })
).pipe(Command.withDescription("Set the leverage of a market"))

const margin = Command.make(
  "margin-mode",
  {
    symbol,
    mode: Argument.Literals("mode", ["cross", "isolated"]),
    leverage: Flag.String("leverage").pipe(
      Flag.withDescription("Leverage to set with it"),
      Flag.withSchema(Decimal),
      Flag.optional
    ),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const set = yield* client.position.switchMarginMode({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        margin_mode: input.mode === "cross" ? "Cross" : "Isolated",
        ...optionally("leverage", input.leverage)
      }
    })
    yield* show(set, (now) => `${now.symbol} ${now.margin_mode} ${multiple(now.leverage)}`)
  })
).pipe(Command.withDescription("Choose cross or isolated margin, while there is no position and no order"))

/** An isolated position after a change of its margin, in a line. */
export const marginText = ({ isolated_margin, liq_price, symbol }: Position): string =>
  `${symbol} margin ${isolated_margin ?? "0"}, liquidation at ${liq_price || "no price"}`

const addMargin = Command.make(
  "add-margin",
  {
    symbol,
    amount: Argument.String("amount").pipe(Argument.withDescription("In USDC"), Argument.withSchema(Decimal)),
    remove: Flag.Boolean("remove").pipe(Flag.withDescription("Remove it instead"), Flag.withDefault(false)),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const position = yield* client.position.addMargin({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        margin: input.remove ? `-${input.amount}` : input.amount
      }
    })
    yield* show(position, marginText)
  })
).pipe(Command.withDescription("Add margin to an isolated position, or remove some"))

const exitPrice = (name: string, what: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${what}; 0 removes it`), Flag.withSchema(Decimal), Flag.optional)

const exits = Command.make(
  "exits",
  {
    symbol,
    takeProfit: exitPrice("take-profit", "Last price that closes the position with a profit"),
    stopLoss: exitPrice("stop-loss", "Last price that closes it with a loss"),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const set = yield* client.position.tradingStop({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        ...optionally("take_profit", input.takeProfit),
        ...optionally("stop_loss", input.stopLoss)
      }
    })
    const text = (price: string): string => (price === "" ? "none" : price)
    yield* show(set, (now) => `${now.symbol} take-profit ${text(now.take_profit)}, stop-loss ${text(now.stop_loss)}`)
  })
).pipe(Command.withDescription("Set take-profit and stop-loss of a position"))

const close = Command.make(
  "close",
  {
    symbol,
    qty: Flag.String("qty").pipe(Flag.withDescription("Default: all of it"), Flag.withSchema(Decimal), Flag.optional),
    price: Flag.String("price").pipe(
      Flag.withDescription("Limit price; without it at market"),
      Flag.withSchema(Decimal),
      Flag.optional
    ),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const sub_account_address = Gateway.vaultOf(wallet, input.subAccount)
    const { list } = yield* client.position.list({ query: { symbol: input.symbol, sub_account_address } })
    const position = list.find(({ size }) => size !== "0")
    if (position === undefined)
      return yield* new CliError({ code: "NOT_FOUND", message: `no position in ${input.symbol}` })
    const ref = yield* client.order.create({
      payload: {
        sub_account_address,
        symbol: input.symbol,
        side: position.side === "Buy" ? "Sell" : "Buy",
        order_type: Option.isSome(input.price) ? "Limit" : "Market",
        qty: Option.getOrElse(input.qty, () => position.size),
        reduce_only: true,
        ...optionally("price", input.price)
      }
    })
    yield* showOutcome("accepted: order", client, ref)
  })
).pipe(Command.withDescription("Close a position, or a part of it, with a reduce-only order"))

const closed = Command.make(
  "closed",
  { limit, ...Live.watching },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const query = { limit: yield* rowsOf(input.limit) }
    yield* showPage(
      input,
      client.position.closedPnl({ query }),
      [
        { title: "TIME", of: ({ created_time }) => time(Number(created_time)) },
        { title: "MARKET", of: ({ symbol }) => symbol },
        { title: "CLOSED", of: ({ side }) => (side === "Sell" ? "Long" : "Short") },
        { title: "SIZE", right: true, of: ({ closed_size }) => closed_size },
        { title: "ENTRY", right: true, of: ({ avg_entry_price }) => avg_entry_price },
        { title: "EXIT", right: true, of: ({ avg_exit_price }) => avg_exit_price },
        {
          title: "PNL",
          right: true,
          of: ({ closed_pnl }) => closed_pnl,
          colour: ({ closed_pnl }, paint) => (closed_pnl.startsWith("-") ? paint.red : paint.green)
        }
      ],
      "nothing closed yet"
    )
  })
).pipe(Command.withDescription("List the PnL of closed positions, newest first"))

export const position = Command.make("position").pipe(
  Command.withDescription("Set leverage, margin mode, margin and exits; close; list closed PnL"),
  Command.withSubcommands([leverage, margin, addMargin, exits, close, closed])
)
