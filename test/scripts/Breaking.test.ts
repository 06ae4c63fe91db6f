import { assert, describe, it } from "vitest"
import { announced, breaksOf, lastVersion, present } from "../../scripts/breaking.ts"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** The present document with something changed in it. */
const changed = (change: (document: Json) => void): Json => {
  const document = present()
  change(document)
  return document
}
const create = (document: Json): Json => document.components.schemas.CreateOrderBody
const order = (document: Json): Json => document.components.schemas.Order
const history = (document: Json): Json => document.paths["/api/v1/order/history"].get
const named = (op: Json, name: string): Json => op.parameters.find((each: Json) => each.name === name)

describe("breaking changes", () => {
  it("are those that are announced since the last version", () => {
    const { document, from } = lastVersion()
    assert.deepStrictEqual(breaksOf(document, present()), announced, `since ${from}: a new version of the path is due`)
  })

  const breaking: ReadonlyArray<readonly [what: string, change: (document: Json) => void, expected: RegExp]> = [
    ["an operation that is gone", (d) => delete d.paths["/api/v1/user/me"].get, /^GET \/api\/v1\/user\/me: is gone$/u],
    ["an operation of another name", (d) => (history(d).operationId = "orders"), /is called orders$/u],
    ["a field of an answer that is gone", (d) => delete order(d).properties.qty, /\.qty: is gone$/u],
    ["a field of a body that is gone", (d) => delete create(d).properties.price, /body\.price: is gone$/u],
    ["a parameter that is gone", (d) => history(d).parameters.pop(), /history\?\w+: is gone$/u],
    ["a field that is required now", (d) => create(d).required.push("price"), /\.price: is required now$/u],
    [
      "a parameter that is required now",
      (d) => (named(history(d), "symbol").required = true),
      /symbol: is required now$/u
    ],
    ["a field that may be absent now", (d) => order(d).required.shift(), /may be absent now$/u],
    ["a value that is taken no more", (d) => d.components.schemas.Side.enum.pop(), /Sell is taken no more$/u],
    [
      "a value that is answered no more",
      (d) => d.components.schemas.OrderStatus.enum.pop(),
      /Expired is answered no more$/u
    ],
    ["another type", (d) => (order(d).properties.version.type = "string"), /was integer and is string$/u],
    ["a closer bound", (d) => (named(history(d), "limit").schema.maximum = 100), /maximum was 200 and is 100$/u],
    ["a closer form", (d) => (d.components.schemas.OrderLinkId.pattern = "^a$"), /the form .* is \^a\$$/u],
    ["an answer of another status", (d) => delete history(d).responses["200"], /200 is answered no more$/u],
    ["a way in that is closed", (d) => history(d).security.pop(), /api_key.* is taken no more$/u],
    [
      "credentials that are asked for",
      (d) => (d.paths["/api/v1/market/time"].get.security = [{ bearer: [] }]),
      /are asked for now$/u
    ]
  ]
  for (const [what, change, expected] of breaking) {
    it(`name ${what}`, () => {
      const breaks = breaksOf(present(), changed(change))
      assert.isTrue(
        breaks.some((each) => expected.test(each)),
        breaks.join("\n")
      )
    })
  }

  const sound: ReadonlyArray<readonly [what: string, change: (document: Json) => void]> = [
    ["an operation that is new", (d) => (d.paths["/api/v1/new"] = d.paths["/api/v1/user/me"])],
    ["an optional field that is new", (d) => (create(d).properties.more = { type: "string" })],
    ["a field of an answer that is new", (d) => (order(d).properties.more = { type: "string" })],
    ["a value that is answered too", (d) => d.components.schemas.OrderStatus.enum.push("Paused")],
    ["a wider bound", (d) => (named(history(d), "limit").schema.maximum = 500)],
    ["a reason that is new", (d) => (d.components.responses.NotFound["x-reasons"] = ["Other"])],
    ["words that are better", (d) => (order(d).properties.qty.description = "Better")]
  ]
  for (const [what, change] of sound) {
    it(`are not ${what}`, () => assert.deepStrictEqual(breaksOf(present(), changed(change)), []))
  }
})
