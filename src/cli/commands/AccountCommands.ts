/** `positions`, `balances`, `faucet`, `sub-accounts`, `transfer` and `transactions`. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Client } from "../../client/Client.ts"
import { Decimal } from "../../domain/Decimal.ts"
import { TransactionType } from "../../domain/Enumerations.ts"
import { Uuid } from "../../domain/Identity.ts"
import { LIMIT_MAX } from "../../domain/Page.ts"
import type { Position } from "../../domain/Position.ts"
import type { SubAccount } from "../../domain/User.ts"
import { optionally } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import * as Live from "../Live.ts"
import { type Column, ofSide, type Paint, show, table, time } from "../Show.ts"
import { limit, rowsOf, showPage, subAccount } from "./OrderCommands.ts"

/** All open positions. The first page alone would show less risk than there is. */
export const allPositions = Effect.fnUntraced(function* (client: Client) {
  const all: Array<Position> = []
  let cursor = ""
  do {
    const page = yield* client.position.list({ query: { limit: LIMIT_MAX, ...(cursor === "" ? {} : { cursor }) } })
    all.push(...page.list)
    cursor = page.next_page_cursor
  } while (cursor !== "")
  return all
})

export const positions = Command.make("positions", Live.watching, (input) =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    yield* Live.list(input, allPositions(client), (all, paint) =>
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

export const balances = Command.make("balances", Live.watching, (input) =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    const read = Effect.map(client.account.balances({ query: {} }), ({ list }) => list)
    yield* Live.list(input, read, (all, paint) =>
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

const subAccountColumns: ReadonlyArray<Column<SubAccount>> = [
  { title: "INDEX", right: true, of: ({ index }) => index },
  { title: "LABEL", of: ({ label }) => label },
  { title: "FROZEN", of: ({ frozen }) => (frozen ? "yes" : "no") },
  { title: "ADDRESS", of: ({ sub_account_address }) => sub_account_address }
]
const printedSubAccount = (one: SubAccount, paint: Paint): string => table([one], subAccountColumns, paint)

const label = Flag.String("label").pipe(Flag.withDescription("A name, at most 32 characters"), Flag.optional)
const address = Argument.String("address").pipe(Argument.withDescription("Address of the sub-account"))

const listSubAccounts = Command.make("list", Live.watching, (input) =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    const read = Effect.map(client.user.subAccounts(), ({ list }) => list)
    yield* Live.list(input, read, (all, paint) => table(all, subAccountColumns, paint))
  })
).pipe(Command.withDescription("List sub-accounts"))

const newSubAccount = Command.make("new", { label }, (input) =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    yield* show(yield* client.user.createSubAccount({ payload: optionally("label", input.label) }), printedSubAccount)
  })
).pipe(Command.withDescription("Open a sub-account"))

const changeSubAccount = Command.make(
  "change",
  {
    address,
    label,
    frozen: Flag.Literals("frozen", ["yes", "no"]).pipe(
      Flag.withDescription("Frozen: no new or amended orders; cancels are allowed"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const changed = yield* client.user.changeSubAccount({
      params: { sub_account_address: input.address },
      payload: {
        ...optionally("label", input.label),
        ...optionally(
          "frozen",
          Option.map(input.frozen, (answer) => answer === "yes")
        )
      }
    })
    yield* show(changed, printedSubAccount)
  })
).pipe(Command.withDescription("Change the label of a sub-account, or freeze it"))

const deleteSubAccount = Command.make("delete", { address }, (input) =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    const params = { sub_account_address: input.address }
    yield* show(
      yield* client.user.deleteSubAccount({ params }),
      ({ sub_account_address }) => `deleted ${sub_account_address}`
    )
  })
).pipe(Command.withDescription("Delete an empty sub-account"))

export const subAccounts = Command.make("sub-accounts").pipe(
  Command.withDescription("List, open, change and delete sub-accounts"),
  Command.withSubcommands([listSubAccounts, newSubAccount, changeSubAccount, deleteSubAccount])
)

export const transfer = Command.make(
  "transfer",
  {
    amount: Argument.String("amount").pipe(Argument.withDescription("Amount in USDC"), Argument.withSchema(Decimal)),
    to: Argument.String("to").pipe(Argument.withDescription("Address of the sub-account that receives it")),
    from: Flag.String("from").pipe(
      Flag.withDescription("Address of the sub-account that pays; default: the first one"),
      Flag.optional
    ),
    id: Flag.String("transfer-id").pipe(
      Flag.withDescription("UUID; a retry with the same one never transfers twice"),
      Flag.withSchema(Uuid),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const transfer_id = Option.getOrElse(input.id, () => crypto.randomUUID())
    const receipt = yield* client.account.transfer({
      payload: {
        transfer_id,
        from_sub_account_address: Gateway.vaultOf(wallet, input.from),
        to_sub_account_address: input.to,
        asset: "USDC",
        amount: input.amount
      }
    })
    yield* show(receipt, ({ status, transfer_id }) => `${input.amount} USDC: ${status} (${transfer_id})`)
  })
).pipe(Command.withDescription("Transfer USDC between two sub-accounts of yours"))

export const transactions = Command.make(
  "transactions",
  {
    type: Flag.Literals("type", TransactionType.literals).pipe(Flag.withDescription("One type only"), Flag.optional),
    limit,
    ...Live.watching
  },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const query = { limit: yield* rowsOf(input.limit), ...optionally("type", input.type) }
    yield* showPage(
      input,
      client.statement.transactions({ query }),
      [
        { title: "TIME", of: ({ timestamp }) => time(timestamp) },
        { title: "TYPE", of: ({ type }) => type },
        { title: "MARKET", of: ({ symbol }) => symbol },
        {
          title: "AMOUNT",
          right: true,
          of: ({ amount }) => amount,
          colour: ({ amount }, paint) => (amount.startsWith("-") ? paint.red : paint.green)
        },
        { title: "BALANCE", right: true, of: ({ balance_after }) => balance_after },
        { title: "ASSET", of: ({ asset }) => asset }
      ],
      "no transactions"
    )
  })
).pipe(
  Command.withDescription("List every change of your money: deposits, transfers, PnL, fees, funding; newest first")
)
