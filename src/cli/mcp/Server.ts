/** The MCP server of `gateway mcp`, over standard input and output. */
import { Effect, Layer, Logger, Semaphore } from "effect"
import { McpProtocol, McpServer } from "effect/ai"
import type { Client } from "../../client/index.ts"
import { VERSION } from "../../domain/Version.ts"
import { toPrinted } from "../ErrorOutput.ts"
import * as Input from "./Input.ts"
import { accountTools, type Failure, marketTools, tradingTools } from "./Tools.ts"
import { exceeded, exposureOf, PAGE, type TradingLimits, wrongMarket } from "./TradingLimits.ts"

export interface Options {
  readonly client: Client.Client
  readonly url: string
  /** The sub-account of the tools; `undefined`: market data only. */
  readonly subAccount: string | undefined
  /** `undefined`: no trading. */
  readonly limits: TradingLimits | undefined
}

const INSTRUCTIONS =
  "A perpetual-futures exchange. Prices and quantities are decimals as text. Times are Unix milliseconds. Orders are placed only where the tool place_order exists, and within the limits that its refusals name."

const market = ({ client, url }: Options) => {
  const failing = Effect.mapError((error: unknown): Failure => toPrinted(error, url))
  return marketTools.toLayer({
    list_markets: () => failing(client.market.instruments({ query: {} })),
    get_ticker: ({ symbol }) =>
      failing(Effect.map(client.market.tickers({ query: { symbol } }), ({ list }) => list[0]!)),
    get_order_book: ({ limit, symbol }) =>
      failing(
        Effect.map(client.market.orderbook({ query: { symbol, depth: 50 } }), ({ asks, bids, ...rest }) => ({
          ...rest,
          bids: bids.slice(0, limit),
          asks: asks.slice(0, limit)
        }))
      ),
    get_recent_trades: ({ limit, symbol }) => failing(client.market.recentTrades({ query: { symbol, limit } })),
    get_candles: ({ interval, limit, symbol }) => failing(client.market.kline({ query: { symbol, interval, limit } }))
  })
}

const account = ({ client, url }: Options, sub_account_address: string) => {
  const failing = Effect.mapError((error: unknown): Failure => toPrinted(error, url))
  return accountTools.toLayer({
    get_balances: () => failing(client.account.balances({ query: { sub_account_address } })),
    get_positions: () => failing(client.position.list({ query: { sub_account_address, limit: PAGE } })),
    list_open_orders: () => failing(client.order.realtime({ query: { sub_account_address, limit: PAGE } })),
    list_fills: ({ limit }) => failing(client.execution.list({ query: { sub_account_address, limit } }))
  })
}

const trading = ({ client, url }: Options, sub_account_address: string, limits: TradingLimits) => {
  const failing = Effect.mapError((error: unknown): Failure => toPrinted(error, url))
  const refuse = (message: string) => Effect.fail<Failure>({ code: "LIMIT", message })
  const inMarket = <A>(symbol: string, act: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> => {
    const wrong = wrongMarket(limits, symbol)
    return wrong === undefined ? act : refuse(wrong)
  }
  // one order at a time: the check of the next one reads the effect of this one
  const oneByOne = Semaphore.makeUnsafe(1)
  return tradingTools.toLayer({
    place_order: (order) =>
      inMarket(
        order.symbol,
        Effect.gen(function* () {
          const now = yield* failing(exposureOf(client, sub_account_address, order))
          if (now === undefined)
            return yield* refuse(`more than ${PAGE} orders or positions are open: cancel or close some first`)
          const limit = exceeded(limits, order, now)
          if (limit !== undefined) return yield* refuse(limit)
          return yield* failing(
            client.order.create({ payload: { ...order, sub_account_address, order_type: "Limit" } })
          )
        }).pipe(oneByOne.withPermit)
      ),
    // a cancel is within every limit but the markets
    cancel_order: ({ order_id, symbol }) =>
      inMarket(symbol, failing(client.order.cancel({ payload: { sub_account_address, symbol, order_id } }))),
    cancel_all_orders: ({ symbol }) =>
      inMarket(symbol, failing(client.order.cancelAll({ payload: { sub_account_address, symbol } })))
  })
}

/** Serves until standard input ends. Standard output carries the protocol, so log lines go to standard error. */
export const serve = (options: Options) => {
  const { limits, subAccount } = options
  const registrations = Layer.mergeAll(
    McpServer.toolkit(marketTools).pipe(Layer.provide(market(options))),
    subAccount === undefined
      ? Layer.empty
      : McpServer.toolkit(accountTools).pipe(Layer.provide(account(options, subAccount))),
    subAccount === undefined || limits === undefined
      ? Layer.empty
      : McpServer.toolkit(tradingTools).pipe(Layer.provide(trading(options, subAccount, limits)))
  )
  return Layer.launch(
    McpServer.layerStdio({
      name: "trading-gateway",
      version: VERSION,
      instructions: INSTRUCTIONS,
      protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2025_03_26],
      registrations
    }).pipe(Layer.provide(Input.layer))
  ).pipe(Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatJson)])))
}
