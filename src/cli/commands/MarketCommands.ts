/** `markets` and `funding`: prices of all markets, and the funding history of one. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as Gateway from "../Gateway.ts"
import * as Live from "../Live.ts"
import { table, time } from "../Show.ts"
import { limit, rowsOf, showPage } from "./OrderCommands.ts"

export const symbol = Argument.String("symbol").pipe(Argument.withDescription("Market, such as BTC-USDC"))

export const markets = Command.make("markets", Live.watching, (input) =>
  Effect.gen(function* () {
    const client = yield* Gateway.anonymous
    const read = Effect.map(client.market.tickers({ query: {} }), ({ list }) => list)
    yield* Live.list(input, read, (all, paint) =>
      table(
        all,
        [
          { title: "MARKET", of: ({ symbol }) => symbol },
          { title: "MARK", right: true, of: ({ mark_price }) => mark_price },
          { title: "LAST", right: true, of: ({ last_price }) => last_price },
          { title: "BID", right: true, of: ({ bid1_price }) => bid1_price ?? "–" },
          { title: "ASK", right: true, of: ({ ask1_price }) => ask1_price ?? "–" },
          { title: "24 H", right: true, of: ({ price_24h_pcnt }) => price_24h_pcnt },
          { title: "VOLUME", right: true, of: ({ volume_24h }) => volume_24h },
          { title: "OPEN INTEREST", right: true, of: ({ open_interest }) => open_interest },
          { title: "FUNDING", right: true, of: ({ funding_rate }) => funding_rate }
        ],
        paint,
        "no markets"
      )
    )
  })
).pipe(Command.withDescription("List markets with prices, volume, open interest and predicted funding"))

export const funding = Command.make("funding", { symbol, limit, ...Live.watching }, (input) =>
  Effect.gen(function* () {
    const client = yield* Gateway.anonymous
    const query = { symbol: input.symbol, limit: yield* rowsOf(input.limit) }
    yield* showPage(
      input,
      client.market_history.funding({ query }),
      [
        { title: "TIME", of: ({ funding_time_ms }) => time(funding_time_ms) },
        { title: "RATE", right: true, of: ({ funding_rate }) => funding_rate },
        { title: "MARK", right: true, of: ({ mark_price }) => mark_price }
      ],
      "no settlement yet"
    )
  })
).pipe(Command.withDescription("List the settled funding rates of a market, newest first"))
