/** `mcp`: market data, and within explicit limits trading, for programs that use the Model Context Protocol. */
import { Config, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { Client, Wallet } from "../../client/index.ts"
import * as Decimal from "../../domain/Decimal.ts"
import { CliError } from "../ErrorOutput.ts"
import { baseUrl } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import { serve } from "../mcp/Server.ts"
import { subAccount } from "./OrderCommands.ts"

const amount = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withSchema(Decimal.Decimal), Flag.optional)

/**
 * Pause between two renewals, in ms. A token is valid for days, so a renewal can fail for days; and a machine that was suspended
 * meanwhile signs in again within an hour.
 */
const RENEWAL_MS = 3_600_000

/** Keeps a client signed in for as long as the process runs: the token of a wallet, and the clock of signatures. */
export const staySignedIn = (
  client: Pick<Client.Client, "login" | "syncTime">,
  wallet: Wallet.Wallet | undefined
): Effect.Effect<never> =>
  client.syncTime.pipe(
    Effect.andThen(wallet === undefined ? Effect.void : client.login(wallet)),
    // the next one can succeed; until then a tool fails with the error of the gateway
    Effect.ignore,
    Effect.andThen(Effect.sleep(RENEWAL_MS)),
    Effect.forever
  )

/** The API key of GATEWAY_API_KEY, whose scopes the gateway enforces; else the wallet. */
const signedIn = Effect.gen(function* () {
  const seed = yield* Config.option(Config.Redacted("GATEWAY_API_KEY"))
  if (Option.isNone(seed)) {
    const { client, wallet } = yield* Gateway.trader
    return { client, wallet }
  }
  const key = yield* Effect.try({
    try: () => Wallet.fromSeed(Redacted.value(seed.value)),
    catch: () => new CliError({ code: "KEY", message: "GATEWAY_API_KEY is not a seed", hint: "expected 64 hex digits" })
  })
  const client = yield* Client.make({ baseUrl: yield* baseUrl, credential: { type: "api-key", key, bodyHash: true } })
  yield* client.syncTime
  return { client, wallet: undefined }
})

export const mcp = Command.make(
  "mcp",
  {
    account: Flag.Boolean("account").pipe(
      Flag.withDescription("Offer your balances, positions, orders and fills too"),
      Flag.withDefault(false)
    ),
    trade: Flag.Boolean("trade").pipe(
      Flag.withDescription("Offer trading too, within --symbol, --max-order and --max-total"),
      Flag.withDefault(false)
    ),
    symbols: Flag.String("symbol").pipe(Flag.withDescription("Market that may be traded; repeatable"), Flag.atLeast(0)),
    maxOrder: amount("max-order", "Largest value of one order, in the quote asset"),
    maxTotal: amount("max-total", "Largest value of positions and open orders together, in the quote asset"),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const url = yield* baseUrl
    const { maxOrder, maxTotal, symbols, trade } = input
    if (trade && (symbols.length === 0 || Option.isNone(maxOrder) || Option.isNone(maxTotal))) {
      return yield* new CliError({
        code: "USAGE",
        message: "--trade needs limits: --symbol, --max-order and --max-total",
        hint: "such as --symbol BTC-USDC --max-order 1000 --max-total 5000"
      })
    }
    const limits =
      trade && Option.isSome(maxOrder) && Option.isSome(maxTotal)
        ? {
            symbols: new Set(symbols),
            maxOrder: Decimal.parse(maxOrder.value),
            maxTotal: Decimal.parse(maxTotal.value)
          }
        : undefined
    if (!input.account && !trade)
      return yield* serve({ client: yield* Gateway.anonymous, url, subAccount: undefined, limits: undefined })
    const { client, wallet } = yield* signedIn
    const first = Effect.map(client.user.subAccounts(), ({ list }) => list[0]!.sub_account_address)
    const own = Option.isSome(input.subAccount) ? input.subAccount.value : yield* first
    return yield* Effect.raceFirst(serve({ client, url, subAccount: own, limits }), staySignedIn(client, wallet))
  })
).pipe(
  Command.withDescription("Serve the Model Context Protocol on standard input and output; read-only by default"),
  Command.withExamples([
    { command: "gateway mcp", description: "Market data" },
    { command: "gateway mcp --trade --symbol BTC-USDC --max-order 1000 --max-total 5000" }
  ])
)
