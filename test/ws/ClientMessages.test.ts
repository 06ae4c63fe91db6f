/** What a client message means, and what is wrong with it. */
import { assert, describe, it } from "@effect/vitest"
import { read } from "../../src/ws/ClientMessages.ts"

const subscribe = (since: unknown) => read(JSON.stringify({ op: "subscribe", args: ["order"], since, req_id: "r" }))

describe("a client message", () => {
  it("resumes after any position, the first one included", () => {
    for (const seq of [0, 1, Number.MAX_SAFE_INTEGER]) {
      const since = { stream_id: "s", seq }
      assert.deepStrictEqual(subscribe(since), { op: "subscribe", args: ["order"], since, req_id: "r" })
    }
  })

  it("has at most 50 topics, and a req_id of at most 64 characters", () => {
    const message = (args: number, req_id: string) =>
      read(JSON.stringify({ op: "subscribe", args: Array.from({ length: args }, (_, i) => `topic ${i}`), req_id })).op
    assert.strictEqual(message(50, "x".repeat(64)), "subscribe")
    assert.strictEqual(message(51, "x"), "invalid")
    assert.strictEqual(message(1, "x".repeat(65)), "invalid")
  })

  it("that is wrong has its field, what is accepted, and its req_id", () => {
    for (const [since, field] of [
      [{ stream_id: "s", seq: -1 }, "since.seq"],
      [{ stream_id: "s", seq: 0.5 }, "since.seq"],
      [{ stream_id: "s" }, "since.seq"],
      [{ stream_id: 1, seq: 1 }, "since.stream_id"],
      ["1", "since"]
    ] as const) {
      const found = subscribe(since)
      assert.deepInclude(found, { op: "invalid", reason: "InvalidField", details: { field }, req_id: "r" })
      if (found.op === "invalid") assert.match(found.message, new RegExp(`^${field}: (?!undefined)\\S`, "u"))
    }
  })
})
