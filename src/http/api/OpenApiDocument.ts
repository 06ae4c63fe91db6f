/**
 * The OpenAPI document of the API.
 *
 * The library derives it from the endpoints. This file makes it easier to read and to generate code from:
 * - The wire form of a schema that decodes to something else, `XEncoded`, is `X` where the name is free.
 * - Objects are open: new fields of responses are compatible changes, and unknown fields of requests are ignored
 *   (docs/contract/conventions.md#json-and-http).
 * - Annotations of a field are beside its reference, not in an `allOf`.
 */
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { isPublished } from "../../domain/Field.ts"
import { Api } from "./Api.ts"
import { endpointsOf, operationOf, reasonsOf } from "./EndpointErrors.ts"
import { withTags } from "./EtagDocuments.ts"
import { securitySchemes } from "./OpenApiAnnotations.ts"
import { OpenApiFields } from "./OpenApiFields.ts"
import {
  inComponents,
  type JsonSchema,
  type JsonSchemas,
  mapOperation,
  mapOperations,
  mapSchema,
  mapValues,
  nameOf,
  type Operation,
  type Paths,
  refTo,
  withoutAllOf
} from "./OpenApiModel.ts"
import { withResponses } from "./OpenApiResponses.ts"
import { bounded, boundedForm } from "./SchemaLimits.ts"

const options: OpenApi.FromApiOptions = { includeAnnotationKey: isPublished }

/** Parameters with the types that a reader expects. Query values travel as text, and the library describes this text. */
const withQueryTypes = (operation: Operation, query: Schema.Top | undefined): Operation => {
  if (query === undefined) return operation
  const document = Schema.toJsonSchemaDocument(Schema.toType(query), options)
  const definitions: JsonSchemas = document.definitions
  const { properties = {} }: JsonSchema = document.schema
  const parameters = operation.parameters.map((parameter) => {
    const found = parameter.in === "query" ? properties[parameter.name] : undefined
    if (found === undefined) return parameter
    const schema = withoutAllOf(found)
    const { type } = definitions[schema.$ref?.split("/").at(-1) ?? ""] ?? schema
    if (type !== "integer" && type !== "boolean" && type !== "array") return parameter
    return { ...parameter, schema: mapSchema(schema, inComponents) }
  })
  return { ...operation, parameters }
}

const open = ({ additionalProperties, ...schema }: JsonSchema): JsonSchema =>
  additionalProperties === undefined || additionalProperties === false ? schema : { ...schema, additionalProperties }

/** Each alternative once: an endpoint and its middlewares may declare errors of one status. */
const distinct = (schema: JsonSchema): JsonSchema =>
  schema.anyOf === undefined
    ? schema
    : {
        ...schema,
        anyOf: [...new Map(schema.anyOf.map((choice) => [JSON.stringify(choice), choice])).values()]
      }

/** Names without the suffix of wire forms. */
const shortNames = (names: ReadonlyArray<string>): ReadonlyMap<string, string> =>
  new Map(
    names.flatMap((name) => {
      const short = name.replace(/Encoded$/u, "")
      return short !== name && !names.includes(short) ? [[name, short]] : []
    })
  )

/** The schemas that the operations refer to, directly or through others. */
const reachable = (paths: Paths, schemas: JsonSchemas): JsonSchemas => {
  const found = new Set<string>()
  const visit = (schema: JsonSchema): JsonSchema =>
    mapSchema(schema, (inner) => {
      const name = nameOf(inner)
      if (name !== undefined && !found.has(name)) {
        found.add(name)
        visit(schemas[name]!)
      }
      return inner
    })
  mapOperations(paths, (operation) => mapOperation(operation, visit))
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)))
}

/** Enumerations come first: a generator that writes values in this order has each before it is used. */
const enumerationsFirst = (schemas: JsonSchemas): JsonSchemas =>
  Object.fromEntries(
    Object.entries(schemas).toSorted(
      ([a, one], [b, other]) => Number(other.enum !== undefined) - Number(one.enum !== undefined) || (a < b ? -1 : 1)
    )
  )

const methods = ["get", "post", "put", "patch", "delete"] as const

/** The operations of each path by method. */
const pathsOf = (paths: OpenApi.OpenAPISpecPaths): Paths =>
  mapValues(paths, (item) =>
    Object.fromEntries(
      methods.flatMap((method) => (item[method] === undefined ? [] : [[method, item[method]] as const]))
    )
  )

const servers = [
  { url: "/", description: "Where this document was found: production, staging or local", "x-internal": false }
]

const make = () => {
  const spec = OpenApi.fromApi(Api, options)
  const endpoints = endpointsOf(Api)
  const endpointOf = (at: { readonly method: string; readonly path: string }) => endpoints.get(operationOf(at))
  const names = shortNames(Object.keys(spec.components.schemas))
  const named = (schema: JsonSchema): JsonSchema => {
    const name = nameOf(schema)
    return name === undefined ? schema : { ...schema, $ref: refTo(names.get(name) ?? name) }
  }
  const settled = (schema: JsonSchema) =>
    mapSchema(schema, (inner) => bounded(distinct(named(open(withoutAllOf(inner))))))
  const all = Object.fromEntries(
    Object.entries(spec.components.schemas).map(([name, schema]) => [
      names.get(name) ?? name,
      boundedForm(name, settled(schema))
    ])
  )
  const plain = withTags(
    mapOperations(pathsOf(spec.paths), (operation, at) =>
      mapOperation(withQueryTypes(operation, endpointOf(at)?.query), settled)
    )
  )
  const schemas = enumerationsFirst(reachable(plain, all))
  const fields = new OpenApiFields(
    schemas,
    Object.values(plain).flatMap((methods) => Object.values(methods))
  )
  const { components, paths } = withResponses(
    mapOperations(plain, (operation) => fields.operation(operation)),
    (method, path) => {
      const endpoint = endpointOf({ method, path })
      return endpoint === undefined ? new Map() : reasonsOf(endpoint)
    }
  )
  return {
    ...spec,
    paths,
    servers,
    components: {
      schemas: mapValues(schemas, (schema, name) => fields.record(name, schema)),
      securitySchemes,
      ...components
    }
  }
}

export type OpenApiDocument = ReturnType<typeof make>

let made: OpenApiDocument | undefined
/** The document, which is made once. */
export const openApi = (): OpenApiDocument => (made ??= make())
