/** `book` and `trades`: a market as it moves. */
import { Console, Effect, Option, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
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
  Flag.Int("count").pipe(Flag.withDescription(`Stop after so many ${what}; else at Ctrl-C`), Flag.optional)
const endless = (asked: Option.Option<number>) => Option.getOrElse(asked, () => Number.POSITIVE_INFINITY)

/** Levels a side that fit on a screen. */
const LEVELS = 10
/** The least depth that tells of so many. */
const depthOf = (levels: number): Depth => (levels <= 1 ? 1 : levels <= 50 ? 50 : levels <= 200 ? 200 : 1_000)

type Level = readonly [price: string, qty: string]

/** Price, quantity, and the quantity up to here, of each level. */
const cumulated = (levels: ReadonlyArray<Level>): ReadonlyArray<readonly [string, string, string]> => {
  let total = 0n
  return levels.map(([price, qty]) => [price, qty, Decimal.format((total += Decimal.parse(qty)))] as const)
}

const pictureOf = (symbol: string, levels: number, paint: Paint) => (book: LocalBook) => {
  const asks = cumulated(book.asks(levels)).toReversed()
  const bids = cumulated(book.bids(levels))
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
    `${paint.bold(symbol)}  ${book.sound ? paint.green("live") : paint.red("not sound")}  ${paint.dim(`seq ${book.seq}`)}`,
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
      Flag.withDescription("Price levels a side, 1 to 1000"),
      Flag.filter(
        (levels) => levels >= 1 && levels <= 1_000,
        () => "expected 1 to 1000"
      ),
      Flag.withDefault(LEVELS)
    ),
    count: count("pictures")
  },
  ({ count, levels, symbol }) =>
    Effect.gen(function* () {
      const client = yield* Gateway.anybody
      const { changes } = yield* client.book(symbol, depthOf(levels))
      if (yield* Json) {
        const told = Stream.map(changes, (book) => ({
          symbol,
          seq: book.seq,
          sound: book.sound,
          bids: book.bids(levels),
          asks: book.asks(levels)
        }))
        return yield* Stream.runForEach(Stream.take(told, endless(count)), (value) =>
          Console.log(JSON.stringify(value))
        )
      }
      yield* Live.draw(changes, endless(count), pictureOf(symbol, levels, yield* paint))
    }).pipe(Effect.scoped)
).pipe(
  Command.withDescription("Watch the order book of a market, checked against the gateway's checksum"),
  Command.withExamples([{ command: "gateway book BTC-USDC --levels 5" }])
)

const lineOf = (trade: PublicTrade, paint: Paint): string =>
  `${paint.dim(time(trade.timestamp))}  ${ofSide(trade, paint)(trade.side.padEnd(4))}  ${trade.qty.padStart(10)}  at ${trade.price}`

export const trades = Command.make("trades", { symbol, count: count("trades") }, ({ count, symbol }) =>
  Effect.gen(function* () {
    const client = yield* Gateway.anybody
    const colours = yield* paint
    const json = yield* Json
    const told = client.events([printTopic({ kind: "trade", symbol })]).pipe(
      Stream.mapEffect((event) =>
        event.kind === "refused"
          ? Effect.fail(new CliError({ code: event.error.code, message: event.error.message }))
          : Effect.succeed(event.kind === "trade" ? event.data.list : [])
      ),
      Stream.flatMap(Stream.fromIterable)
    )
    yield* Stream.runForEach(Stream.take(told, endless(count)), (trade) =>
      Console.log(json ? JSON.stringify(trade) : lineOf(trade, colours))
    )
  })
).pipe(Command.withDescription("Watch the trades of a market: the latest, then each as it happens"))
