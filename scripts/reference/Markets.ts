/** docs/reference/markets-file.md, docs/markets.schema.json and examples/markets.json, from the schema of a markets file. */
import type { Schema } from "effect"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { fieldInfoOf, Fields, Tier } from "../../src/backend/markets/Fields.ts"
import { ERRORS_MAX, FILE_BYTES_MAX, jsonSchema, MARKETS_MAX } from "../../src/backend/markets/File.ts"
import { rules } from "../../src/backend/markets/Rules.ts"
import { row, table } from "./Table.ts"

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

export const schema = (): string => json(jsonSchema())

const defaults: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(Fields.fields).map(([name, field]) => [name, fieldInfoOf(field).default])
)

/** The shipped markets as a file, without what is the default. */
export const example = (): string =>
  json({
    $schema: "../docs/markets.schema.json",
    markets: shippedMarkets.map((market) =>
      Object.fromEntries(Object.entries(market).filter(([name, value]) => defaults[name] !== value))
    )
  })

/** The third market of the example, as the file has it. */
const excerpt = (): string => {
  const markets = example().split(/^(?= {4}\{$)/mu)
  return markets[3]!.replace(/,\n$/u, "").replaceAll(/^ {4}/gmu, "")
}

const shown = (value: unknown): string => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``

const fieldsOf = (fields: Readonly<Record<string, Schema.Top>>): string =>
  table(
    ["Field", "Meaning", "Unit", "Accepted", "Default", "Example"],
    Object.entries(fields).map(([name, field]) => {
      const { about, accepts, default: fallback, example, unit } = fieldInfoOf(field)
      const isList = Array.isArray(example)
      return row(
        `\`${name}\``,
        about,
        unit ?? "",
        accepts,
        fallback === undefined ? "required" : shown(fallback),
        isList ? "below" : shown(example)
      )
    })
  )

export const page = (): string => `# Markets file

\`MARKETS_FILE\` names a JSON file with the markets of the embedded exchange. Without it the exchange has the four of
[exchange.md](../contract/exchange.md#markets), which are [examples/markets.json](../../examples/markets.json). JSON Schema:
[markets.schema.json](../markets.schema.json). An editor checks a file whose \`$schema\` names it.

\`gateway config check\` and the start check the file: at most ${FILE_BYTES_MAX / 1024 / 1024} MiB and ${MARKETS_MAX} markets. Each error
names path, given value and accepted values. They report all errors at once; after ${ERRORS_MAX} they give the number of the rest.
A journal keeps the markets that it was made with: a change of the file takes effect with an empty \`DATA_DIR\` only.

\`\`\`text
MARKETS_FILE: markets.json: markets[1].tick_size: given "0", accepted: ${fieldInfoOf(Fields.fields.tick_size).accepts}
\`\`\`

The file is an object \`{"$schema"?, "markets": […]}\`. Numbers are decimal text, except integers, which are JSON numbers. Unknown fields are
errors.

## A market

${fieldsOf(Fields.fields)}

## A risk tier

${fieldsOf(Tier.fields)}

## Rules between fields

The JSON Schema holds the rules of single fields. The exchange also checks these for each market with valid fields:

${rules.map(({ about }) => `- ${about}`).join("\n")}
- Each \`symbol\` appears once in the file. This is checked when all markets are valid.

## Example

One market of examples/markets.json. Fields that have their default are left out.

\`\`\`json no-run: part of a file
${excerpt()}
\`\`\`

A limit order for 12.5 SOL at 150.25 is valid. Price and quantity are multiples of 0.01 and 0.1; the value, 1878.125 USDC, is
at least 5. At a mark price of 150 a taker buys up to 150 × 1.1 = 165. A position of 600000 USDC is in the second tier. Its
initial margin is 600000 × 0.1 = 60000. Its maintenance margin is 600000 × 0.05 − 15000 = 15000, where
15000 = 500000 × (0.05 − 0.02) is the deduction. Leverage is at most 25 in the first tier, which is 1 / 0.04, and 10 in the second.
`
