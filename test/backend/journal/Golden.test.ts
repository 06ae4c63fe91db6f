import { existsSync, readFileSync, statSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { differences, Engine, goldenFile } from "../../../scripts/golden-journal/Golden.ts"

describe(`the golden journal of rules ${Engine.RULES}`, () => {
  const file = goldenFile(Engine.RULES)

  it("exists, and is small", () => {
    assert.isTrue(existsSync(file), `run "node scripts/golden-journal.ts" once for rules of a new name`)
    assert.isBelow(statSync(file).size, 32_000)
  })

  it("replays to the same results, events and hashes; otherwise the rules have changed and need a new name", () => {
    assert.deepStrictEqual(differences(readFileSync(file, "utf8")), [])
  })

  it("is sensitive to a single command", () => {
    const lines = readFileSync(file, "utf8").trim().split("\n")
    lines.splice(40, 1)
    assert.isAbove(differences(lines.join("\n")).length, 0)
  })
})
