/** Query parameters that an endpoint does not know. */
import { Effect } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { asked, type Json, operations } from "./Asked.ts"
import { ADMIN, gateway } from "./Fixture.ts"

describe("an unknown query parameter", () => {
  const rest = gateway()
  afterAll(() => rest.dispose())

  for (const operation of operations) {
    it(`Amendment 15: is refused by ${operation.method} ${operation.path}, with what it knows`, async () => {
      const { ask, method, target } = asked(operation)
      const known = (operation.op.parameters as ReadonlyArray<Json>)
        .filter((parameter) => parameter.in === "query")
        .map((parameter) => String(parameter.name))
      const refusalOf = async (name: string) => {
        const response = await rest.fetch(method, `${target}${target.includes("?") ? "&" : "?"}${name}=1`, ask)
        assert.strictEqual(response.status, 400, name)
        return (await response.json()) as Json
      }
      const foreign = await refusalOf("colour_of_money")
      assert.strictEqual(foreign.code, "BAD_REQUEST")
      assert.sameMembers(foreign.details.known, known)
      const { known: _, ...details } = foreign.details
      assert.deepStrictEqual(details, { reason: "UnknownParameter", field: "colour_of_money" })
      assert.include(foreign.message, '"colour_of_money"')
      for (const name of known) {
        // a slip of the keys, and another case
        for (const misspelt of [`${name}z`, name.replace(/_(.)/u, (_, letter: string) => letter.toUpperCase())]) {
          if (known.includes(misspelt)) continue
          const { details, message } = await refusalOf(misspelt)
          assert.deepInclude(details, { reason: "UnknownParameter", field: misspelt, nearest: [name] })
          assert.include(message, `did you mean ${name}?`)
        }
      }
      // an empty value means that a known parameter is absent; an unknown one stays unknown
      assert.strictEqual((await refusalOf("")).details.reason, "UnknownParameter")
    })
  }

  it("Amendment 15: is repeated cut and escaped", async () => {
    const name = `%07%E2%80%AE${"a".repeat(500)}`
    const response = await rest.fetch("GET", `/api/v1/market/tickers?${name}=1`)
    const { details, message } = (await response.json()) as Json
    assert.strictEqual(details.field, `\\u{7}\\u{202e}${"a".repeat(53)}…`)
    assert.isBelow(message.length, 300)
    assert.notMatch(message, /[\p{Cc}\p{Cf}]/u)
  })

  it("Amendment 15: is refused after the credentials", async () => {
    const response = await rest.fetch("GET", "/api/v1/order/history?colour=1", { authorization: "Bearer bad" })
    assert.strictEqual(response.status, 401)
  })
})

describe("a number of a query", () => {
  const rest = gateway()
  afterAll(() => rest.dispose())
  const taken = operations.flatMap((operation) =>
    ((operation.op.parameters ?? []) as ReadonlyArray<Json>)
      .filter((parameter) => parameter.in === "query" && parameter.schema.type === "integer")
      .map((parameter) => ({ operation, name: String(parameter.name) }))
  )

  it("is written in digits only", { timeout: 120_000 }, async () => {
    assert.isAbove(taken.length, 20)
    for (const { name, operation } of taken) {
      const { ask, method, target } = asked(operation)
      const answerTo = async (value: string) => {
        const [path, query = ""] = target.split("?")
        const others = query.split("&").filter((pair) => pair !== "" && !pair.startsWith(`${name}=`))
        const response = await rest.fetch(method, `${path}?${[...others, `${name}=${value}`].join("&")}`, ask)
        return { status: response.status, body: (await response.json()) as Json }
      }
      for (const value of ["1e1", "5.0", "%2B5", "5.", "0x5", "%205"]) {
        const { body, status } = await answerTo(value)
        assert.strictEqual(status, 400, `${operation.path} ${name}=${value}`)
        assert.deepInclude(body.details, { reason: "InvalidField", field: name })
      }
      const { body, status } = await answerTo("5")
      assert.isFalse(status === 400 && body.details.field === name, `${operation.path} ${name}=5: ${body.message}`)
    }
  })
})

describe("a value of a query", () => {
  it("is absent where it is empty, also where it is a number", async () => {
    const { dispose, fetch } = gateway()
    for (const query of ["limit=", "limit", "limit=&side=", "order_status="]) {
      assert.strictEqual((await fetch("GET", `/api/v1/order/history?${query}`)).status, 200, query)
    }
    await dispose()
  })

  it("has spaces as + or %20", async () => {
    const labels: Array<string | undefined> = []
    const { dispose, fetch } = gateway({
      accessCodes: {
        list: ({ label }) => {
          labels.push(label)
          return Effect.succeed([])
        }
      }
    })
    for (const query of ["label=a+b", "label=a%20b", "label=a%2Bb"]) {
      await fetch("GET", `/api/v1/admin/access-codes?${query}`, { authorization: ADMIN })
    }
    assert.deepStrictEqual(labels, ["a b", "a b", "a+b"])
    await dispose()
  })
})
