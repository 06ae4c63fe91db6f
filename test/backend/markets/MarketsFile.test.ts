/** A markets file: bad values for every field and rule, checked by the Effect Schema and by the derived JSON Schema. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { credentials } from "@grpc/grpc-js"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Result } from "effect"
import { assert, describe, it } from "vitest"
import { read as readPage } from "../../../scripts/docs/Markdown.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { fieldInfoOf, Fields, Tier, TIERS_MAX } from "../../../src/backend/markets/Fields.ts"
import { FILE_BYTES_MAX, MARKETS_MAX, read } from "../../../src/backend/markets/File.ts"
import { rules } from "../../../src/backend/markets/Rules.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import { type ListInstrumentsResponse, SequencerClient } from "../../../src/proto/gateway/v1/sequencer.ts"
import { type Instrument } from "../../../src/proto/gateway/v1/types.ts"
import { temporary } from "../../doubles/FakeBackend.ts"
import { startBackend } from "../../../verification/harness/BackendProcess.ts"
import { Bench } from "../Bench.ts"

type Json = Record<string, unknown>

const root = new URL("../../../", import.meta.url).pathname
const textOf = (path: string) => readFileSync(join(root, path), "utf8")
const examplePath = join(root, "examples/markets.json")
const validate = new Ajv2020({ strict: true }).compile(JSON.parse(textOf("docs/markets.schema.json")))

const tier = { risk_limit_value: "1000000000", initial_margin_rate: "0.05", maintenance_margin_rate: "0.025" }
const es = {
  symbol: "ES-USDC",
  base_asset: "ES",
  tick_size: "0.25",
  min_price: "0.25",
  max_price: "100000",
  qty_step: "1",
  min_order_qty: "1",
  max_order_qty: "10000",
  max_mkt_order_qty: "10000",
  max_leverage: "20",
  index_base: "4800",
  risk_tiers: [tier]
}

const errorsOf = (file: unknown): ReadonlyArray<string> =>
  Result.match(read(JSON.stringify(file)), { onSuccess: () => [], onFailure: (errors) => errors })
const errorsOfMarket = (change: Json) => errorsOf({ markets: [{ ...es, ...change }] })
const isValid = (file: unknown) => validate(JSON.parse(JSON.stringify(file)))

const decimals = [
  "",
  "1e3",
  "+1",
  "-1",
  ".5",
  "1.",
  "01",
  "NaN",
  " 1",
  `1${"0".repeat(20)}`,
  `0.${"1".repeat(19)}`,
  1,
  null,
  {}
]
const positive = [...decimals, "0", "0.00"]
const belowOne = [...decimals, "1", "1.5"]
const integers = ["1", 1.5, -1, 2 ** 53, null, {}]
const assets = ["", "B", "btc", "BTC-", "A".repeat(13), 5, null]

/** Values that a single field rejects. */
const bad: Readonly<Record<keyof typeof Fields.fields, ReadonlyArray<unknown>>> = {
  symbol: ["", "ES", "ES-", "es-usdc", "E-USDC", "ES-USDC-X", 1, null],
  base_asset: assets,
  quote_asset: assets,
  settle_asset: ["USDT", "", 1, null],
  status: ["Open", "trading", "", 1, null],
  launch_time_ms: [...integers, 8_640_000_000_000_001],
  funding_interval_minutes: [...integers, 0, 10_081],
  tick_size: positive,
  min_price: positive,
  max_price: positive,
  qty_step: positive,
  min_order_qty: positive,
  max_order_qty: positive,
  max_mkt_order_qty: positive,
  min_notional_value: decimals,
  price_band: [...belowOne, "0", "0.0"],
  max_leverage: [...positive, "0.99", "1.005"],
  index_base: positive,
  maker_fee_rate: [...belowOne, "-0", "-0.0", "-1.5"],
  taker_fee_rate: [...belowOne, "-0.1"],
  funding_cap: [...belowOne, "-0.1"],
  max_open_orders: [...integers, 0, 1_048_577],
  max_conditional_orders: [...integers, 1_048_577],
  risk_tiers: [[], {}, null, "", Array.from({ length: TIERS_MAX + 1 }, () => tier)]
}

const badOfTier: Readonly<Record<keyof typeof Tier.fields, ReadonlyArray<unknown>>> = {
  risk_limit_value: positive,
  initial_margin_rate: [...positive, "1.01", "2"],
  maintenance_margin_rate: [...positive, "1", "1.0"]
}

