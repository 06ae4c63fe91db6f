/**
 * Says of every field of the document what it means, in which unit, and gives an example; of every operation why it is
 * refused; of every answer which headers it carries.
 *
 * Meanings come from the schema itself, else from the {@link glossary}; examples from the schema, else from the operation
 * that shows the field, else from the glossary. The unit is in `x-unit` for programs and in brackets for readers.
 */
import { codeOf, httpStatusOf, type Reason, textOf } from "../../domain/Reason.ts"
import { glossary, unitOfSchema } from "./FieldDocs.ts"
import { headersOf, headers } from "./Headers.ts"

// The document is plain JSON here; the library types a transform the same way.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any
type Schemas = Record<string, Json>

const SCHEMAS = "#/components/schemas/"
const nameOf = (schema: Json): string | undefined =>
  typeof schema?.$ref === "string" ? schema.$ref.slice(SCHEMAS.length) : undefined

/** Schemas that only describe the form of a value: the meaning of a field follows from its name. */
const forms: ReadonlySet<string> = new Set([
  "Decimal",
  "SignedDecimal",
  "Millis",
  "DigitMillis",
  "Uuid",
  "Address",
  "AnyAddress",
  "Symbol",
  "Asset"
])

class Describer {
  private readonly schemas: Schemas
  /** First example of a field that an operation shows, by the field's own object. */
  private readonly shown = new Map<Json, unknown>()
  constructor(schemas: Schemas) {
    this.schemas = schemas
  }

  private target(schema: Json): Json {
    const name = nameOf(schema)
    return name === undefined ? schema : this.schemas[name]
  }
  private members(schema: Json): ReadonlyArray<Json> {
    return [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? []), ...(schema?.allOf ?? [])]
  }

  /** Learns the examples of the fields of an example. */
  learn(schema: Json, value: unknown): void {
    const at = this.target(schema)
    for (const member of this.members(at)) this.learn(member, value)
    if (Array.isArray(value)) for (const item of value) this.learn(at?.items, item)
    else if (value !== null && typeof value === "object") {
      for (const [key, field] of Object.entries(at?.properties ?? {})) {
        const told = (value as Schemas)[key]
        if (told === undefined) continue
        if (!this.shown.has(field) && told !== "") this.shown.set(field, told)
        this.learn(field, told)
      }
    }
  }

  /** The unit of the form of a value; `undefined`: the field has to name it; `null`: the value is no number. */
  private unitOf(schema: Json): string | null | undefined {
    const name = nameOf(schema)
    if (name !== undefined && unitOfSchema[name] !== undefined) return unitOfSchema[name]
    if (name === "Decimal" || name === "SignedDecimal") return undefined
    const at = this.target(schema)
    if (at?.type === "integer" || at?.type === "number") return undefined
    const units = this.members(at).map((member) => this.unitOf(member))
    return units.find((unit) => unit !== null) ?? (units.includes(undefined) ? undefined : null)
  }

  private isScalar(schema: Json): boolean {
    const at = this.target(schema)
    if (at?.type === "object" || at?.type === "array") return false
    return this.members(at).every((member) => this.isScalar(member))
  }

  /** Meaning, unit and example of one field; `path` is that of the record it belongs to. */
  field(path: string, name: string, field: Json): void {
    const [meaning, glossaryUnit, glossaryExample] = glossary[`${path}.${name}`] ?? glossary[name] ?? []
    const form = nameOf(field)
    const at = this.target(field)
    const standing = form !== undefined && !forms.has(form) ? at?.description : undefined
    const text: string | undefined = field.description ?? standing ?? meaning ?? at?.description
    const formUnit = this.unitOf(field)
    const unit = formUnit === null ? (form === undefined ? glossaryUnit : undefined) : (formUnit ?? glossaryUnit)
    if (text !== undefined) field.description = unit === undefined ? text : `${text} [${unit}]`
    if (unit !== undefined) field["x-unit"] = unit
    if (!this.isScalar(field) || field.examples !== undefined) return
    const example =
      this.shown.get(field) ??
      (form !== undefined && at?.examples?.length > 0 && glossaryExample === undefined ? at.examples[0] : undefined) ??
      at?.enum?.[0] ??
      glossaryExample ??
      (at?.type === "boolean" ? false : undefined) ??
      this.members(at).flatMap((member) => this.target(member)?.enum ?? this.target(member)?.examples ?? [])[0]
    if (example !== undefined) field.examples = [example]
  }

  /** Every field of a schema and of the objects inside it. */
  record(path: string, schema: Json): void {
    for (const [name, field] of Object.entries<Json>(schema?.properties ?? {})) {
      this.field(path, name, field)
      this.record(`${path}.${name}`, field)
    }
    if (schema?.items !== undefined) this.record(path, schema.items)
    for (const member of this.members(schema)) this.record(path, member)
  }

  parameter(operation: string, parameter: Json): void {
    const { schema } = parameter
    this.field(operation, parameter.name, schema)
    parameter.description ??= schema.description
    if (schema.examples !== undefined) parameter.example ??= schema.examples[0]
  }
}

