/** Converts named schemas to JSON Schema draft 07, the default of AsyncAPI. */
import { JsonSchema, type Schema, SchemaRepresentation } from "effect"

type Json = JsonSchema.JsonSchema
type Schemas = Record<string, Json>

const HOME = "#/components/schemas/"
const DEFINITIONS = "#/definitions/"

/** The name of a copy with another description: `Millis_1` for `Millis`. */
const COPY = /^(.+)_\d+$/u

/** Rebuilds a JSON value, every object passed through `f` after its members. */
const rebuild = (value: unknown, f: (object: Record<string, unknown>) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => rebuild(item, f))
  if (value === null || typeof value !== "object") return value
  return f(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rebuild(member, f)])))
}

const isText = (part: object): boolean => Object.keys(part).every((key) => key === "description" || key === "examples")

/** Moves the texts of a field into its schema. Draft 07 ignores texts beside a reference, so a reference keeps its `allOf`. */
const withTexts = ({ allOf, ...schema }: Record<string, unknown>): Record<string, unknown> => {
  if (!Array.isArray(allOf)) return schema
  return allOf.every(isText) ? Object.assign(schema, ...allOf) : { ...schema, allOf }
}

/**
 * All schemas and their references by name. Objects accept additional properties, because new fields are compatible
 * changes. A copy that differs from a named schema only by its description is inlined.
 */
export const make = (schemas: Readonly<Record<string, Schema.Top>>): Schemas => {
  const asts = Object.values(schemas).map(({ ast }) => ast)
  const [first, ...rest] = asts
  if (first === undefined) return {}
  const found = SchemaRepresentation.toJsonSchemaMultiDocument(SchemaRepresentation.toRepresentations([first, ...rest]))
  const named = Object.fromEntries(Object.keys(schemas).map((name, i) => [name, found.schemas[i]!]))
  // schemas with an identifier are in the definitions already
  const definitions: Schemas = { ...named, ...found.definitions }
  const old = JsonSchema.toDocumentDraft07({ dialect: "draft-2020-12", schema: {}, definitions }).definitions
  const isCopy = (name: string): boolean => Object.hasOwn(old, COPY.exec(name)?.[1] ?? "")
  const settled = (value: unknown): unknown =>
    rebuild(value, ({ additionalProperties, ...object }) => {
      const ref = object["$ref"]
      if (typeof ref === "string" && ref.startsWith(DEFINITIONS)) {
        const name = ref.slice(DEFINITIONS.length)
        return isCopy(name) ? settled(old[name]) : { $ref: `${HOME}${name}` }
      }
      const described = withTexts(object)
      return additionalProperties === true || additionalProperties === undefined
        ? described
        : { ...described, additionalProperties }
    })
  return Object.fromEntries(
    Object.keys(old)
      .filter((name) => !isCopy(name))
      .map((name) => [name, settled(old[name]) as Json])
  )
}
