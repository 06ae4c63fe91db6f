/**
 * The markets of the embedded backend, as data.
 *
 * A market is plain JSON, so that a journal can keep the markets it was made with. The shipped ones are those of contract
 * 9.1; another set is read from text with {@link parse}. Nothing here touches a file.
 */
import { Effect, Schema } from "effect"
import * as Decimal from "../domain/Decimal.ts"
import * as OrderRules from "../domain/OrderRules.ts"

const withDefault = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefaultKey<S>(Effect.succeed(value))(schema)

const Positive = Decimal.Decimal.check(
  Schema.makeFilter((text: string) => !/^0(?:\.0+)?$/u.test(text), { expected: "a positive decimal" })
)

/** A step of the risk limit: up to a position value, these margin rates. */
export const MarketTier = Schema.Struct({
  risk_limit_value: Positive,
  initial_margin_rate: Positive,
  maintenance_margin_rate: Positive
})

const Fields = Schema.Struct({
  symbol: Schema.String.check(Schema.isPattern(/^[A-Z0-9]{2,12}-[A-Z0-9]{2,12}$/u)),
  base_asset: Schema.String,
  quote_asset: withDefault(Schema.String, "USDC"),
  settle_asset: withDefault(Schema.String, "USDC"),
  status: withDefault(Schema.Literals(["PreLaunch", "Trading", "ReduceOnly", "Closed"]), "Trading"),
  launch_time_ms: withDefault(Schema.Int, 1767225600000),
  funding_interval_minutes: withDefault(Schema.Int, 480),
  tick_size: Positive,
  min_price: Positive,
  max_price: Positive,
  qty_step: Positive,
  min_order_qty: Positive,
  max_order_qty: Positive,
  max_mkt_order_qty: Positive,
  min_notional_value: withDefault(Decimal.Decimal, "5"),
  price_band: withDefault(Positive, "0.05"),
  max_leverage: Positive,
  /** price around which the simulated index moves */
  index_base: Positive,
  maker_fee_rate: withDefault(Decimal.SignedDecimal, "0.0002"),
  taker_fee_rate: withDefault(Decimal.Decimal, "0.00055"),
  funding_cap: withDefault(Decimal.Decimal, "0.005"),
  max_open_orders: withDefault(Schema.Int, 500),
  max_conditional_orders: withDefault(Schema.Int, 20),
  /** ascending; deductions follow from the rates */
  risk_tiers: Schema.NonEmptyArray(MarketTier)
})

/** Largest count of ticks or lots, so that sums of either stay safe integers. */
const COUNT_MAX = 2 ** 40

/** Places that a product with a funding rate needs, as a factor. */
const FUNDING_ROOM = 10n ** 8n

/** What makes a market inconsistent in itself; `undefined` where nothing does. */
const flaw = (market: typeof Fields.Type): string | undefined => {
  const at = (text: string) => Decimal.parse(text)
  if (market.symbol !== `${market.base_asset}-${market.quote_asset}`)
    return `symbol ${market.symbol} must be base_asset-quote_asset`
  if (market.settle_asset !== "USDC") return "settle_asset must be USDC, the only collateral"
  const multiples = [
    ["min_price", "tick_size"],
    ["max_price", "tick_size"],
    ["min_order_qty", "qty_step"],
    ["max_order_qty", "qty_step"],
    ["max_mkt_order_qty", "qty_step"]
  ] as const
  for (const [field, step] of multiples)
    if (at(market[field]) % at(market[step]) !== 0n) return `${field} must be a multiple of ${step}`
  // a funding payment is value × a rate of 8 places and is never rounded
  if ((at(market.tick_size) * at(market.qty_step)) % (Decimal.ONE * FUNDING_ROOM) !== 0n)
    return "tick_size × qty_step must fit 10 decimal places"
  if (at(market.tick_size) % FUNDING_ROOM !== 0n) return "tick_size must fit 10 decimal places"
  if (at(market.max_price) / at(market.tick_size) > COUNT_MAX) return "max_price is too many ticks"
  if (at(market.max_order_qty) / at(market.qty_step) > COUNT_MAX) return "max_order_qty is too many steps"
  if (at(market.max_mkt_order_qty) / at(market.qty_step) > COUNT_MAX) return "max_mkt_order_qty is too many steps"
  if (at(market.min_price) > at(market.index_base) || at(market.index_base) > at(market.max_price))
    return "index_base must lie between min_price and max_price"
  if (at(market.min_order_qty) > at(market.max_order_qty)) return "min_order_qty is above max_order_qty"
  if (at(market.max_leverage) < Decimal.ONE) return "max_leverage must be at least 1"
  if (at(market.price_band) >= Decimal.ONE) return "price_band must be below 1"
  let below: typeof MarketTier.Type | undefined
  for (const tier of market.risk_tiers) {
    if (at(tier.maintenance_margin_rate) >= at(tier.initial_margin_rate))
      return "maintenance_margin_rate must be below initial_margin_rate"
    if (at(tier.initial_margin_rate) > Decimal.ONE) return "initial_margin_rate must be at most 1"
    if (
      below !== undefined &&
      (at(tier.risk_limit_value) <= at(below.risk_limit_value) ||
        at(tier.maintenance_margin_rate) < at(below.maintenance_margin_rate) ||
        at(tier.initial_margin_rate) < at(below.initial_margin_rate))
    )
      return "risk_tiers must ascend"
    below = tier
  }
  return undefined
}