/** Reasons of an operation by HTTP status. */
export type ReasonsOf = (method: string, path: string) => ReadonlyMap<number, ReadonlyArray<Reason>>

/** The body of an error, by its reason. */
const exampleOf = (reason: Reason, status: number): Json => ({
  summary: textOf(reason),
  value: {
    code: status === 400 && httpStatusOf(reason) === 401 ? "BAD_REQUEST" : codeOf(reason),
    message: textOf(reason),
    details: { reason },
    request_id: "req-1"
  }
})

/** Lists the reasons of an error status, each with an example body. */
const withReasons = (response: Json, status: number, reasons: ReadonlyArray<Reason>, examples: Schemas): Json => ({
  ...response,
  description: `${response.description}: ${reasons.map((reason) => `\`${reason}\``).join(", ")}`,
  "x-reasons": reasons,
  content: Object.fromEntries(
    Object.entries<Json>(response.content).map(([type, media]) => [
      type,
      {
        ...media,
        examples: Object.fromEntries(
          reasons.map((reason) => {
            const name = status === 400 && httpStatusOf(reason) === 401 ? `${reason}AsBadRequest` : reason
            examples[name] = exampleOf(reason, status)
            return [reason, { $ref: `#/components/examples/${name}` }]
          })
        )
      }
    ])
  )
})

/** Says once what many operations answer alike: their errors, under the name of the error. */
const shared = (operations: ReadonlyArray<Json>): Schemas => {
  const responses: Schemas = {}
  const names = new Map<string, string>()
  const nameFor = (response: Json): string => {
    const text = JSON.stringify(response)
    const known = names.get(text)
    if (known !== undefined) return known
    const base = nameOf(response.content["application/json"].schema)!
    let name = base
    for (let i = 2; responses[name] !== undefined; i++) name = `${base}${i}`
    names.set(text, name)
    responses[name] = response
    return name
  }
  for (const op of operations) {
    for (const [status, response] of Object.entries<Json>(op.responses)) {
      if (response["x-reasons"] === undefined) continue
      op.responses[status] = { $ref: `#/components/responses/${nameFor(response)}` }
    }
  }
  return responses
}

/** Describes a document in place, all its references sound. */
export const describe = (document: Json, reasonsOf: ReasonsOf): Json => {
  const schemas: Schemas = document.components.schemas
  const describer = new Describer(schemas)
  const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, op]) => ({ path, method: method.toUpperCase(), op }))
  )
  const media = (holder: Json): ReadonlyArray<Json> => Object.values(holder?.content ?? {})
  for (const { op } of operations) {
    for (const each of [op.requestBody, ...Object.values<Json>(op.responses)].flatMap(media)) {
      if (each.example !== undefined) describer.learn(each.schema, each.example)
    }
  }
  for (const [name, schema] of Object.entries(schemas)) describer.record(name, schema)
  const examples: Schemas = {}
  for (const { method, op, path } of operations) {
    for (const parameter of op.parameters) describer.parameter(op.operationId, parameter)
    for (const each of [op.requestBody, ...Object.values<Json>(op.responses)].flatMap(media)) {
      if (nameOf(each.schema) === undefined) describer.record(op.operationId, each.schema)
    }
    const reasons = reasonsOf(method, path)
    for (const [status, response] of Object.entries<Json>(op.responses)) {
      const refused = reasons.get(Number(status))
      const isError = Number(status) >= 400 && path.startsWith("/api/")
      const told =
        isError && refused !== undefined
          ? withReasons(response, Number(status), refused, examples)
          : Number(status) < 300
            ? { ...response, description: op.summary }
            : response
      op.responses[status] = { ...told, headers: headersOf({ method, path, status: Number(status), op }) }
    }
  }
  document.components.responses = shared(operations.map(({ op }) => op))
  document.components.examples = Object.fromEntries(Object.entries(examples).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const used = JSON.stringify([document.paths, document.components.responses])
  document.components.headers = Object.fromEntries(
    Object.entries(headers).filter(([name]) => used.includes(`"#/components/headers/${name}"`))
  )
  return document
}
