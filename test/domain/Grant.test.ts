import { assert, describe, it } from "@effect/vitest"
import { Grant } from "../../src/domain/Grant.ts"

describe("a grant that an effect holds", () => {
  it("calls back all that wait for its end, except those that no longer do", () => {
    const grant = new Grant("token", "user")
    const called: Array<string> = []
    assert.isTrue(grant.hold())
    assert.isTrue(grant.hold())
    grant.whenIdle(() => called.push("first"))
    const leave = grant.whenIdle(() => called.push("second"))
    grant.whenIdle(() => called.push("third"))
    leave()
    grant.release()
    assert.deepStrictEqual(called, [])
    grant.release()
    assert.deepStrictEqual(called, ["first", "third"])
    grant.whenIdle(() => called.push("at once"))
    assert.deepStrictEqual(called, ["first", "third", "at once"])
  })
})
