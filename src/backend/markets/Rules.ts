/** The rules between the fields of a market, which a schema of single fields cannot express. */
import * as Decimal from "../../domain/Decimal.ts"
import type { Fields } from "./Fields.ts"

/** A field that violates a rule, and the values that the rule accepts. */
export interface RuleViolation {
  readonly path: ReadonlyArray<string | number>
  readonly issue: string
}

export interface Rule {
  /** The rule as a sentence, for the reference page. */
  readonly about: string
  /** The fields that violate it, for a market whose fields are valid individually. */
  readonly broken: (market: Fields) => ReadonlyArray<RuleViolation>
}

/** Largest count of ticks or lots, so that sums of them stay safe integers. */
const COUNT_MAX = 2 ** 40
/** Decimal places that a product with a funding rate of 8 places needs, as a factor. */
const FUNDING_ROOM = 10n ** 8n
/** Decimal text has at most 20 integer digits. */
const VALUE_END = 10n ** 20n * Decimal.ONE
const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)

const n = Decimal.parse
const requireThat = (holds: boolean, field: keyof Fields, issue: string): ReadonlyArray<RuleViolation> =>
  holds ? [] : [{ path: [field], issue }]

const steps = [
  ["min_price", "tick_size"],
  ["max_price", "tick_size"],
  ["min_order_qty", "qty_step"],
  ["max_order_qty", "qty_step"],
  ["max_mkt_order_qty", "qty_step"]
] as const

const ranges = [
  ["min_price", "max_price"],
  ["min_order_qty", "max_order_qty"],
  ["min_order_qty", "max_mkt_order_qty"]
] as const

const counts = [
  ["max_price", "tick_size"],
  ["max_order_qty", "qty_step"],
  ["max_mkt_order_qty", "qty_step"]
] as const

const largestCount = (step: string): string => Decimal.format(n(step) * BigInt(COUNT_MAX))

export const rules: ReadonlyArray<Rule> = [
  {
    about: "`symbol` is `base_asset-quote_asset`.",
    broken: ({ base_asset, quote_asset, symbol }) =>
      requireThat(
        symbol === `${base_asset}-${quote_asset}`,
        "symbol",
        `base_asset-quote_asset, which is ${base_asset}-${quote_asset}`
      )
  },
  {
    about:
      "`min_price` and `max_price` are multiples of `tick_size`; `min_order_qty`, `max_order_qty` and `max_mkt_order_qty` are multiples of `qty_step`.",
    broken: (market) =>
      steps.flatMap(([field, step]) =>
        requireThat(n(market[field]) % n(market[step]) === 0n, field, `a multiple of ${step} ${market[step]}`)
      )
  },
  {
    about: "`min_price` ≤ `max_price`; `min_order_qty` ≤ `max_order_qty` and `max_mkt_order_qty`.",
    broken: (market) =>
      ranges.flatMap(([low, high]) =>
        requireThat(n(market[low]) <= n(market[high]), low, `at most ${high} ${market[high]}`)
      )
  },
  {
    about: "`min_price` ≤ `index_base` ≤ `max_price`.",
    broken: ({ index_base, max_price, min_price }) =>
      requireThat(
        n(min_price) <= n(index_base) && n(index_base) <= n(max_price),
        "index_base",
        `min_price ${min_price} to max_price ${max_price}`
      )
  },
  {
    about: "`tick_size` and `tick_size` × `qty_step` have at most 10 decimal places: funding is never rounded.",
    broken: ({ qty_step, tick_size }) => [
      ...requireThat(n(tick_size) % FUNDING_ROOM === 0n, "tick_size", "at most 10 decimal places"),
      ...requireThat(
        (n(tick_size) * n(qty_step)) % (Decimal.ONE * FUNDING_ROOM) === 0n,
        "qty_step",
        `a step whose product with tick_size ${tick_size} has at most 10 decimal places`
      )
    ]
  },
  {
    about:
      "`max_price` is at most 2^40 ticks; `max_order_qty` and `max_mkt_order_qty` are at most 2^40 steps: the engine counts in safe integers.",
    broken: (market) =>
      counts.flatMap(([field, step]) =>
        requireThat(
          n(market[field]) <= n(market[step]) * BigInt(COUNT_MAX),
          field,
          `at most 2^40 times ${step}, which is ${largestCount(market[step])}`
        )
      )
  },
  {
    about: "`max_price` times `max_order_qty` or `max_mkt_order_qty` is below 10^20, the range of decimal text.",
    broken: (market) =>
      (["max_order_qty", "max_mkt_order_qty"] as const).flatMap((field) =>
        requireThat(
          n(market.max_price) * n(market[field]) < VALUE_END * Decimal.ONE,
          field,
          `a quantity whose product with max_price ${market.max_price} is below 10^20`
        )
      )
  },
  {
    about: "`min_notional_value` ≤ `max_price` × `max_order_qty`, and at most 2^53 − 1 times `tick_size` × `qty_step`.",
    broken: ({ max_order_qty, max_price, min_notional_value, qty_step, tick_size }) => {
      const reachable = (n(max_price) * n(max_order_qty)) / Decimal.ONE
      const countable = (n(tick_size) * n(qty_step) * SAFE_MAX) / Decimal.ONE
      const most = reachable < countable ? reachable : countable
      return requireThat(n(min_notional_value) <= most, "min_notional_value", `at most ${Decimal.format(most)}`)
    }
  },
  {
    about: "`max_leverage` ≤ 1 / `initial_margin_rate` of the first tier.",
    broken: ({ max_leverage, risk_tiers }) => {
      const { initial_margin_rate } = risk_tiers[0]!
      return requireThat(
        n(max_leverage) * n(initial_margin_rate) <= Decimal.ONE * Decimal.ONE,
        "max_leverage",
        `at most 1 / initial_margin_rate ${initial_margin_rate} of the first tier`
      )
    }
  },
  {
    about: "In each tier `maintenance_margin_rate` < `initial_margin_rate`.",
    broken: ({ risk_tiers }) =>
      risk_tiers.flatMap((tier, i) =>
        n(tier.maintenance_margin_rate) < n(tier.initial_margin_rate)
          ? []
          : [
              {
                path: ["risk_tiers", i, "maintenance_margin_rate"],
                issue: `below initial_margin_rate ${tier.initial_margin_rate}`
              }
            ]
      )
  },
  {
    about: "From tier to tier `risk_limit_value` rises, and neither margin rate falls.",
    broken: ({ risk_tiers }) =>
      risk_tiers.slice(1).flatMap((tier, i) => {
        const below = risk_tiers[i]!
        const path = (field: string) => ["risk_tiers", i + 1, field]
        return [
          ...(n(tier.risk_limit_value) > n(below.risk_limit_value)
            ? []
            : [{ path: path("risk_limit_value"), issue: `above ${below.risk_limit_value} of the tier before` }]),
          ...(["initial_margin_rate", "maintenance_margin_rate"] as const).flatMap((field) =>
            n(tier[field]) >= n(below[field])
              ? []
              : [{ path: path(field), issue: `at least ${below[field]} of the tier before` }]
          )
        ]
      })
  }
]

/** All fields of a market that violate a rule. */
export const violationsOf = (market: Fields): ReadonlyArray<RuleViolation> =>
  rules.flatMap(({ broken }) => broken(market))
