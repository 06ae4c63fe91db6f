/** The id of a request that must not act twice, over clicks on the same thing. */
import { assert, describe, it } from "vitest"
import { withRequestId } from "../../page/RequestId.ts"
import { ApiFailure } from "../../page/Rest.ts"

const unanswered = new ApiFailure(0, "NoAnswer", "the gateway does not answer")
const late = new ApiFailure(503, "DeadlineExceeded", "the trading backend did not answer in time")
const badGateway = new ApiFailure(502, "", "the gateway responded with status 502")
const refused = new ApiFailure(400, "NotMultipleOfTick", "price is not a multiple of the tick 0.1")
const throttled = new ApiFailure(429, "RateLimitExceeded", "Throttled")
const duplicate = new ApiFailure(409, "DuplicateOrderLinkId", "this order_link_id was used before")

/** Clicks on the same thing, each with an outcome: the ids that were sent, and the result of each click. */
const clicks = async (...outcomes: ReadonlyArray<Error | "done">) => {
  const confirmed = {}
  const ids: Array<string> = []
  const results: Array<boolean | Error> = []
  for (const outcome of outcomes) {
    const send = (id: string) => {
      ids.push(id)
      return outcome === "done" ? Promise.resolve() : Promise.reject(outcome)
    }
    results.push(await withRequestId(confirmed, send).catch((error: Error) => error))
  }
  return { ids: ids.map((id) => ids.indexOf(id)), results }
}

describe("the id of a request", () => {
  it("is the same again while the outcome is unknown", async () => {
    for (const lost of [unanswered, late, badGateway])
      assert.deepStrictEqual(await clicks(lost, lost, "done"), { ids: [0, 0, 0], results: [lost, lost, false] })
  })

  it("is another one after a success or a refusal", async () => {
    assert.deepStrictEqual(await clicks("done", "done"), { ids: [0, 1], results: [false, false] })
    assert.deepStrictEqual(await clicks(refused, "done"), { ids: [0, 1], results: [refused, false] })
    assert.deepStrictEqual((await clicks(unanswered, "done", "done")).ids, [0, 0, 2])
  })

  it("that the earlier request used up is a success, and the next click has another one", async () => {
    assert.deepStrictEqual(await clicks(unanswered, duplicate, "done"), {
      ids: [0, 0, 2],
      results: [unanswered, true, false]
    })
    assert.deepStrictEqual(await clicks(duplicate), { ids: [0], results: [duplicate] })
  })

  it("is kept where the repetition is refused, because the earlier request may still have acted", async () => {
    assert.deepStrictEqual(await clicks(unanswered, throttled, duplicate), {
      ids: [0, 0, 0],
      results: [unanswered, throttled, true]
    })
  })

  it("is another one for something else", async () => {
    const ids: Array<string> = []
    const send = (id: string) => Promise.reject(ids.push(id) > 0 ? unanswered : id)
    for (const confirmed of [{}, {}]) await withRequestId(confirmed, send).catch(() => {})
    assert.notStrictEqual(ids[0], ids[1])
  })
})
