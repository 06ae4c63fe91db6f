import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { NAMESPACE, uuidV5 } from "../../../src/domain/Address.ts"
import { commandIdOf } from "../../../src/services/operations/Ids.ts"

describe("a command id", () => {
  it("is the UUID version 5 of kind, owner and id, whatever their characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), fc.string(), (kind, owner, id) => {
        assert.strictEqual(commandIdOf(kind, owner, id), uuidV5(NAMESPACE, `${kind}:${owner}:${id}`))
      })
    )
  })
})
