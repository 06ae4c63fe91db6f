/**
 * The types of the SDK for its package, without Effect: inputs and responses from the OpenAPI document, messages of the feeds from
 * the AsyncAPI document, each field with its documentation. test/package/SdkTypes.test.ts has the compiler compare them with the
 * schemas.
 */
import { readFileSync } from "node:fs"
import { depths } from "../../src/domain/Enumerations.ts"
import { reasons, statusOf } from "../../src/domain/Reason.ts"
import { privateTopics } from "../../src/domain/TopicNames.ts"
import { operations } from "../../src/sdk/Operations.ts"

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<string | number>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
  readonly not?: object
}
interface Operation {
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly schema: Schema
  }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
  readonly summary?: string
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const read = (name: string): Document =>
  JSON.parse(readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8")) as Document

/** Largest tuple that is written as one. */
const TUPLE_MAX = 4

const comment = (text: string | undefined, indent: string): string =>
  text === undefined || text === "" ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/").replaceAll("\n", " ")} */\n`

const literals = (values: ReadonlyArray<string | number>): string =>
  values.map((value) => JSON.stringify(value)).join(" | ")

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf("/") + 1)

/** Prints schemas as TypeScript types; `refer` receives the name of each schema that a type refers to. */
const printer = (refer: (name: string) => void) => {
  const fields = (schema: Schema, indent: string): string =>
    Object.entries(schema.properties ?? {})
      .map(([name, field]) => {
        const optional = schema.required?.includes(name) === true ? "" : "?"
        const text = field.description ?? field.allOf?.find(({ description }) => description !== undefined)?.description
        return `${comment(text, indent)}${indent}readonly ${name}${optional}: ${print(field, indent)}\n`
      })
      .join("")
  const print = (schema: Schema, indent: string): string => {
    if (schema.$ref !== undefined) {
      refer(nameOf(schema.$ref))
      return nameOf(schema.$ref)
    }
    if (schema.enum !== undefined) return literals(schema.enum)
    if (schema.anyOf !== undefined) return schema.anyOf.map((one) => print(one, indent)).join(" | ")
    // only annotations are added this way
    if (schema.allOf !== undefined)
      return print(
        schema.allOf.find(({ $ref }) => $ref !== undefined)!,
        indent
      )
    if (schema.not !== undefined) return "never"
    switch (schema.type) {
      case "string":
      case "boolean":
      case "null":
        return schema.type
      case "integer":
      case "number":
        return "number"
      case "array": {
        const item = print(schema.items!, indent)
        return schema.minItems === schema.maxItems && schema.minItems !== undefined && schema.minItems <= TUPLE_MAX
          ? `readonly [${Array.from({ length: schema.minItems }, () => item).join(", ")}]`
          : `ReadonlyArray<${item}>`
      }
      case "object":
        if (schema.properties !== undefined) return `{\n${fields(schema, `${indent}  `)}${indent}}`
        return typeof schema.additionalProperties === "object"
          ? `Readonly<Record<string, ${print(schema.additionalProperties, indent)}>>`
          : "Readonly<Record<string, unknown>>"
      default:
        throw new Error(`no type for ${JSON.stringify(schema)}`)
    }
  }
  return print
}

/** Types of the feeds by the names that the modules of the SDK import. */
const feedTypes: Readonly<Record<string, readonly [schema: string, field: string]>> = {
  BookData: ["OrderbookEvent", "data"],
  TradeData: ["TradeEvent", "data"],
  AggregatedTradeData: ["AggregatedTradeEvent", "data"],
  TickerData: ["TickerEvent", "data"],
  KlineData: ["KlineEvent", "data"],
  LiquidationData: ["LiquidationsEvent", "data"],
  PoolData: ["InsurancePoolEvent", "data"],
  AlertData: ["AdlAlertEvent", "data"],
  OrderData: ["OrderEvent", "data"],
  ExecutionData: ["ExecutionEvent", "data"],
  PositionData: ["PositionEvent", "data"],
  BalanceData: ["AccountBalanceEvent", "data"],
  Since: ["Subscribe", "since"],
  Resume: ["Subscribed", "resume"]
}

