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

  it("has a reason for a missing field, another for a wrong one, and another for no JSON object", () => {
    const reason = (message: unknown) => {
      const found = read(JSON.stringify(message))
      return found.op === "invalid" ? found.reason : found.op
    }
    for (const [message, expected] of [
      [[{ op: "ping" }], "MalformedJson"],
      [null, "MalformedJson"],
      ["ping", "MalformedJson"],
      [{}, "MissingField"],
      [{ op: null }, "MissingField"],
      [{ op: "" }, "InvalidField"],
      [{ op: 1 }, "InvalidField"],
      [{ op: "subscribe" }, "MissingField"],
      [{ op: "subscribe", args: "" }, "MissingField"],
      [{ op: "subscribe", args: "order" }, "InvalidField"],
      [{ op: "subscribe", args: [] }, "InvalidField"],
      [{ op: "subscribe", args: [5] }, "InvalidField"],
      [{ op: "subscribe", args: Array.from({ length: 51 }, String) }, "LimitReached"]
    ] as const)
      assert.strictEqual(reason(message), expected, JSON.stringify(message))
  })

  it("takes a blank field as an absent one", () => {
    const message = { op: "subscribe" as const, args: ["order"] }
    for (const blank of [{ since: null }, { since: "" }, { req_id: "" }])
      assert.deepStrictEqual(read(JSON.stringify({ ...message, ...blank })), message)
  })

  it("that is wrong names the field, what is accepted and what was given", () => {
    const refused = (message: object) => {
      const found = read(JSON.stringify(message))
      assert.strictEqual(found.op, "invalid")
      return found.op === "invalid" ? found.message : ""
    }
    for (const [message, text] of [
      [{}, "op: expected one of subscribe, unsubscribe, ping, auth, got nothing"],
      [{ op: "Subscribe" }, 'op: expected one of subscribe, unsubscribe, ping, auth, got "Subscribe"'],
      [{ op: "subscribe" }, "args: expected a list of 1 to 50 topics, got nothing"],
      [{ op: "unsubscribe", args: "order" }, 'args: expected a list of 1 to 50 topics, got "order"'],
      [{ op: "subscribe", args: [] }, "args: expected a list of 1 to 50 topics, got a list of 0"],
      [{ op: "subscribe", args: ["order", 5] }, "args.1: expected a topic as text, got 5"],
      [{ op: "ping", ts: "x" }, 'ts: expected a whole number, got "x"'],
      [{ op: "subscribe", args: ["order"], since_seq: -1 }, "since_seq: expected a whole number of at least 0, got -1"],
      [{ op: "subscribe", args: ["order"], since: { seq: 1 } }, "since.stream_id: expected text, got nothing"],
      // a token is not repeated
      [{ op: "auth", bearer: 77 }, "bearer: expected text, got a value that is not repeated"]
    ] as const)
      assert.strictEqual(refused(message), text)
  })
})
