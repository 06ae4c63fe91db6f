import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { differences, Engine, fresh, goldenDirectory, goldenFile } from "../../../scripts/golden-journal/Golden.ts"
import { machine } from "../../../src/backend/engine/EngineMachine.ts"
import { memoryClientIdIndex } from "../../../src/backend/engine/state/ClientIdIndex.ts"

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

describe.each(machine.upgrades)("a snapshot that rules %s wrote", (rules) => {
  it("loads with the same state hash, so that a journal of these rules can continue", () => {
    const written = Buffer.from(readFileSync(join(goldenDirectory, `${rules}.snapshot.txt`), "utf8"), "base64")
    const last = readFileSync(goldenFile(rules), "utf8").trim().split(" ").at(-1)
    const { epoch, ...config } = fresh().config
    assert.strictEqual(machine.hash(machine.load(config, epoch, memoryClientIdIndex(), written)), last)
  })
})
