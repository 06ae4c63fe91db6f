/**
 * Python types of JSON schemas: dataclasses of objects, `Literal` types of enumerations. Values that a program sends take decimals as
 * `Decimal` or text; values that it receives have `Decimal`.
 */

/** A JSON schema, as far as docs/openapi.json and docs/asyncapi.json use it. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<string | number | boolean>
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
}
export type Schemas = Readonly<Record<string, JsonSchema>>
export type Direction = "sent" | "received"

const SCALARS: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None"
}
const DECIMALS: ReadonlySet<string> = new Set(["Decimal", "SignedDecimal"])
const nameIn = ($ref: string): string => $ref.slice($ref.lastIndexOf("/") + 1)
const pascal = (name: string): string => name.replace(/(?:^|_)([a-z])/gu, (_, letter: string) => letter.toUpperCase())

/** A text as a Python docstring. */
export const docstring = (text: string, indent: string): string =>
  `${indent}"""${text.replaceAll("\\", "\\\\").replaceAll('"""', "'''").replaceAll("\n", `\n${indent}`).replace(/"$/u, '" ')}"""`.replaceAll(
    /[ \t]+$/gmu,
    ""
  )
const literal = (values: ReadonlyArray<string | number | boolean>): string =>
  `Literal[${values.map((value) => (typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value))).join(", ")}]`

/** One object schema with the properties of several; required is what all of them require. */
const merged = (schemas: ReadonlyArray<JsonSchema>): JsonSchema =>
  schemas.reduce((one, other): JsonSchema => {
    if (one.type === "array") return { ...one, items: merged([one.items!, other.items!]) }
    if (one.enum !== undefined) return { ...one, enum: [...new Set([...one.enum, ...(other.enum ?? [])])] }
    if (one.properties === undefined || other.properties === undefined) return one
    const names = new Set([...Object.keys(one.properties), ...Object.keys(other.properties)])
    const both = (name: string) =>
      [one.properties?.[name], other.properties?.[name]].filter((found) => found !== undefined)
    return {
      ...one,
      properties: Object.fromEntries([...names].map((name) => [name, merged(both(name))])),
      required: (one.required ?? []).filter((name) => other.required?.includes(name))
    }
  })

/** The Python classes of the schemas that are asked for, and of those that they refer to. */
export class PythonTypes {
  /** Definitions by name, each after those that it uses. */
  private readonly definitions = new Map<string, string>()
  private readonly directions = new Map<string, Direction>()
  private readonly schemas: Schemas

  constructor(schemas: Schemas) {
    this.schemas = schemas
  }
  get text(): string {
    return [...this.definitions.values()].join("\n\n")
  }
  get names(): ReadonlyArray<string> {
    return [...this.definitions.keys()]
  }

  /** The annotation of a schema; `name` is that of its class, if it has none of its own. */
  annotation(schema: JsonSchema, direction: Direction, name: string): string {
    const { allOf, anyOf, enum: values, items, properties, type = "" } = schema
    if (schema.$ref !== undefined) return this.named(nameIn(schema.$ref), direction)
    if (allOf !== undefined) return this.annotation(allOf[0]!, direction, name)
    if (anyOf !== undefined) return this.oneOf(anyOf, direction, name)
    if (values !== undefined) return literal(values)
    if (items !== undefined) return `List[${this.annotation(items, direction, name)}]`
    if (properties !== undefined) return this.dataclass(name, schema, direction)
    return type === "object" ? "Dict[str, Any]" : (SCALARS[type] ?? "Any")
  }

  /** The parts of a union. The gateway has `""` where there is no value: that is None. */
  private oneOf(parts: ReadonlyArray<JsonSchema>, direction: Direction, name: string): string {
    if (parts.every(({ properties }) => properties !== undefined))
      return this.annotation(merged(parts), direction, name)
    const isNone = ({ enum: values, type }: JsonSchema) => type === "null" || values?.join() === ""
    const types = parts.filter((part) => !isNone(part)).map((part) => this.annotation(part, direction, name))
    const union = types.length === 1 ? types[0]! : `Union[${types.join(", ")}]`
    return parts.some(isNone) ? `Optional[${union}]` : union
  }

  private named(name: string, direction: Direction): string {
    if (DECIMALS.has(name)) return direction === "sent" ? "Amount" : "Decimal"
    const schema = this.schemas[name]!
    if (name === "Level") return name
    if (schema.properties !== undefined) return this.dataclass(name, schema, direction)
    if (schema.enum === undefined) return this.annotation(schema, direction, name)
    if (!this.definitions.has(name)) {
      const doc = schema.description === undefined ? "" : `\n${docstring(schema.description, "")}`
      this.definitions.set(name, `${name} = ${literal(schema.enum)}${doc}`)
    }
    return name
  }

  private dataclass(name: string, schema: JsonSchema, direction: Direction): string {
    const before = this.directions.get(name)
    if (before === direction) return name
    if (before !== undefined) throw new Error(`${name} is sent and received`)
    this.directions.set(name, direction)
    const { description, properties = {}, required = [] } = schema
    const fields = Object.entries(properties).map(([field, value]) => {
      const type = this.annotation(value, direction, `${name}${pascal(field)}`)
      const isRequired = required.includes(field)
      const text = value.description ?? value.allOf?.at(-1)?.description
      const optional = type.startsWith("Optional[") ? type : `Optional[${type}]`
      const line = isRequired ? `    ${field}: ${type}` : `    ${field}: ${optional} = None`
      return { isRequired, line: text === undefined ? line : `${line}\n${docstring(text, "    ")}` }
    })
    const lines = [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)]
    const doc = description === undefined ? [] : [docstring(description, "    "), ""]
    this.definitions.set(
      name,
      ["@dataclass(frozen=True)", `class ${name}:`, ...doc, ...lines.map(({ line }) => line)].join("\n")
    )
    return name
  }
}
