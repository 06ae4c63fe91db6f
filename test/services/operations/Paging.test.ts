import { assert, describe, it } from "@effect/vitest"
import { DAY_MS } from "../../../src/domain/Time.ts"
import { DomainError } from "../../../src/services/DomainError.ts"
import { spanOf } from "../../../src/services/operations/Paging.ts"

const now = 1_767_225_600_000

describe("the bounds of a history query", () => {
  it("are open if none is given", () => assert.deepStrictEqual(spanOf({}, now), {}))
  it("default to now as the end, and to 7 days before the end as the start", () => {
    assert.deepStrictEqual(spanOf({ start_time: now - 5 }, now), { start: now - 5, end: now })
    assert.deepStrictEqual(spanOf({ end_time: now }, now + 9), { start: now - 7 * DAY_MS, end: now })
    assert.deepStrictEqual(spanOf({ end_time: 5 }, now), { start: 0, end: 5 })
  })
  it("accept a start of 0 and any length", () => {
    assert.deepStrictEqual(spanOf({ start_time: 0 }, now), { start: 0, end: now })
    assert.deepStrictEqual(spanOf({ start_time: 0, end_time: now }, now), { start: 0, end: now })
    assert.deepStrictEqual(spanOf({ start_time: now - 91 * DAY_MS, end_time: now }, now), {
      start: now - 91 * DAY_MS,
      end: now
    })
  })
  it("may be one time, and are refused if the start is after the end", () => {
    assert.deepStrictEqual(spanOf({ start_time: 2, end_time: 2 }, now), { start: 2, end: 2 })
    const refused = spanOf({ start_time: 2, end_time: 1 }, now)
    assert.instanceOf(refused, DomainError)
    assert.deepInclude(refused, { reason: "OutOfRange", details: { field: "start_time", max: 1 } })
  })
})
