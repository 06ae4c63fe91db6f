/**
 * Annotations of a field: its meaning, its unit and an example. The OpenAPI and AsyncAPI documents publish them.
 *
 * They belong to the field and not to its type: every price has the schema `Decimal`, and each field explains its own price.
 * Source: docs/contract/conventions.md#decimals, #times.
 */
import { type Schema, SchemaAST } from "effect"

/** Units of numbers and of decimal text. */
export type Unit =
  | "asset"
  | "base asset"
  | "basis points"
  | "count"
  | "days"
  | "min"
  | "ms"
  | "ns"
  | "points"
  | "position"
  | "quote asset"
  | "ratio"
  | "rows"
  | "s"
  | "settlement asset"
  | "units of the metric"
  | "USDC"

/** The annotation of a unit, for programs. Readers find the unit in brackets at the end of the description. */
export const UNIT = "x-unit"

/** Whether a document contains an annotation in addition to the keys of JSON Schema. */
export const isPublished = (annotation: string): boolean => annotation === UNIT

const unitOf = SchemaAST.resolveAt<Unit>(UNIT)

/** A description with its unit, and an example: annotations of a schema whose every use has this meaning. */
export const described = <A>(meaning: string, unit: Unit | undefined, example?: A) => ({
  description: unit === undefined ? meaning : `${meaning} [${unit}]`,
  ...(unit === undefined ? undefined : { [UNIT]: unit }),
  ...(example === undefined ? undefined : { examples: [example] as const })
})

/** A field with its meaning. The unit is that of the schema, if it has one. */
export const field = <S extends Schema.Top>(schema: S, meaning: string, example?: S["Type"]): S["Rebuild"] =>
  schema.annotateKey(described(meaning, unitOf(schema.ast), example))

/** A number, or decimal text, with its meaning and unit. */
export const measure = <S extends Schema.Top>(
  schema: S,
  meaning: string,
  unit: Unit,
  example?: S["Type"]
): S["Rebuild"] => schema.annotateKey(described(meaning, unit, example))
