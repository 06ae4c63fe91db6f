/**
 * The fields of a market in a markets file: meaning, unit, accepted values, default and example. The checks, the JSON
 * Schema and the reference page are generated from them.
 *
 * Numbers are decimal text with at most 20 integer digits and 18 decimal places, as everywhere in the API.
 */
import { Effect, Schema } from "effect"
import { OPEN_ORDERS_MAX } from "./Limits.ts"

/** Maximum number of risk tiers of a market. */
export const TIERS_MAX = 100
/** Funding settles at least once a week. */
const FUNDING_MINUTES_MAX = 7 * 24 * 60
/** Latest time that a JavaScript Date holds, Unix ms. */
const TIME_MS_MAX = 8_640_000_000_000_000

const DECIMAL = /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u
const POSITIVE = /^(?!0(?:\.0+)?$)(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u
const BELOW_ONE = /^0(?:\.[0-9]{1,18})?$/u
const SIGNED_BELOW_ONE = /^(?!-0(?:\.0+)?$)-?0(?:\.[0-9]{1,18})?$/u
const POSITIVE_BELOW_ONE = /^(?!0\.0+$)0\.[0-9]{1,18}$/u
const POSITIVE_TO_ONE = /^(?!0(?:\.0+)?$)(?:0(?:\.[0-9]{1,18})?|1(?:\.0{1,18})?)$/u
const LEVERAGE = /^[1-9][0-9]{0,19}(?:\.[0-9]{1,2}0{0,16})?$/u
const ASSET = /^[A-Z0-9]{2,12}$/u
const SYMBOL = /^[A-Z0-9]{2,12}-[A-Z0-9]{2,12}$/u

/** Documentation of a field; stored as annotations of its schema. */
export interface FieldInfo {
  /** What the field means, as a sentence without its period. */
  readonly about: string
  /** Unit of the value; absent for words. */
  readonly unit?: string
  /** The accepted values, as in error messages. */
  readonly accepts: string
  readonly example: unknown
  /** Absent: the file must have the field. */
  readonly default?: unknown
}

const annotationsOf = ({ example, ...about }: FieldInfo) => ({
  ...about,
  description: `${about.about}. ${about.unit === undefined ? "" : `Unit: ${about.unit}. `}Accepted: ${about.accepts}.`,
  examples: [example]
})

/** Annotates a schema with the documentation of its field. */
const field = <S extends Schema.Top>(schema: S, about: FieldInfo): S["Rebuild"] => schema.annotate(annotationsOf(about))

const withDefault = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefaultKey<S>(Effect.succeed(value))(schema)

const text = (pattern: RegExp, about: FieldInfo) => field(Schema.String.check(Schema.isPattern(pattern)), about)

const textOr = (fallback: string, pattern: RegExp, about: FieldInfo) =>
  withDefault(text(pattern, { ...about, default: fallback }), fallback)

const intOr = (fallback: number, minimum: number, maximum: number, about: Omit<FieldInfo, "accepts" | "example">) =>
  withDefault(
    field(Schema.Int.check(Schema.isBetween({ minimum, maximum })), {
      ...about,
      accepts: `an integer from ${minimum} to ${maximum}`,
      example: fallback,
      default: fallback
    }),
    fallback
  )

const POSITIVE_TEXT = "decimal text above 0"
const PRICE = "quote asset per base asset"
const RATE = "ratio; 0.01 is 1 %"

/** A risk tier: margin rates up to a position value. */
export const Tier = Schema.Struct({
  risk_limit_value: text(POSITIVE, {
    about: "Largest position value of the tier, at the mark price",
    unit: "USDC",
    accepts: POSITIVE_TEXT,
    example: "2000000"
  }),
  initial_margin_rate: text(POSITIVE_TO_ONE, {
    about: "Initial margin rate (IMR) of the tier",
    unit: RATE,
    accepts: "decimal text above 0 and at most 1",
    example: "0.02"
  }),
  maintenance_margin_rate: text(POSITIVE_BELOW_ONE, {
    about: "Maintenance margin rate (MMR) of the tier",
    unit: RATE,
    accepts: "decimal text above 0 and below 1",
    example: "0.01"
  })
})

/** One perpetual market: its steps, limits, fees, risk tiers and the base of its simulated index. */
export const Fields = Schema.Struct({
  symbol: text(SYMBOL, {
    about: "Name of the market, unique in the file",
    accepts: "base_asset-quote_asset, each of 2 to 12 characters A-Z or 0-9",
    example: "BTC-USDC"
  }),
  base_asset: text(ASSET, {
    about: "Asset that is bought and sold",
    accepts: "2 to 12 characters A-Z or 0-9",
    example: "BTC"
  }),
  quote_asset: textOr("USDC", ASSET, {
    about: "Asset that prices are in",
    accepts: "2 to 12 characters A-Z or 0-9",
    example: "USDC"
  }),
  settle_asset: textOr("USDC", /^USDC$/u, {
    about: "Asset of margin and settlement, the only collateral",
    accepts: "USDC",
    example: "USDC"
  }),
  status: withDefault(
    field(Schema.Literals(["PreLaunch", "Trading", "ReduceOnly", "Closed"]), {
      about: "State of the market; ReduceOnly accepts reduce-only orders, PreLaunch and Closed no orders",
      accepts: "PreLaunch, Trading, ReduceOnly or Closed",
      example: "Trading",
      default: "Trading"
    }),
    "Trading"
  ),
  launch_time_ms: intOr(1767225600000, 0, TIME_MS_MAX, { about: "Launch time, for display", unit: "Unix ms" }),
  funding_interval_minutes: intOr(480, 1, FUNDING_MINUTES_MAX, {
    about: "Time between two funding payments; settlement times are multiples of it since the Unix epoch",
    unit: "minutes"
  }),
  tick_size: text(POSITIVE, {
    about: "Step of prices",
    unit: PRICE,
    accepts: "decimal text above 0 with at most 10 decimal places",
    example: "0.1"
  }),
  min_price: text(POSITIVE, { about: "Lowest price of an order", unit: PRICE, accepts: POSITIVE_TEXT, example: "0.1" }),
  max_price: text(POSITIVE, {
    about: "Highest price of an order",
    unit: PRICE,
    accepts: POSITIVE_TEXT,
    example: "1000000"
  }),
  qty_step: text(POSITIVE, {
    about: "Step of quantities",
    unit: "base asset",
    accepts: POSITIVE_TEXT,
    example: "0.001"
  }),
  min_order_qty: text(POSITIVE, {
    about: "Smallest quantity of an order",
    unit: "base asset",
    accepts: POSITIVE_TEXT,
    example: "0.001"
  }),
  max_order_qty: text(POSITIVE, {
    about: "Largest quantity of a limit order",
    unit: "base asset",
    accepts: POSITIVE_TEXT,
    example: "100"
  }),
  max_mkt_order_qty: text(POSITIVE, {
    about: "Largest quantity of a market order",
    unit: "base asset",
    accepts: POSITIVE_TEXT,
    example: "30"
  }),
  min_notional_value: textOr("5", DECIMAL, {
    about: "Smallest price × quantity of an order that is not reduce-only",
    unit: "quote asset",
    accepts: "decimal text of at least 0",
    example: "5"
  }),
  price_band: textOr("0.05", POSITIVE_BELOW_ONE, {
    about: "Largest distance from the mark price at which a taker trades",
    unit: RATE,
    accepts: "decimal text above 0 and below 1",
    example: "0.05"
  }),
  max_leverage: text(LEVERAGE, {
    about: "Highest leverage that a user may set; a new position has 10 or this, the lower",
    unit: "multiple of the margin",
    accepts: "decimal text of at least 1 with at most 2 decimal places",
    example: "50"
  }),
  index_base: text(POSITIVE, {
    about: "Price around which the simulated index moves",
    unit: PRICE,
    accepts: POSITIVE_TEXT,
    example: "60000"
  }),
  maker_fee_rate: textOr("0.0002", SIGNED_BELOW_ONE, {
    about: "Fee of a maker as a share of the value; a negative one is a rebate",
    unit: RATE,
    accepts: "decimal text above -1 and below 1",
    example: "0.0002"
  }),
  taker_fee_rate: textOr("0.00055", BELOW_ONE, {
    about: "Fee of a taker as a share of the value",
    unit: RATE,
    accepts: "decimal text of at least 0 and below 1",
    example: "0.00055"
  }),
  funding_cap: textOr("0.005", BELOW_ONE, {
    about: "Largest funding rate of an interval, in either direction",
    unit: RATE,
    accepts: "decimal text of at least 0 and below 1",
    example: "0.005"
  }),
  max_open_orders: intOr(500, 1, OPEN_ORDERS_MAX, {
    about: "Open orders of a sub-account in this market",
    unit: "orders"
  }),
  max_conditional_orders: intOr(20, 0, OPEN_ORDERS_MAX, {
    about: "Conditional orders of a sub-account in this market",
    unit: "orders"
  }),
  risk_tiers: field(Schema.Array(Tier).check(Schema.isMinLength(1), Schema.isMaxLength(TIERS_MAX)), {
    about: "Margin rates by position value, ascending; deductions follow from the rates",
    accepts: `1 to ${TIERS_MAX} tiers`,
    example: [{ risk_limit_value: "2000000", initial_margin_rate: "0.02", maintenance_margin_rate: "0.01" }]
  })
})
export type Fields = typeof Fields.Type

/** Reads the documentation of a field from its schema. */
export const fieldInfoOf = (schema: Schema.Top): FieldInfo => {
  const {
    about,
    accepts,
    default: fallback,
    examples,
    unit
  } = Schema.resolveAnnotations(schema) as unknown as FieldInfo & {
    readonly examples?: ReadonlyArray<unknown>
  }
  return {
    about,
    accepts,
    example: examples?.[0],
    ...(unit !== undefined && { unit }),
    ...(fallback !== undefined && { default: fallback })
  }
}
