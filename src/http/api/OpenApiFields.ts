/**
 * Gives each field of the document its description and example. Its own come first, then those of the schema that it refers to.
 * Between the two is the example of the operation that shows the field.
 */
import {
  type Body,
  type JsonSchema,
  type JsonSchemas,
  mapBody,
  mapValues,
  membersOf,
  nameOf,
  type Operation,
  type Parameter
} from "./OpenApiModel.ts"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export class OpenApiFields {
  private readonly schemas: JsonSchemas
  /** The first example of a field that an operation shows, by the path of the field in its schema. */
  private readonly shown = new Map<string, unknown>()
  constructor(schemas: JsonSchemas, operations: ReadonlyArray<Operation>) {
    this.schemas = schemas
    for (const { operationId, requestBody, responses } of operations) {
      for (const body of [requestBody, ...Object.values(responses)]) {
        for (const { example, schema } of Object.values(body?.content ?? {})) {
          if (example !== undefined) this.show(operationId, schema, example)
        }
      }
    }
  }

  private target(schema: JsonSchema): JsonSchema {
    const name = nameOf(schema)
    return name === undefined ? schema : this.schemas[name]!
  }

  private show(at: string, schema: JsonSchema, value: unknown): void {
    const path = nameOf(schema) ?? at
    const { items, properties = {}, ...target } = this.target(schema)
    for (const member of membersOf(target)) this.show(path, member, value)
    if (Array.isArray(value) && items !== undefined) for (const item of value) this.show(path, items, item)
    if (!isObject(value)) return
    for (const [name, field] of Object.entries(properties)) {
      const example = value[name]
      if (example === undefined) continue
      const fieldPath = `${path}.${name}`
      if (!this.shown.has(fieldPath) && example !== "") this.shown.set(fieldPath, example)
      this.show(fieldPath, field, example)
    }
  }

  private isScalar(schema: JsonSchema): boolean {
    const target = this.target(schema)
    if (target.type === "object" || target.type === "array") return false
    return membersOf(target).every((member) => this.isScalar(member))
  }

  private exampleOf(path: string, field: JsonSchema): unknown {
    const shown = this.shown.get(path)
    if (shown !== undefined) return shown
    const target = this.target(field)
    const members = membersOf(target).map((member) => this.target(member))
    return (
      target.examples?.[0] ??
      target.enum?.[0] ??
      (target.type === "boolean"
        ? false
        : members.flatMap(({ enum: choices, examples }) => choices ?? examples ?? [])[0])
    )
  }

  /** A field with its description, unit and example. `path` begins with the record that it belongs to. */
  field(path: string, field: JsonSchema): JsonSchema {
    const { description, "x-unit": unit } = { ...this.target(field), ...field }
    const example = this.isScalar(field) && field.examples === undefined ? this.exampleOf(path, field) : undefined
    return {
      ...this.record(path, field),
      ...(description === undefined ? undefined : { description }),
      ...(unit === undefined ? undefined : { "x-unit": unit }),
      ...(example === undefined ? undefined : { examples: [example] })
    }
  }

  /** A schema with the fields of all objects inside it. */
  record(path: string, schema: JsonSchema): JsonSchema {
    const { allOf, anyOf, items, oneOf, properties } = schema
    const all = (members: ReadonlyArray<JsonSchema>) => members.map((member) => this.record(path, member))
    return {
      ...schema,
      ...(properties === undefined
        ? undefined
        : { properties: mapValues(properties, (field, name) => this.field(`${path}.${name}`, field)) }),
      ...(items === undefined ? undefined : { items: this.record(path, items) }),
      ...(anyOf === undefined ? undefined : { anyOf: all(anyOf) }),
      ...(oneOf === undefined ? undefined : { oneOf: all(oneOf) }),
      ...(allOf === undefined ? undefined : { allOf: all(allOf) })
    }
  }

  private parameter(operationId: string, parameter: Parameter): Parameter {
    const schema = this.field(`${operationId}?${parameter.name}`, parameter.schema)
    const description = parameter.description ?? schema.description
    const example = parameter.example ?? schema.examples?.[0]
    return {
      ...parameter,
      schema,
      ...(description === undefined ? undefined : { description }),
      ...(example === undefined ? undefined : { example })
    }
  }

  operation(operation: Operation): Operation {
    const { operationId, parameters, requestBody, responses } = operation
    const body = <B extends Body>(it: B): B => mapBody(it, (schema) => this.record(operationId, schema))
    return {
      ...operation,
      parameters: parameters.map((parameter) => this.parameter(operationId, parameter)),
      ...(requestBody === undefined ? undefined : { requestBody: body(requestBody) }),
      responses: mapValues(responses, body)
    }
  }
}
