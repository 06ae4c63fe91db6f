/** Each amendment of the contract that is in force has tests that carry its number. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

/** 1 to 25, and 30: the limit on commands in flight. */
const IN_FORCE = [...Array.from({ length: 25 }, (_, index) => index + 1), 30]
const TITLE = /\(\s*["'`]Amendments? (\d+)(?: and (\d+))?:/gu

it("have tests with their number", () => {
  const root = join(import.meta.dirname, "..")
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
  const named = new Set(
    files.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(TITLE)].flatMap(([, one, other]) => [one, other].map(Number))
    )
  )
  assert.deepStrictEqual(
    IN_FORCE.filter((number) => !named.has(number)),
    []
  )
})
