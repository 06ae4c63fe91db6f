/** `markets`, `ticker` and `funding`: prices of all markets or one, and the funding history of one. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as Gateway from "../Gateway.ts"
import * as Live from "../Live.ts"
import { facts, percent, table, time } from "../Show.ts"
import { limit, rowsOf, showPage } from "./OrderCommands.ts"

export const symbol = Argument.String("symbol").pipe(Argument.withDescription("Market, such as BTC-USDC"))

/** Decimal places of a change in percent, and of a funding rate, which has 8 as a ratio. */
const CHANGE_PLACES = 2
const RATE_PLACES = 6

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
          { title: "24 H", right: true, of: ({ price_24h_pcnt }) => percent(price_24h_pcnt, CHANGE_PLACES) },
          { title: "VOLUME", right: true, of: ({ volume_24h }) => volume_24h },
          { title: "OPEN INTEREST", right: true, of: ({ open_interest }) => open_interest },
          { title: "FUNDING", right: true, of: ({ funding_rate }) => percent(funding_rate, RATE_PLACES) }
        ],
        paint,
        "no markets"
      )
    )
  })
).pipe(Command.withDescription("List markets with prices, volume, open interest and predicted funding"))

export const ticker = Command.make("ticker", { symbol, ...Live.watching }, (input) =>
  Effect.gen(function* () {
    const client = yield* Gateway.anonymous
    const read = Effect.map(client.market.tickers({ query: { symbol: input.symbol } }), ({ list }) => list[0]!)
    const level = (price: string | undefined, size: string | undefined) =>
      price === undefined ? "none" : `${price} for ${size}`
    yield* Live.list(input, read, (one, paint) =>
      facts(
        [
          ["market", one.symbol],
          ["mark", one.mark_price],
          ["last", one.last_price],
          ["index", one.index_price],
          ["bid", level(one.bid1_price, one.bid1_size)],
          ["ask", level(one.ask1_price, one.ask1_size)],
          [
            "24 h",
            `${percent(one.price_24h_pcnt, CHANGE_PLACES)}, low ${one.low_price_24h}, high ${one.high_price_24h}`
          ],
          ["volume", `${one.volume_24h}, worth ${one.turnover_24h}`],
          ["open interest", `${one.open_interest}, worth ${one.open_interest_value}`],
          ["funding", `${percent(one.funding_rate, RATE_PLACES)} at ${time(one.next_funding_time_ms)}`]
        ],
        paint
      )
    )
  })
).pipe(Command.withDescription("Show the prices, volume, open interest and predicted funding of one market"))

export const funding = Command.make("funding", { symbol, limit, ...Live.watching }, (input) =>
  Effect.gen(function* () {
    const client = yield* Gateway.anonymous
    const query = { symbol: input.symbol, limit: yield* rowsOf(input.limit) }
    yield* showPage(
      input,
      client.market_history.funding({ query }),
      [
        { title: "TIME", of: ({ funding_time_ms }) => time(funding_time_ms) },
        { title: "RATE", right: true, of: ({ funding_rate }) => percent(funding_rate, RATE_PLACES) },
        { title: "MARK", right: true, of: ({ mark_price }) => mark_price }
      ],
      "no settlement yet"
    )
  })
).pipe(Command.withDescription("List the settled funding rates of a market, newest first"))
