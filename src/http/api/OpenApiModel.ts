/** The parts of OpenAPI 3.1 and of JSON Schema that the document uses. */
import { UNIT } from "../../domain/Field.ts"

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly "x-unit"?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: JsonSchemas
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly prefixItems?: ReadonlyArray<JsonSchema>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
}
export type JsonSchemas = Readonly<Record<string, JsonSchema>>

export interface Reference {
  readonly $ref: string
}
export interface Media {
  readonly schema: JsonSchema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Reference>>
}
export interface Body {
  readonly content?: Readonly<Record<string, Media>>
}
export interface Response extends Body {
  readonly description: string
  readonly headers?: object
  readonly "x-reasons"?: ReadonlyArray<string>
}
export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: JsonSchema
  readonly description?: string
  readonly example?: unknown
}
export interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string
  readonly description?: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Response>>
  readonly security: ReadonlyArray<object>
}
/** Operations of each path by method, in lower case. */
export type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

const SCHEMAS = "#/components/schemas/"

export const refTo = (name: string): string => SCHEMAS + name

/** The name of the schema that a schema refers to. */
export const nameOf = ({ $ref }: JsonSchema): string | undefined =>
  $ref?.startsWith(SCHEMAS) === true ? $ref.slice(SCHEMAS.length) : undefined

/** A schema that refers to the definitions of JSON Schema, with its reference to the components of OpenAPI. */
export const inComponents = (schema: JsonSchema): JsonSchema =>
  schema.$ref === undefined ? schema : { ...schema, $ref: schema.$ref.replace("#/$defs/", SCHEMAS) }

/** The alternatives and parts of a schema. */
export const membersOf = ({ allOf = [], anyOf = [], oneOf = [] }: JsonSchema): ReadonlyArray<JsonSchema> => [
  ...anyOf,
  ...oneOf,
  ...allOf
]

export const mapValues = <A, B>(values: Readonly<Record<string, A>>, f: (value: A, key: string) => B) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, f(value, key)]))

/** Passes a schema through `f`, after the schemas inside it. */
export const mapSchema = (schema: JsonSchema, f: (schema: JsonSchema) => JsonSchema): JsonSchema => {
  const each = (inner: JsonSchema) => mapSchema(inner, f)
  const { additionalProperties, allOf, anyOf, items, oneOf, prefixItems, properties } = schema
  return f({
    ...schema,
    ...(properties === undefined ? undefined : { properties: mapValues(properties, each) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties: each(additionalProperties) } : undefined),
    ...(items === undefined ? undefined : { items: each(items) }),
    ...(prefixItems === undefined ? undefined : { prefixItems: prefixItems.map(each) }),
    ...(anyOf === undefined ? undefined : { anyOf: anyOf.map(each) }),
    ...(oneOf === undefined ? undefined : { oneOf: oneOf.map(each) }),
    ...(allOf === undefined ? undefined : { allOf: allOf.map(each) })
  })
}

/** A body with its schemas passed through `f`. */
export const mapBody = <B extends Body>(body: B, f: (schema: JsonSchema) => JsonSchema): B =>
  body.content === undefined
    ? body
    : { ...body, content: mapValues(body.content, (media) => ({ ...media, schema: f(media.schema) })) }

/** An operation with the schemas of its parameters and bodies passed through `f`. */
export const mapOperation = (operation: Operation, f: (schema: JsonSchema) => JsonSchema): Operation => ({
  ...operation,
  parameters: operation.parameters.map((parameter) => ({ ...parameter, schema: f(parameter.schema) })),
  ...(operation.requestBody === undefined ? undefined : { requestBody: mapBody(operation.requestBody, f) }),
  responses: mapValues(operation.responses, (response) => mapBody(response, f))
})

export const mapOperations = (
  paths: Paths,
  f: (operation: Operation, at: { readonly method: string; readonly path: string }) => Operation
): Paths =>
  mapValues(paths, (methods, path) =>
    mapValues(methods, (operation, method) => f(operation, { method: method.toUpperCase(), path }))
  )

/** Keys of which the innermost value is replaced: the texts of a field, and limits that become narrower. */
const MERGED: ReadonlySet<string> = new Set(["description", "examples", UNIT, "minimum", "maximum"])
const isWider = ({ maximum = Infinity, minimum = -Infinity }: JsonSchema, part: JsonSchema): boolean =>
  minimum <= (part.minimum ?? Infinity) && maximum >= (part.maximum ?? -Infinity)

/** Moves what an `allOf` adds to a schema into the schema itself: narrower limits, and the texts of a field. */
export const withoutAllOf = ({ allOf = [], ...schema }: JsonSchema): JsonSchema => {
  const [only, ...more] = allOf
  if (only?.$ref !== undefined && Object.keys(schema).length === 0) return withoutAllOf({ ...only, allOf: more })
  const adds = (part: JsonSchema) =>
    part.$ref === undefined && Object.keys(part).every((key) => MERGED.has(key) || !(key in schema))
  const merged = allOf.filter((part) => adds(part) && isWider(schema, part))
  const others = allOf.filter((part) => !merged.includes(part))
  return { ...schema, ...(others.length === 0 ? undefined : { allOf: others }), ...Object.assign({}, ...merged) }
}
