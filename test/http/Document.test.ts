/** The document is the truth: nothing in it is left unsaid, and what it says of a value holds of its examples. */
import { assert, describe, it } from "vitest"
import { Api } from "../../src/http/api/Api.ts"
import { openApi } from "../../src/http/api/OpenApiDocument.ts"
import { endpointsOf, errorsOf, operationOf } from "../../src/http/api/EndpointErrors.ts"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any
const document: Json = openApi()
const { components, paths }: Json = document

const lookUp = (ref: string): Json =>
  ref
    .slice(2)
    .split("/")
    .reduce((at: Json, key) => at[key], document)
/** A schema with what it refers to, its own words first. */
const resolved = (schema: Json): Json =>
  schema?.$ref === undefined ? (schema ?? {}) : { ...resolved(lookUp(schema.$ref)), ...schema }
const membersOf = (schema: Json): ReadonlyArray<Json> => [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]

/** Whether a value is a number to a reader: a JSON number, or decimal text. */
const isNumber = (schema: Json): boolean => {
  if (/\/(?:Signed)?Decimal$|\/(?:Digit)?Millis$/u.test(schema.$ref ?? "")) return true
  const { type } = resolved(schema)
  return type === "integer" || type === "number" || membersOf(resolved(schema)).some(isNumber)
}
const isScalar = (schema: Json): boolean => {
  const { type, not } = resolved(schema)
  return type !== "object" && type !== "array" && not === undefined && membersOf(resolved(schema)).every(isScalar)
}

const fits = (schema: Json, value: unknown): boolean => {
  const { enum: choices, maximum, minimum, pattern, type } = resolved(schema)
  const members = membersOf(resolved(schema))
  if (members.length > 0) return members.some((member) => fits(member, value))
  if (choices !== undefined) return choices.includes(value)
  if (type === "integer" || type === "number") {
    return typeof value === "number" && !(value < minimum) && !(value > maximum)
  }
  if (type === "string")
    return typeof value === "string" && (pattern === undefined || new RegExp(pattern, "u").test(value))
  return type === undefined || type === "null" || typeof value === type
}

/** Every field of a schema and of the objects in it, by its path. */
const fieldsOf = (path: string, schema: Json): ReadonlyArray<readonly [path: string, field: Json]> => [
  ...Object.entries<Json>(schema?.properties ?? {}).flatMap(([name, field]) => [
    [`${path}.${name}`, field] as const,
    ...fieldsOf(`${path}.${name}`, field)
  ]),
  ...(schema?.items === undefined ? [] : fieldsOf(path, schema.items)),
  ...membersOf(schema ?? {}).flatMap((member) => fieldsOf(path, member))
]

const operations = Object.entries<Json>(paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, op]) => ({ key: `${method.toUpperCase()} ${path}`, op }))
)
const fields = [
  ...Object.entries<Json>(components.schemas).flatMap(([name, schema]) => fieldsOf(name, schema)),
  ...operations.flatMap(({ key, op }) => [
    ...(op.parameters as ReadonlyArray<Json>).map(
      (each) => [`${key}?${each.name}`, { ...each.schema, description: each.description }] as const
    ),
    ...Object.values<Json>(op.responses).flatMap((response) =>
      Object.values<Json>(response.content ?? {}).flatMap(({ schema }) => fieldsOf(key, schema))
    )
  ])
]

/** What is wrong with a field; the way out is `field` or `measure` in its schema. */
const faultsOf = ([path, field]: readonly [string, Json]): ReadonlyArray<string> => {
  const { description, examples, "x-unit": unit } = field
  const example = examples?.[0]
  return [
    ...(typeof description === "string" && description.length > 2 ? [] : [`${path}: no description`]),
    ...(isNumber(field) && isScalar(field) && typeof unit !== "string" ? [`${path}: no unit`] : []),
    ...(typeof unit === "string" && !description?.endsWith(`[${unit}]`)
      ? [`${path}: the unit is not in the text`]
      : []),
    ...(isScalar(field) && example === undefined ? [`${path}: no example`] : []),
    ...(isScalar(field) && example !== undefined && !fits(field, example) ? [`${path}: ${example} does not fit`] : [])
  ]
}

