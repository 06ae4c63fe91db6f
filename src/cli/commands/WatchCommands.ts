/** `book` and `trades`: live market data. */
import { Console, Effect, Option, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { isPassing } from "../../client/Backoff.ts"
import type { FeedEvent } from "../../client/FeedEvent.ts"
import type { LocalBook } from "../../client/index.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { Depth } from "../../domain/Enumerations.ts"
import type { PublicTrade } from "../../domain/Market.ts"
import { printTopic } from "../../domain/Topic.ts"
import { Json } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import * as Live from "../Live.ts"
import { CliError } from "../ErrorOutput.ts"
import { ofSide, type Paint, paint, time } from "../Show.ts"

const symbol = Argument.String("symbol").pipe(Argument.withDescription("Market, such as BTC-USDC"))
const count = (what: string) =>
  Flag.Int("count").pipe(Flag.withDescription(`Stop after this many ${what}; default: run until Ctrl-C`), Flag.optional)
const limitOf = (given: Option.Option<number>) => Option.getOrElse(given, () => Number.POSITIVE_INFINITY)

/** Default levels per side; they fit on a screen. */
const LEVELS = 10
/** The smallest subscription depth with at least this many levels. */
const depthOf = (levels: number): Depth => (levels <= 1 ? 1 : levels <= 50 ? 50 : levels <= 200 ? 200 : 1_000)

type Level = readonly [price: string, qty: string]

/** Price, quantity and cumulative quantity of each level. */
const withTotals = (levels: ReadonlyArray<Level>): ReadonlyArray<readonly [string, string, string]> => {
  let total = 0n
  return levels.map(([price, qty]) => [price, qty, Decimal.format((total += Decimal.parse(qty)))] as const)
}

/** Lines of a drawing beside its levels: the head, the names of the columns and the spread. */
const HEAD_LINES = 3

const render = (symbol: string, wanted: number, paint: Paint) => (book: LocalBook, height: number) => {
  const levels = Math.max(1, Math.min(wanted, Math.floor((height - HEAD_LINES) / 2)))
  const asks = withTotals(book.asks(levels)).toReversed()
  const bids = withTotals(book.bids(levels))
  const width = Math.max(8, ...[...asks, ...bids].flatMap((row) => row.map((cell) => cell.length)))
  const line = (cells: ReadonlyArray<string>, colour: (text: string) => string) =>
    colour(cells.map((cell) => cell.padStart(width)).join("  "))
  const [ask] = book.asks(1)
  const [bid] = book.bids(1)
  const spread =
    ask === undefined || bid === undefined
      ? "one side is empty"
      : `spread ${Decimal.format(Decimal.parse(ask[0]) - Decimal.parse(bid[0]))}`
  return [
    `${paint.bold(symbol)}  ${book.sound ? paint.green("live") : paint.red("out of sync")}  ${paint.dim(`seq ${book.seq}`)}`,
    line(["PRICE", "QTY", "TOTAL"], paint.dim),
    ...asks.map((row) => line(row, paint.red)),
    paint.dim(spread.padStart(3 * width + 4)),
    ...bids.map((row) => line(row, paint.green))
  ].join("\n")
}

export const book = Command.make(
  "book",
  {
    symbol,
    levels: Flag.Int("levels").pipe(
      Flag.withDescription("Price levels per side, 1 to 1000; a terminal shows those that fit"),
      Flag.filter(
        (levels) => levels >= 1 && levels <= 1_000,
        () => "expected 1 to 1000"
      ),
      Flag.withDefault(LEVELS)
    ),
    count: count("updates")
  },
  ({ count, levels, symbol }) =>
    Effect.gen(function* () {
      const client = yield* Gateway.anonymous
      const { changes } = yield* client.book(symbol, depthOf(levels))
      if (yield* Json) {
        const rows = Stream.map(changes, (book) => ({
          symbol,
          seq: book.seq,
          sound: book.sound,
          bids: book.bids(levels),
          asks: book.asks(levels)
        }))
        return yield* Stream.runForEach(Stream.take(rows, limitOf(count)), (value) =>
          Console.log(JSON.stringify(value))
        )
      }
      yield* Live.draw(changes, limitOf(count), render(symbol, levels, yield* paint))
    }).pipe(Effect.scoped)
).pipe(
  Command.withDescription("Watch the order book of a market, verified with the gateway's checksum"),
  Command.withExamples([{ command: "gateway book BTC-USDC --levels 5" }])
)

const lineOf = (trade: PublicTrade, paint: Paint): string =>
  `${paint.dim(time(trade.timestamp))}  ${ofSide(trade, paint)(trade.side.padEnd(4))}  ${trade.qty.padStart(10)}  at ${trade.price}`

/** Trades of a snapshot. Source: docs/contract/websocket.md#public-topics. */
const SNAPSHOT = 50

/** The trades of a feed, each once: after a reconnect, a snapshot repeats those from before it. */
export const tradesOf = <E, R>(events: Stream.Stream<FeedEvent, E, R>): Stream.Stream<PublicTrade, E | CliError, R> =>
  Stream.suspend(() => {
    let printed: ReadonlyArray<string> = []
    return events.pipe(
      Stream.mapEffect((event) => {
        // the feed tries again after a temporary refusal
        if (event.kind === "refused" && !isPassing(event.error.code))
          return Effect.fail(new CliError({ code: event.error.code, message: event.error.message }))
        if (event.kind !== "trade") return Effect.succeed([])
        const list = event.data.list.filter(({ trade_id }) => !printed.includes(trade_id))
        printed = [...printed, ...list.map(({ trade_id }) => trade_id)].slice(-SNAPSHOT)
        return Effect.succeed(list)
      }),
      Stream.flatMap(Stream.fromIterable)
    )
  })

export const trades = Command.make("trades", { symbol, count: count("trades") }, ({ count, symbol }) =>
  Effect.gen(function* () {
    const client = yield* Gateway.anonymous
    const colours = yield* paint
    const json = yield* Json
    const all = tradesOf(client.events([printTopic({ kind: "trade", symbol })]))
    yield* Stream.runForEach(Stream.take(all, limitOf(count)), (trade) =>
      Console.log(json ? JSON.stringify(trade) : lineOf(trade, colours))
    )
  })
).pipe(Command.withDescription("Watch the trades of a market: recent ones, then each new one"))
