import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../../../src/backend/", import.meta.url))
const files = ["Engine.ts", "State.ts", "Turn.ts", "Records.ts", "Reads.ts"].concat(
  ["sequencer", "referee"].flatMap((room) => readdirSync(`${root}${room}`).map((name) => `${room}/${name}`))
)

describe("the engine", () => {
  it.each(files)("knows no clock, no chance and no outside: %s", (file) => {
    const text = readFileSync(`${root}${file}`, "utf8")
    assert.notMatch(text, /\bDate\b|Math\.random|performance\.|process\.|setTimeout|await /u)
    const imports = [...text.matchAll(/from "([^"]+)"/gu)].map((match) => match[1]!)
    assert.deepStrictEqual(
      imports.filter((path) => !path.startsWith(".") && !path.startsWith("@noble/hashes/")),
      []
    )
  })
})
