import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../../../src/backend/engine/", import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"))

describe("the engine", () => {
  it("has all of its rooms", () => {
    assert.includeMembers(files, ["Engine.ts", "state/State.ts", "sequencer/Matching.ts", "referee/Liquidation.ts"])
  })

  it.each(files)("uses no clock, randomness or I/O: %s", (file) => {
    const text = readFileSync(`${root}${file}`, "utf8")
    assert.notMatch(text, /\bDate\b|Math\.random|performance\.|process\.|setTimeout|await /u)
    const imports = [...text.matchAll(/from "([^"]+)"/gu)].map((match) => match[1]!)
    assert.deepStrictEqual(
      imports.filter((path) => !path.startsWith(".") && !path.startsWith("@noble/hashes/")),
      []
    )
  })
})