/** One perpetual market: its steps, limits, fees, risk tiers and the base of its simulated index. */
export const Market = Fields.check(Schema.makeFilter((market) => flaw(market) ?? true))
export type Market = typeof Market.Type

/** A markets file: at least one market, every symbol once. */
export const MarketsFile = Schema.Struct({
  markets: Schema.NonEmptyArray(Market).check(
    Schema.makeFilter((markets: ReadonlyArray<Market>) => {
      const symbols = new Set(markets.map((market) => market.symbol))
      return symbols.size === markets.length ? true : "every symbol may appear once"
    })
  )
})

/** Reads the JSON text of a markets file. Throws a SchemaError that names the flaw. */
export const parse: (text: string) => ReadonlyArray<Market> = (text) => decode(text).markets
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(MarketsFile))

/** The rules that orders in a market keep. */
export const rulesOf = (market: Market): OrderRules.OrderRules => OrderRules.make(market)

const shipped = (
  base: string,
  prices: readonly [tick: string, min: string, max: string, index: string, band: string],
  sizes: readonly [step: string, max: string, maxMarket: string],
  leverage: string,
  tiers: ReadonlyArray<readonly [limit: string, initial: string, maintenance: string]>
): typeof Market.Encoded => ({
  symbol: `${base}-USDC`,
  base_asset: base,
  tick_size: prices[0],
  min_price: prices[1],
  max_price: prices[2],
  index_base: prices[3],
  price_band: prices[4],
  qty_step: sizes[0],
  min_order_qty: sizes[0],
  max_order_qty: sizes[1],
  max_mkt_order_qty: sizes[2],
  max_leverage: leverage,
  risk_tiers: tiers.map(([risk_limit_value, initial_margin_rate, maintenance_margin_rate]) => ({
    risk_limit_value,
    initial_margin_rate,
    maintenance_margin_rate
  })) as unknown as (typeof Market.Encoded)["risk_tiers"]
})

/** The markets of contract 9.1. */
export const shippedMarkets: ReadonlyArray<Market> = Schema.decodeUnknownSync(MarketsFile)({
  markets: [
    shipped("BTC", ["0.1", "0.1", "1000000", "60000", "0.05"], ["0.001", "100", "30"], "50", [
      ["2000000", "0.02", "0.01"],
      ["10000000", "0.04", "0.02"],
      ["50000000", "0.1", "0.05"]
    ]),
    shipped("ETH", ["0.01", "0.01", "100000", "3000", "0.05"], ["0.01", "2000", "500"], "50", [
      ["1000000", "0.02", "0.01"],
      ["5000000", "0.04", "0.02"],
      ["25000000", "0.1", "0.05"]
    ]),
    shipped("SOL", ["0.01", "0.01", "10000", "150", "0.1"], ["0.1", "20000", "5000"], "25", [
      ["500000", "0.04", "0.02"],
      ["2500000", "0.1", "0.05"],
      ["10000000", "0.2", "0.1"]
    ]),
    shipped("DOGE", ["0.00001", "0.00001", "100", "0.2", "0.1"], ["1", "10000000", "2000000"], "20", [
      ["250000", "0.05", "0.025"],
      ["1000000", "0.1", "0.05"],
      ["5000000", "0.2", "0.1"]
    ])
  ]
}).markets
