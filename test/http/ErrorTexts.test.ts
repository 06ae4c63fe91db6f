/** Every refusal of a field names it, repeats what was given and says what is accepted. */
import { writeFileSync } from "node:fs"
import { afterAll, assert, describe, it } from "vitest"
import { given, isSecret, GIVEN_MAX } from "../../src/domain/InputText.ts"
import { asked, document, type Json, type Operation, operations } from "./Asked.ts"
import { gateway, v1 } from "./Fixture.ts"

const MESSAGE_MAX = 300

const resolve = (schema: Json): Json =>
  schema?.$ref === undefined ? schema : resolve(document.components.schemas[schema.$ref.split("/").at(-1)])

type Path = ReadonlyArray<string | number>
/** Every field of a body, those inside objects and lists as well, with its schema. */
const fieldsOf = (schema: Json, path: Path = []): ReadonlyArray<{ readonly path: Path; readonly schema: Json }> => {
  const at = resolve(schema)
  if (at?.items !== undefined) {
    const item = [...path, 0]
    return [{ path: item, schema: resolve(at.items) }, ...fieldsOf(at.items, item)]
  }
  return [
    ...Object.entries<Json>(at?.properties ?? {}).flatMap(([name, field]) => [
      { path: [...path, name], schema: resolve(field) },
      ...fieldsOf(field, [...path, name])
    ]),
    ...(at?.anyOf ?? []).flatMap((member: Json) => fieldsOf(member, path))
  ]
}

/** Values that few fields accept; one that a field does accept is answered without a refusal of it. */
const bad: ReadonlyArray<unknown> = [
  true,
  -1,
  0,
  1.5,
  9e15,
  1e300,
  "x",
  "-1",
  "0.1234567890123456789",
  "999999999999999999999",
  "12.00000001",
  'a "quoted" \\ text',
  "\u0007\u202e",
  "🙂".repeat(40),
  "\u0007".repeat(100),
  "y".repeat(5_000),
  {},
  { a: 1 },
  [],
  [5],
  ["x"]
]

const without = (body: Json, path: Path): Json => put(body, path, undefined)
/** A copy with another value at a path; what is missing on the way is put in. */
const put = (body: Json, [key, ...rest]: Path, value: unknown): Json => {
  if (key === undefined) return value
  const copy = typeof key === "number" ? [...(body ?? [])] : { ...body }
  copy[key] = put(copy[key], rest, value)
  return copy
}

const texts = new Set<string>()
const hold = (field: string, value: unknown, { details, message }: Json, where: string): boolean => {
  const reported: string = details?.field ?? ""
  // the refusal of another field, or of the whole
  if (reported !== field && !reported.startsWith(`${field}.`)) return false
  texts.add(`${details.reason} ${message}`)
  const about = `${where} ${JSON.stringify(value)?.slice(0, 80)}: ${message}`
  assert.isAtMost(message.length, MESSAGE_MAX, about)
  assert.include(message, field, about)
  assert.match(message, /\bexpected \S/u, about)
  assert.notMatch(message, /RegExp|\bMillis\b|Expected |undefined/u, about)
  assert.notMatch(message, /[\p{Cc}\p{Cf}]/u, about)
  if (isSecret(field)) {
    assert.match(message, /, got a value that is not repeated$/u, about)
    if (typeof value === "string" && value.length > 3) assert.notInclude(message, value.slice(0, 30), about)
  } else if (reported === field) assert.isTrue(message.endsWith(`, got ${given(value)}`), about)
  return true
}

