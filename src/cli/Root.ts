/** The command tree. Without a subcommand, `gateway` serves the exchange. */
import { Command } from "effect/cli"
import { balances, faucet, positions, subAccounts, transactions, transfer } from "./commands/AccountCommands.ts"
import { admin } from "./commands/AdminCommands.ts"
import { config } from "./commands/ConfigCommands.ts"
import { apiKeys, keys, login } from "./commands/KeyCommands.ts"
import { funding, markets, ticker } from "./commands/MarketCommands.ts"
import { mcp } from "./commands/McpCommand.ts"
import { fills, orders } from "./commands/OrderCommands.ts"
import { position } from "./commands/PositionCommands.ts"
import { backend, serve, serving } from "./commands/ServeCommands.ts"
import { sign, verify } from "./commands/SignCommands.ts"
import { book, trades } from "./commands/WatchCommands.ts"
import { withdrawalAddresses } from "./commands/WithdrawalAddressCommands.ts"
import * as Flags from "./Flags.ts"
import { Option } from "effect"

export const root = Command.make("gateway", {}, () =>
  serving({ port: Option.none(), host: Option.none(), dataDir: Option.none() })
).pipe(
  Command.withDescription("An open trading gateway with an embedded exchange. Without a command it runs serve"),
  Command.withSubcommands([
    { group: "Server", commands: [serve, backend, config] },
    {
      group: "Account",
      commands: [
        keys,
        login,
        balances,
        positions,
        transactions,
        faucet,
        transfer,
        subAccounts,
        apiKeys,
        withdrawalAddresses
      ]
    },
    { group: "Trading", commands: [orders, fills, position, markets, ticker, funding, book, trades, mcp] },
    { group: "Signatures", commands: [sign, verify] },
    { group: "Administration", commands: [admin] }
  ]),
  Command.withGlobalFlags(Flags.all)
)
