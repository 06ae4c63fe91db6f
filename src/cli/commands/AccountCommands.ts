/** `positions`, `balances` and `faucet`. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { Decimal } from "../../domain/Decimal.ts"
import * as Gateway from "../Gateway.ts"
import { ofSide, show, table } from "../Show.ts"
import { subAccount } from "./OrderCommands.ts"

export const positions = Command.make("positions", {}, () =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    const { list } = yield* client.position.list({ query: {} })
    yield* show(list, (all, paint) =>
      table(
        all,
        [
          { title: "MARKET", of: ({ symbol }) => symbol },
          { title: "SIDE", of: ({ side }) => side, colour: ofSide },
          { title: "SIZE", right: true, of: ({ size }) => size },
          { title: "ENTRY", right: true, of: ({ avg_price }) => avg_price },
          { title: "MARK", right: true, of: ({ mark_price }) => mark_price },
          { title: "LIQUIDATION", right: true, of: ({ liq_price }) => liq_price },
          { title: "LEVERAGE", right: true, of: ({ leverage }) => leverage },
          { title: "MODE", of: ({ margin_mode }) => margin_mode },
          {
            title: "PNL",
            right: true,
            of: ({ unrealised_pnl }) => unrealised_pnl,
            colour: ({ unrealised_pnl }, paint) => (unrealised_pnl.startsWith("-") ? paint.red : paint.green)
          }
        ],
        paint,
        "no positions"
      )
    )
  })
).pipe(Command.withDescription("List open positions"))

export const balances = Command.make("balances", {}, () =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    const { list } = yield* client.account.balances({ query: {} })
    yield* show(list, (all, paint) =>
      table(
        all,
        [
          { title: "SUB-ACCOUNT", of: ({ sub_account_address }) => `${sub_account_address.slice(0, 10)}…` },
          { title: "ASSET", of: ({ asset }) => asset },
          { title: "WALLET", right: true, of: ({ wallet_balance }) => wallet_balance },
          { title: "EQUITY", right: true, of: ({ equity }) => equity },
          { title: "AVAILABLE", right: true, of: ({ available_balance }) => available_balance },
          { title: "IN ORDERS", right: true, of: ({ order_margin }) => order_margin },
          { title: "IN POSITIONS", right: true, of: ({ margin_used }) => margin_used }
        ],
        paint,
        "no balances; on a test network, gateway faucet adds test money"
      )
    )
  })
).pipe(Command.withDescription("List balances"))

export const faucet = Command.make(
  "faucet",
  {
    amount: Argument.String("amount").pipe(Argument.withDescription("Amount in USDC"), Argument.withSchema(Decimal)),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const deposit = yield* client.account.faucet({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        asset: "USDC",
        amount: input.amount
      }
    })
    yield* show(deposit, ({ amount, asset, status }) => `${amount} ${asset}: ${status}`)
  })
).pipe(Command.withDescription("Deposit test money, on a test network"))
