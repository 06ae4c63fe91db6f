import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { fieldsOf, nearest } from "../../src/domain/NearestName.ts"

const known = new Set(["reduce_only", "qty", "order_link_id", "sl_size", "tp_size"])

describe("the name that a misspelt one means", () => {
  it("differs in case and underscores only", () => {
    for (const name of ["reduceOnly", "REDUCE_ONLY", "reduceonly", "reduce__only"])
      assert.strictEqual(nearest(name, known), "reduce_only")
    assert.strictEqual(nearest("orderLinkID", known), "order_link_id")
  })

  it("differs by at most two letters that are put in, left out, replaced or swapped", () => {
    for (const name of ["reduce_onl", "reduce_ony", "rreduce_onlly", "redece_onli", "reduce_olny"])
      assert.strictEqual(nearest(name, known), "reduce_only", name)
    for (const name of ["reduce", "rrreduce_onlly", "rid_onli", "", "price"])
      assert.isUndefined(nearest(name, known), name)
  })

  it("is the nearest of several, and the first of equally near ones", () => {
    assert.strictEqual(nearest("tp_siz", known), "tp_size")
    assert.strictEqual(nearest("sp_size", known), "sl_size")
    assert.strictEqual(nearest("sp_size", new Set([...known].toReversed())), "tp_size")
  })

  it("is as near as the caller says", () => {
    assert.strictEqual(nearest("qtyy", known, 1), "qty")
    assert.isUndefined(nearest("qtyyy", known, 1))
    assert.isUndefined(nearest("qtyy", known, 0))
    assert.strictEqual(nearest("Qty", known, 0), "qty")
  })
})

describe("the fields of schemas", () => {
  it("are those of objects, lists, unions and of what refers to itself, as they are encoded", () => {
    interface Tree {
      readonly branch?: Tree | undefined
    }
    const Tree: Schema.Codec<Tree> = Schema.Struct({ branch: Schema.optional(Schema.suspend(() => Tree)) })
    const found = fieldsOf([
      Schema.Struct({
        one: Schema.String,
        list: Schema.Array(Schema.Struct({ two: Schema.Number })),
        pair: Schema.Tuple([Schema.Struct({ three: Schema.Number })]),
        either: Schema.Union([Schema.Struct({ four: Schema.String }), Schema.Struct({ five: Schema.String })])
      }),
      Tree,
      Schema.Struct({ time: Schema.DateTimeUtcFromString })
    ])
    assert.sameMembers([...found], ["one", "list", "two", "pair", "three", "either", "four", "five", "branch", "time"])
  })
})
