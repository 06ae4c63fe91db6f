/** Integers among query parameters, which are written in digits. Source: docs/contract/conventions.md#query-parameters. */
import { SchemaAST, type Schema } from "effect"
import { quoted } from "./InputText.ts"

/** The names of the numbers among the parameters of an endpoint. */
export const numbersOf = (query: Schema.Top): ReadonlySet<string> => {
  const ast = SchemaAST.toType(query.ast)
  const fields = SchemaAST.isObjects(ast) ? ast.propertySignatures : []
  return new Set(fields.filter(({ type }) => SchemaAST.isNumber(type)).map(({ name }) => String(name)))
}

/**
 * The text of the refusal of a number in another notation: the codec of a query reads `1e1`, `5.0` and `+5` as well. `undefined`:
 * it is written in digits, or is no number.
 */
export const notInDigits = (name: string, value: string): string | undefined =>
  value !== "" && !/^-?\d+$/u.test(value) && Number.isInteger(Number(value))
    ? `${name}: expected a whole number as digits, got ${quoted(value)}`
    : undefined
