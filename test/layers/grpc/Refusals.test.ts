/** The gateway's error for each reason that a backend refuses with. Source: docs/contract/boundary.md#errors. */
import { status } from "@grpc/grpc-js"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { codeOf, isReason, type Reason, statusOf } from "../../../src/domain/Reason.ts"
import { errorOf } from "../../../src/layers/grpc/GrpcSequencer.ts"
import { CommandRefused } from "../../../src/services/Sequencer.ts"

/** Every `Code.X, "Reason"` in the source of the embedded backend, across line breaks. */
const written = readdirSync("src/backend", { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .flatMap((path) => {
    const text = readFileSync(join("src/backend", path), "utf8")
    return [
      ...text.matchAll(/Code\.([A-Z_]+),\s*"([A-Za-z]+)"/gu),
      ...text.matchAll(/Code\.([A-Z_]+),\s*message,\s*"([A-Za-z]+)"/gu)
    ].map(([, code, reason]) => ({ code: code!, reason: reason!, path }))
  })
/** Helpers that take the reason alone, and the reasons of the rules of orders. */
const helpers = [
  ...readFileSync("src/backend/engine/referee/SubAccounts.ts", "utf8").matchAll(/no\("([A-Za-z]+)"/gu)
].map(([, reason]) => ({ code: "FAILED_PRECONDITION", reason: reason!, path: "referee/SubAccounts.ts" }))
const rules = [...readFileSync("src/domain/OrderRules.ts", "utf8").matchAll(/^ {2}\| "([A-Za-z]+)"$/gmu)].map(
  ([, reason]) => ({ code: "INVALID_ARGUMENT", reason: reason!, path: "OrderRules.ts" })
)

const classes: Record<string, ReadonlyArray<number>> = {
  INVALID_ARGUMENT: [400],
  OUT_OF_RANGE: [400],
  NOT_FOUND: [404],
  ALREADY_EXISTS: [409],
  ABORTED: [409],
  // 409, or the status of the reason in the catalogue
  FAILED_PRECONDITION: [409, 400, 403]
}
const refusal = (code: number, reason: string, metadata: Record<string, string> = {}) =>
  errorOf({ command_id: "c", code, message: "why", reason, metadata })

describe("the reasons of the embedded backend", () => {
  it("are found in its source", () => {
    assert.isAtLeast(written.length, 30)
    assert.lengthOf(rules, 7)
    assert.sameMembers(
      helpers.map(({ reason }) => reason),
      ["PositionExists", "OpenOrdersExist", "NotEmpty"]
    )
  })

  it("are all in the catalogue, with a matching status", () => {
    for (const { code, reason, path } of [...written, ...helpers, ...rules]) {
      if (code === "UNIMPLEMENTED") continue
      const where = `${path}: ${code} ${reason}`
      if (code === "UNAVAILABLE" || code === "RESOURCE_EXHAUSTED") {
        const tag = reason === "Overloaded" ? "Overloaded" : "SequencerUnavailable"
        assert.strictEqual(refusal(status[code], reason)._tag, tag, where)
        continue
      }
      assert.isTrue(isReason(reason), where)
      const error = refusal(status[code as "ABORTED"], reason, { field: "f" })
      assert.instanceOf(error, CommandRefused, where)
      assert.strictEqual(error.reason, reason, where)
      assert.deepStrictEqual(error.details, { field: "f" })
      assert.include(classes[code] ?? [], statusOf[codeOf(reason as Reason)], where)
    }
  })
})

describe("a refusal", () => {
  it("has counts as numbers and amounts as text", () => {
    const facts = (reason: string, metadata: Record<string, string>) => {
      const error = refusal(status.FAILED_PRECONDITION, reason, metadata)
      assert.instanceOf(error, CommandRefused)
      return error.details
    }
    assert.deepStrictEqual(facts("LimitReached", { max: "20" }), { max: 20 })
    assert.deepStrictEqual(facts("OrderVersionMismatch", { version: "2" }), { version: 2 })
    // JSON would have null
    for (const max of ["NaN", "", "2.5", "many"]) assert.deepStrictEqual(facts("LimitReached", { max }), {})
    assert.deepStrictEqual(facts("InsufficientBalance", { max: "20" }), { max: "20" })
  })

  it("is InvalidField for a bad argument without a known reason; any other unknown reason is a fault of the backend", () => {
    assert.deepInclude(refusal(status.INVALID_ARGUMENT, "Odd"), { reason: "InvalidField" })
    assert.strictEqual(refusal(status.FAILED_PRECONDITION, "Odd")._tag, "SequencerFault")
    for (const code of [
      status.UNAUTHENTICATED,
      status.PERMISSION_DENIED,
      status.INTERNAL,
      status.UNKNOWN,
      status.DATA_LOSS,
      status.UNIMPLEMENTED
    ])
      assert.strictEqual(refusal(code, "")._tag, "SequencerFault")
  })

  it("states whether a command may have been sequenced", () => {
    for (const code of [status.UNAVAILABLE, status.RESOURCE_EXHAUSTED])
      assert.strictEqual(refusal(code, "")._tag, "SequencerUnavailable")
    for (const code of [status.DEADLINE_EXCEEDED, status.CANCELLED])
      assert.strictEqual(refusal(code, "")._tag, "OutcomeUnknown")
  })
})