/** Values at the limits of fields, with the other fields that they require. */
const good: ReadonlyArray<Json> = [
  { symbol: "A1-B2", base_asset: "A1", quote_asset: "B2" },
  { status: "Closed", launch_time_ms: 0, funding_interval_minutes: 1 },
  { launch_time_ms: 8_640_000_000_000_000, funding_interval_minutes: 10_080 },
  { maker_fee_rate: "-0.5", taker_fee_rate: "0", funding_cap: "0", min_notional_value: "0" },
  { max_leverage: "1", max_open_orders: 1, max_conditional_orders: 0 },
  { max_leverage: "19.99", price_band: "0.999999999999999999" },
  { max_leverage: "1.50", risk_tiers: [{ ...tier, initial_margin_rate: "0.5" }] },
  { max_leverage: "1", risk_tiers: [{ ...tier, initial_margin_rate: "1.0" }] },
  { risk_tiers: [tier, { ...tier, risk_limit_value: "1000000001" }] },
  { max_order_qty: "1099511627776", max_price: "90000000" }
]

/** For each rule between fields, a change that violates it, and the error. */
const broken: ReadonlyArray<readonly [change: Json, error: string]> = [
  [{ base_asset: "NQ" }, 'symbol: given "ES-USDC", accepted: base_asset-quote_asset, which is NQ-USDC'],
  [{ max_price: "100000.1" }, 'max_price: given "100000.1", accepted: a multiple of tick_size 0.25'],
  [{ min_order_qty: "10001" }, 'min_order_qty: given "10001", accepted: at most max_order_qty 10000'],
  [{ index_base: "100000.25" }, 'index_base: given "100000.25", accepted: min_price 0.25 to max_price 100000'],
  [
    { qty_step: "0.000000001" },
    'qty_step: given "0.000000001", accepted: a step whose product with tick_size 0.25 has at most 10 decimal places'
  ],
  [
    { max_mkt_order_qty: "1099511627777" },
    'max_mkt_order_qty: given "1099511627777", accepted: at most 2^40 times qty_step, which is 1099511627776'
  ],
  [
    { max_price: "100000000", max_order_qty: "1000000000000" },
    'max_order_qty: given "1000000000000", accepted: a quantity whose product with max_price 100000000 is below 10^20'
  ],
  [{ min_notional_value: "1000000001" }, 'min_notional_value: given "1000000001", accepted: at most 1000000000'],
  [
    { max_leverage: "20.01" },
    'max_leverage: given "20.01", accepted: at most 1 / initial_margin_rate 0.05 of the first tier'
  ],
  [
    { risk_tiers: [{ ...tier, maintenance_margin_rate: "0.05" }] },
    'risk_tiers[0].maintenance_margin_rate: given "0.05", accepted: below initial_margin_rate 0.05'
  ],
  [
    { risk_tiers: [tier, tier] },
    'risk_tiers[1].risk_limit_value: given "1000000000", accepted: above 1000000000 of the tier before'
  ]
]

const instrumentsOf = (port: number): Promise<ReadonlyArray<Instrument>> => {
  const client = new SequencerClient(`127.0.0.1:${port}`, credentials.createInsecure())
  return new Promise<ReadonlyArray<Instrument>>((resolve, reject) => {
    client.listInstruments({}, (error: Error | null, response: ListInstrumentsResponse) =>
      error === null ? resolve(response.instruments) : reject(error)
    )
  }).finally(() => client.close())
}