/** The module of all types that the declarations of the SDK import from modules outside src/sdk and src/client. */
export const sdkTypes = (): string => {
  const rest = read("openapi.json")
  const feeds = read("asyncapi.json").components.schemas
  const schemas = { ...feeds, ...rest.components.schemas }
  const wanted = new Set<string>(["Level"])
  const print = printer((name) => wanted.add(name))

  const groups = Object.entries(operations).map(([group, named]) => {
    const lines = Object.entries<string>(named).map(([name, line]) => {
      const [method = "", path = ""] = line.split(" ")
      const operation = rest.paths[`/api/v1${path.replace(/:(\w+)/gu, "{$1}")}`]![method.toLowerCase()]!
      const parameters: Schema = {
        type: "object",
        properties: Object.fromEntries(
          operation.parameters
            .filter((parameter) => parameter.in !== "header")
            .map(({ description, name, schema }) => [
              name,
              description === undefined ? schema : { ...schema, description }
            ])
        ),
        required: operation.parameters.flatMap(({ name, required }) => (required ? [name] : []))
      }
      const body = operation.requestBody?.content["application/json"]?.schema
      const hasParameters = Object.keys(parameters.properties!).length > 0
      const parts = [
        ...(hasParameters ? [print(parameters, "      ")] : []),
        ...(body === undefined ? [] : [print(body, "      ")])
      ]
      const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))![1]
      const response = success.content?.["application/json"]?.schema
      return `${comment(operation.summary, "    ")}    readonly ${name}: {
      readonly input: ${parts.join(" & ") || "{}"}
      readonly response: ${response === undefined ? "void" : print(response, "      ")}
    }\n`
    })
    return `  readonly ${group}: {\n${lines.join("")}  }\n`
  })
  const ofFeeds = Object.entries(feedTypes).map(([name, [schema, field]]) => {
    return `export type ${name} = ${print(feeds[schema]!.properties![field]!, "")}\n`
  })
  const errorFrame = `export type ErrorFrame = ${print(feeds["Error"]!, "")}\n`

  const components: Array<string> = []
  // grows while the types are printed
  for (const name of wanted) {
    const schema = schemas[name]!
    components.push(`${comment(schema.description, "")}export type ${name} = ${print(schema, "")}\n`)
  }
  return [
    "/** Types of the API, generated from its OpenAPI and AsyncAPI documents. */",
    `export type Code = ${literals(Object.keys(statusOf))}`,
    `export type Reason = ${literals(reasons)}`,
    `export type Depth = ${literals(depths)}`,
    `export type PrivateTopic = ${literals(privateTopics)}`,
    ...ofFeeds,
    errorFrame,
    ...components.toSorted(),
    `export interface Operations {\n${groups.join("")}}`
  ].join("\n")
}

/** The declarations that replace those of src/sdk/Methods.ts. */
export const methodTypes = `import type { CallOptions } from "./CallOptions.js"
import type { Operations } from "../types.js"

type OperationOf<G extends keyof Operations, N extends keyof Operations[G]> = Operations[G][N] extends {
  readonly input: infer I
  readonly response: infer R
}
  ? { readonly input: I; readonly response: R }
  : never
/** Input of an operation. */
export type Input<G extends keyof Operations, N extends keyof Operations[G]> = OperationOf<G, N>["input"]
/** Response of an operation. */
export type Response<G extends keyof Operations, N extends keyof Operations[G]> = OperationOf<G, N>["response"]

type Method<I, A> = object extends I
  ? (input?: I, options?: CallOptions) => Promise<A>
  : (input: I, options?: CallOptions) => Promise<A>

/** Every operation as a function; it rejects with an \`ExchangeError\`. */
export type Methods = {
  readonly [G in keyof Operations]: {
    readonly [N in keyof Operations[G]]: Method<Input<G, N>, Response<G, N>>
  }
}
`