describe("the document", () => {
  it(`describes each of its ${fields.length} fields, with unit and example`, () => {
    assert.isAbove(fields.length, 300)
    assert.deepStrictEqual(fields.flatMap(faultsOf), [], "annotate the field in its schema (domain/Field.ts)")
  })
  it("says what a figure is: the unit of a volume, the parts of an equity, whether a code is revoked", () => {
    const { AccessCode, Balance, Statistics } = components.schemas
    for (const name of ["volume", "maker_volume", "taker_volume"])
      assert.strictEqual(Statistics.properties[name]["x-unit"], "quote asset", name)
    assert.include(Balance.properties.equity.description, "isolated_margin")
    assert.notInclude(AccessCode.properties.revoked.description, "Always true")
  })
  it("would find a field without annotations", () => {
    assert.deepStrictEqual(faultsOf(["A.b", { type: "integer" }]), [
      "A.b: no description",
      "A.b: no unit",
      "A.b: no example"
    ])
    assert.deepStrictEqual(faultsOf(["A.b", { type: "string", description: "Text", enum: ["x"], examples: ["y"] }]), [
      "A.b: y does not fit"
    ])
  })

  it("lists the reasons of every error under /api/v1, each with its body", () => {
    for (const { key, op } of operations) {
      if (!key.includes("/api/v1/")) continue
      for (const [status, answer] of Object.entries<Json>(op.responses)) {
        if (Number(status) < 400) continue
        const response = resolved(answer)
        const reasons: ReadonlyArray<string> = response["x-reasons"] ?? []
        assert.isNotEmpty(reasons, `${key} ${status}`)
        for (const reason of reasons) assert.include(response.description, `\`${reason}\``)
        const { examples, schema } = response.content["application/json"]
        for (const reason of reasons) {
          const { value } = resolved(examples[reason])
          assert.strictEqual(value.details.reason, reason)
          assert.deepStrictEqual(resolved(schema).properties.code.enum, [value.code], `${key} ${status} ${reason}`)
        }
      }
    }
  })
  it("declares a status for every own reason of an operation", () => {
    const endpoints = endpointsOf(Api)
    const silent = operations.flatMap(({ key, op }) => {
      const [method, path] = key.split(" ") as [string, string]
      const endpoint = endpoints.get(operationOf({ method, path }))
      // the documents themselves are no endpoints
      const own = endpoint === undefined ? [] : errorsOf(endpoint).own
      return own.filter(({ status }) => op.responses[status] === undefined).map(({ reason }) => `${key}: ${reason}`)
    })
    assert.deepStrictEqual(silent, [])
  })

  it("describes the headers of every response", () => {
    for (const { key, op } of operations) {
      for (const [status, answer] of Object.entries<Json>(op.responses)) {
        const names = Object.keys(resolved(answer).headers)
        assert.includeMembers(names, ["X-Request-Id", "Cache-Control"], key)
        if (op.responses["429"] !== undefined) assert.include(names, "RateLimit-Remaining", key)
        if ((status === "429" || status === "503") && key !== "GET /ready") assert.include(names, "Retry-After", key)
        if (status === "401") assert.include(names, "WWW-Authenticate", key)
      }
    }
    for (const header of Object.values<Json>(components.headers)) {
      assert.isNotEmpty(header.description)
      assert.isTrue(fits(header.schema, header.example), header.description)
    }
  })
  it("names every operation, group and security scheme that it uses, without dots", () => {
    for (const { key, op } of operations) {
      assert.match(op.operationId, /^[a-z][A-Za-z]+$/u, key)
      for (const requirement of op.security) {
        for (const name of Object.keys(requirement)) assert.property(components.securitySchemes, name, key)
      }
    }
    for (const { name, description } of document.tags) assert.isNotEmpty(description, name)
  })
  it("has no dangling reference and no unused component", () => {
    const refs = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/gu)].map((match) => match[1]!))
    for (const ref of refs) assert.isDefined(lookUp(ref), ref)
    for (const kind of ["schemas", "responses", "examples"]) {
      for (const name of Object.keys(components[kind])) assert.isTrue(refs.has(`#/components/${kind}/${name}`), name)
    }
  })
})