describe("a markets file", () => {
  it("has fields with meaning, accepted values, default and example, which both schemas accept", () => {
    for (const [name, field] of Object.entries({ ...Fields.fields, ...Tier.fields })) {
      const { about, accepts, default: fallback, example } = fieldInfoOf(field)
      assert.isAbove(about.length, 10, name)
      assert.isAbove(accepts.length, 3, name)
      assert.isDefined(example, name)
      assert.strictEqual(fallback === undefined, name in es || name in tier, name)
    }
    const examples = Object.fromEntries(
      Object.entries(Fields.fields).map(([name, field]) => [name, fieldInfoOf(field).example])
    )
    assert.deepStrictEqual(errorsOf({ markets: [examples] }), [])
    assert.isTrue(isValid({ markets: [examples] }))
  })

  it.each(Object.entries(bad))(
    "reports a bad %s with path, given and accepted values, and the JSON Schema rejects it",
    (name, values) => {
      const { accepts } = fieldInfoOf(Fields.fields[name as keyof typeof bad])
      for (const value of values) {
        const [error, ...more] = errorsOfMarket({ [name]: value })
        assert.isDefined(error, `${name} ${JSON.stringify(value)}`)
        assert.isTrue(error.startsWith(`markets[0].${name}: given ${JSON.stringify(value).slice(0, 60)}`), error)
        assert.isTrue(error.endsWith(`, accepted: ${accepts}`), error)
        assert.isEmpty(more)
        assert.isFalse(isValid({ markets: [{ ...es, [name]: value }] }), `${name} ${JSON.stringify(value)}`)
      }
    }
  )

  it.each(Object.entries(badOfTier))("reports a bad %s of a tier", (name, values) => {
    const { accepts } = fieldInfoOf(Tier.fields[name as keyof typeof badOfTier])
    for (const value of values) {
      const risk_tiers = [tier, { ...tier, [name]: value }]
      const given = JSON.stringify(value)
      assert.deepStrictEqual(errorsOfMarket({ risk_tiers }), [
        `markets[0].risk_tiers[1].${name}: given ${given}, accepted: ${accepts}`
      ])
      assert.isFalse(isValid({ markets: [{ ...es, risk_tiers }] }), given)
    }
  })

  it.each(Object.keys({ ...es, ...tier }))("reports a missing %s", (name) => {
    const { [name]: _, ...rest } = es as Json
    const { [name]: __, ...ofTier } = tier as Json
    const file = name in es ? { markets: [rest] } : { markets: [{ ...es, risk_tiers: [ofTier] }] }
    const path = name in es ? name : `risk_tiers[0].${name}`
    assert.lengthOf(errorsOf(file), 1)
    assert.isTrue(errorsOf(file)[0]!.startsWith(`markets[0].${path}: given nothing, accepted: `))
    assert.isFalse(isValid(file))
  })

  it("reports unknown fields, and a file of another form", () => {
    const { markets: _, ...names } = { markets: 0, ...Fields.fields }
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [[], 'the file: given [], accepted: an object {"markets": […]}'],
      [null, 'the file: given null, accepted: an object {"markets": […]}'],
      [{}, `markets: given nothing, accepted: 1 to ${MARKETS_MAX} markets`],
      [{ markets: [] }, `markets: given [], accepted: 1 to ${MARKETS_MAX} markets`],
      [{ markets: [5] }, "markets[0]: given 5, accepted: an object with the fields of a market"],
      [{ markets: [es], more: 1 }, "more: given 1, accepted: no such field; the fields are $schema, markets"],
      [
        { markets: [es], [`a b${"c".repeat(100)}`]: "x".repeat(100) },
        `["a b${"c".repeat(56)}…]: given "${"x".repeat(59)}…, accepted: no such field; the fields are $schema, markets`
      ],
      [{ markets: [es], $schema: 1 }, "$schema: given 1, accepted: text"],
      [
        { markets: [{ ...es, taker_fee: "0.1" }] },
        `markets[0].taker_fee: given "0.1", accepted: no such field; the fields are ${Object.keys(names).join(", ")}`
      ],
      [
        { markets: [{ ...es, risk_tiers: [{ ...tier, limit: 1 }] }] },
        `markets[0].risk_tiers[0].limit: given 1, accepted: no such field; the fields are ${Object.keys(tier).join(", ")}`
      ]
    ]
    for (const [file, error] of cases) {
      assert.deepStrictEqual(errorsOf(file), [error])
      assert.isFalse(isValid(file), error)
    }
  })

  it("is limited in size, and must be JSON", () => {
    const failure = (text: string) => Result.match(read(text), { onSuccess: () => [], onFailure: (errors) => errors })
    assert.match(failure("{")[0]!, /^the file: given no JSON \(.*\), accepted: JSON$/u)
    const bytes = FILE_BYTES_MAX + 1
    assert.deepStrictEqual(failure(" ".repeat(bytes)), [
      `the file: given ${bytes} bytes, accepted: at most ${FILE_BYTES_MAX} bytes`
    ])
  })

  it("has defaults for missing fields", () => {
    const [market] = Result.getOrThrow(read(JSON.stringify({ markets: [es] })))
    assert.deepInclude(market, { tick_size: "0.25", status: "Trading", taker_fee_rate: "0.00055", price_band: "0.05" })
  })

  it("is accepted at the bounds of its fields, by both schemas", () => {
    for (const change of good) {
      assert.deepStrictEqual(errorsOfMarket(change), [], JSON.stringify(change))
      assert.isTrue(isValid({ markets: [{ ...es, ...change }] }), JSON.stringify(change))
    }
  })

  it("enforces every rule between fields, which the JSON Schema does not contain", () => {
    const valid = (change: Json) =>
      Result.getOrThrow(read(JSON.stringify({ markets: [es] }))).map((m) => ({ ...m, ...change }))[0]!
    for (const [i, [change, error]] of broken.entries()) {
      assert.include(errorsOfMarket(change), `markets[0].${error}`)
      assert.isNotEmpty(rules[i]!.broken(valid(change)), rules[i]!.about)
      assert.isTrue(isValid({ markets: [{ ...es, ...change }] }), error)
    }
    assert.strictEqual(broken.length, rules.length)
    const rates = { initial_margin_rate: "0.04", maintenance_margin_rate: "0.02", risk_limit_value: "1000000001" }
    assert.deepStrictEqual(errorsOfMarket({ risk_tiers: [tier, rates] }), [
      'markets[0].risk_tiers[1].initial_margin_rate: given "0.04", accepted: at least 0.05 of the tier before',
      'markets[0].risk_tiers[1].maintenance_margin_rate: given "0.02", accepted: at least 0.025 of the tier before'
    ])
  })

  it("requires unique symbols", () => {
    assert.deepStrictEqual(errorsOf({ markets: [es, shippedMarkets[0], es] }), [
      'markets[2].symbol: given "ES-USDC", accepted: a symbol of its own; markets[0] has this one'
    ])
  })

  it("reports all its errors together, and counts those beyond the limit", () => {
    const errors = errorsOf({
      markets: [
        { ...es, tick_size: "0", status: "x" },
        { ...es, max_leverage: "21", base_asset: "X1" }
      ]
    })
    assert.deepStrictEqual(
      errors.map((error) => error.split(":")[0]),
      ["markets[0].status", "markets[0].tick_size", "markets[1].symbol", "markets[1].max_leverage"]
    )
    const many = errorsOf({ markets: Array.from({ length: 57 }, () => ({ ...es, tick_size: "0" })) })
    assert.lengthOf(many, 51)
    assert.strictEqual(many.at(-1), "and 7 more")
  })

  it("of the four shipped markets gives the same markets and instruments", () => {
    const text = textOf("examples/markets.json")
    assert.isTrue(isValid(JSON.parse(text)), JSON.stringify(validate.errors))
    const markets = Result.getOrThrow(read(text))
    // as stored in a journal, including the order of fields
    assert.strictEqual(JSON.stringify(markets), JSON.stringify(shippedMarkets))
    assert.lengthOf(markets, 4)
    assert.deepStrictEqual(
      Reads.instruments(new Bench({ markets }).state),
      Reads.instruments(new Bench({ markets: shippedMarkets }).state)
    )
  })

  it("has a valid example on its page", () => {
    const { blocks } = readPage("", textOf("docs/reference/markets-file.md"))
    const shown = blocks.filter(({ language }) => language === "json").map(({ text }) => JSON.parse(text))
    assert.lengthOf(shown, 1)
    assert.deepStrictEqual(errorsOf({ markets: shown }), [])
    assert.deepInclude(JSON.parse(textOf("examples/markets.json")).markets, shown[0])
  })

  it(
    "starts an exchange, whose journal then keeps its markets even if the file changes",
    { timeout: 60_000 },
    async () => {
      const { directory, remove } = temporary()
      try {
        const first = await startBackend({ dataDir: directory, env: { MARKETS_FILE: examplePath } })
        const instruments = await instrumentsOf(first.port)
        assert.deepStrictEqual(
          instruments.map(({ symbol }) => symbol),
          shippedMarkets.map(({ symbol }) => symbol)
        )
        await first.stop()
        const other = join(directory, "markets.json")
        writeFileSync(other, JSON.stringify({ markets: [es] }))
        const second = await startBackend({ dataDir: directory, env: { MARKETS_FILE: other } })
        assert.deepStrictEqual(await instrumentsOf(second.port), instruments)
        await second.stop()
        writeFileSync(
          other,
          JSON.stringify({
            markets: [
              { ...es, tick_size: "0" },
              { ...es, max_leverage: "21" }
            ]
          })
        )
        const said = await startBackend({ dataDir: directory, env: { MARKETS_FILE: other } }).then(
          () => "started",
          (error: Error) => error.message
        )
        for (const path of ["markets[0].tick_size: given", "markets[1].max_leverage: given"])
          assert.include(said, `${other}: ${path}`)
      } finally {
        remove()
      }
    }
  )
})
