/**
 * Finishing touches on the OpenAPI document, so that readers and code generators find each schema once, under its name.
 *
 * - A schema used with another description becomes a reference with that description, not a numbered copy.
 * - `XEncoded`, the wire form of a schema that decodes to something else, is `X` where the name is free.
 * - Objects are open: new fields of answers are compatible changes, unknown ones of requests are ignored
 * (docs/contract/conventions.md#json-and-http).
 */
import { bounded, boundedForm } from "./SchemaLimits.ts"
import { describe, type ReasonsOf } from "./OpenApiEnricher.ts"
import { securitySchemes } from "./OpenApiAnnotations.ts"
import { withTags } from "./EtagDocuments.ts"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any
type Schemas = Record<string, Json>

const PREFIX = "#/components/schemas/"

/** Rebuilds a JSON value, every object passed through `f` after its members. */
const rebuild = (value: Json, f: (object: Schemas) => Json): Json => {
  if (Array.isArray(value)) return value.map((item) => rebuild(item, f))
  if (value === null || typeof value !== "object") return value
  return f(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, rebuild(member, f)])))
}

const prose = ({ description: _d, examples: _e, ...schema }: Schemas): Schemas => schema
const withoutProse = (schema: Schemas): string => JSON.stringify(prose(schema))

const open = (object: Schemas): Schemas => {
  if (object["additionalProperties"] !== false) return bounded(object)
  const { additionalProperties: _, ...rest } = object
  return bounded(rest)
}

/** Numbered copies by the name that they go back to. */
const copiesOf = (schemas: Schemas): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const name of Object.keys(schemas)) {
    const base = /^(.+)_\d+$/u.exec(name)?.[1]
    if (
      base !== undefined &&
      schemas[base] !== undefined &&
      withoutProse(schemas[base]) === withoutProse(schemas[name])
    ) {
      found.set(name, base)
    }
  }
  return found
}

const renamed = (schemas: Schemas): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const name of Object.keys(schemas)) {
    const plain = name.endsWith("Encoded") ? name.slice(0, -"Encoded".length) : undefined
    if (plain !== undefined && schemas[plain] === undefined) found.set(name, plain)
  }
  return found
}

/** The prose that most references carry is that of the schema itself. */
const mostUsed = (document: Json, names: ReadonlyArray<string>): string => {
  const counts = new Map(names.map((name) => [`${PREFIX}${name}`, 0]))
  rebuild(document, (object) => {
    const count = counts.get(object["$ref"])
    if (count !== undefined) counts.set(object["$ref"], count + 1)
    return object
  })
  return [...counts].reduce((best, next) => (next[1] > best[1] ? next : best))[0].slice(PREFIX.length)
}

/** The same schema is one choice: an endpoint and its middlewares may declare errors of one status. */
const distinct = (object: Schemas): Json => {
  if (object["anyOf"] === undefined) return object
  const choices = new Map(object["anyOf"].map((choice: Json) => [JSON.stringify(choice), choice]))
  return bounded({ ...object, anyOf: [...choices.values()] })
}

/** Enumerations come first: a generator that writes values in this order has each before it is used. */
const isChoice = (schema: Json): boolean => schema.enum !== undefined

export const finish = (document: Json, reasonsOf: ReasonsOf): Json => {
  const opened = rebuild(document, open)
  const schemas: Schemas = opened.components.schemas
  const copies = copiesOf(schemas)
  const names = renamed(schemas)
  const main = new Map<string, Json>()
  for (const base of new Set(copies.values())) {
    const group = [base, ...[...copies].filter(([, to]) => to === base).map(([name]) => name)]
    main.set(base, schemas[mostUsed(opened, group)])
  }
  const resolve = (object: Schemas): Json => {
    const ref: unknown = object["$ref"]
    if (typeof ref !== "string" || !ref.startsWith(PREFIX)) return object
    const name = ref.slice(PREFIX.length)
    const base = copies.get(name) ?? name
    const told = schemas[name]?.description
    const own = (main.get(base) ?? schemas[base])?.description
    return {
      ...object,
      $ref: PREFIX + (names.get(base) ?? base),
      ...(told !== own && told !== undefined && object["description"] === undefined ? { description: told } : {})
    }
  }
  const kept = Object.entries(schemas)
    .filter(([name]) => !copies.has(name))
    .map(
      ([name, schema]) =>
        [names.get(name) ?? name, boundedForm(name, rebuild(main.get(name) ?? schema, resolve))] as const
    )
    .toSorted(([a, one], [b, other]) => Number(isChoice(other)) - Number(isChoice(one)) || (a < b ? -1 : 1))
  const paths = withTags(rebuild(opened.paths, (object) => distinct(resolve(object))))
  const servers = [
    { url: "/", description: "Where this document was found: production, staging or local", "x-internal": false }
  ]
  const components = { ...opened.components, schemas: reachable(paths, Object.fromEntries(kept)), securitySchemes }
  return describe({ ...opened, paths, servers, components }, reasonsOf)
}

/** The schemas that operations refer to, straight or through others. */
const reachable = (paths: Json, schemas: Schemas): Schemas => {
  const found = new Set<string>()
  const visit = (value: Json) =>
    rebuild(value, (object) => {
      const name = typeof object["$ref"] === "string" ? object["$ref"].slice(PREFIX.length) : undefined
      if (name !== undefined && !found.has(name)) {
        found.add(name)
        visit(schemas[name])
      }
      return object
    })
  visit(paths)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)))
}