afterAll(() => {
  if (process.env["TEXTS"] !== undefined) writeFileSync(process.env["TEXTS"], [...texts].toSorted().join("\n"))
})
describe("the text of a refused field", () => {
  const rest = gateway()
  afterAll(() => rest.dispose())
  const refused = async (method: string, target: string, ask: Json) => {
    const response = await rest.fetch(method, target, ask)
    const answer = (await response.json()) as Json
    assert.isBelow(response.status, 500, `${method} ${target}: ${JSON.stringify(answer)}`)
    return answer
  }

  for (const operation of operations) {
    const parameters = (operation.op.parameters as ReadonlyArray<Json>).filter(({ in: at }) => at !== "header")
    const body = operation.op.requestBody?.content["application/json"].schema
    if (parameters.length === 0 && body === undefined) continue
    it(`names the field, the given and the accepted: ${operation.method} ${operation.path}`, async () => {
      let held = 0
      const { ask, method, target } = asked(operation)
      for (const { in: at, name } of parameters) {
        for (const value of bad.filter((value) => typeof value !== "object").map(String)) {
          const written = encodeURIComponent(value)
          if (at === "path" && value.length > 700) continue
          const [path, query = ""] = target.split("?")
          const others = query.split("&").filter((pair) => pair !== "" && !pair.startsWith(`${name}=`))
          const changed =
            at === "query"
              ? `${path}?${[...others, `${name}=${written}`].join("&")}`
              : withPath(operation, name, written, query)
          const answer = await refused(method, changed, ask)
          if (hold(name, value, answer, `${name} of ${method} ${target}`)) held++
        }
      }
      for (const { path } of fieldsOf(body)) {
        const field = path.join(".")
        for (const value of bad) {
          const answer = await refused(method, target, { ...ask, body: put(ask.body, path, value) })
          if (hold(field, value, answer, `${field} of ${method} ${target}`)) held++
        }
        if (typeof path.at(-1) === "number") continue
        const answer = await refused(method, target, { ...ask, body: without(ask.body, path) })
        if (answer.details?.field !== field) continue
        assert.strictEqual(answer.details.reason, "MissingField")
        assert.include(answer.message, field)
        assert.match(answer.message, /expected \S.*, got nothing$/u)
      }
      if (!UNREFUSED.has(operation.id)) assert.isAbove(held, 0, operation.id)
    })
  }

  it("repeats the given value in items of a batch", async () => {
    const order = { sub_account_address: v1, symbol: "BTC-USDC", side: "Buy", order_type: "Limit", price: "60000" }
    const answer = await refused("POST", "/api/v1/order/create-batch", {
      body: {
        orders: [
          { ...order, qty: "0.0001" },
          { ...order, symbol: "NO-USDC", qty: "0.5" }
        ]
      }
    })
    assert.deepStrictEqual(
      answer.list.map(({ message }: Json) => message),
      [
        'qty: expected a multiple of 0.001; nearest: 0.001, got "0.0001"',
        'symbol: expected the symbol of a market, such as BTC-USDC, got "NO-USDC"'
      ]
    )
  })

  it("repeats the refused one of several statuses", async () => {
    for (const [query, given] of [
      ["order_status=new", '"new"'],
      ["order_status=New,Filed", '"Filed"'],
      ["order_status=New,", '""'],
      ["order_status=New,Filled&order_status=x", '"x"'],
      ["order_status=New&order_status=Filled&order_status=x", '"x"'],
      ["order_status=New,Filed&order_status=Filled", '"Filed"']
    ]) {
      const { details, message } = await refused("GET", `/api/v1/order/history?${query}`, {})
      assert.strictEqual(details.reason, "InvalidField", query)
      assert.isTrue(message.endsWith(`, got ${given}`), message)
    }
  })

  it("cuts and escapes what was given", () => {
    assert.strictEqual(given("a".repeat(GIVEN_MAX)), `"${"a".repeat(GIVEN_MAX)}"`)
    assert.strictEqual(given("a".repeat(GIVEN_MAX + 1)), `"${"a".repeat(GIVEN_MAX)}…"`)
    assert.strictEqual(given('a"\\\u0007'), String.raw`"a\"\\\u{7}"`)
    assert.strictEqual(given("\u202e"), String.raw`"\u{202e}"`)
    // escapes count as the characters that they are written with
    assert.isAtMost(given("\u{10ffff}".repeat(500)).length, GIVEN_MAX + 3)
    assert.strictEqual(given([1, 2]), "a list of 2")
  })

  it("keeps secrets, wherever in a body they are", () => {
    for (const field of ["signature", "codes.0", "a.b.password", "verifying_key"]) assert.isTrue(isSecret(field), field)
    for (const field of ["symbol", "orders.0.qty", "code_id"]) assert.isFalse(isSecret(field), field)
  })
})

/** The target with another value of a path parameter. */
const withPath = (operation: Operation, name: string, written: string, query: string): string => {
  const marked = asked({ ...operation, path: operation.path.replace(`{${name}}`, "%MARK%") }).target
  const path = marked.split("?")[0]!.replace("%MARK%", written)
  return query === "" ? path : `${path}?${query}`
}

/** Operations that refuse no single field. */
const UNREFUSED: ReadonlySet<string> = new Set(["revokeAccessCode"])
