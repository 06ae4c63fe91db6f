/** Warnings about variables that look like settings. */
import { assert, describe, it } from "vitest"
import { misspelt } from "../../src/domain/Setting.ts"

const known = new Set(["DATABASE_URL", "DATA_DIR", "RATE_PUBLIC", "HOST", "PORT"])
const warned = (...given: ReadonlyArray<string>) => misspelt(new Set(given), known)

describe("a variable", () => {
  it("that differs from a setting by a letter, by case or by an underscore is named with the setting", () => {
    for (const [name, meant] of [
      ["DATABSE_URL", "DATABASE_URL"],
      ["DATABASE_URI", "DATABASE_URL"],
      ["DATABASEE_URL", "DATABASE_URL"],
      ["RATE_PUBLC", "RATE_PUBLIC"],
      ["DATABASEURL", "DATABASE_URL"],
      ["rate_public", "RATE_PUBLIC"]
    ] as const)
      assert.deepStrictEqual(warned(name, "PATH"), [`${name} is no setting; did you mean ${meant}?`])
  })

  it("of another program is not named: a short one, one further off, and one beside the setting itself", () => {
    assert.deepStrictEqual(warned("HOME", "SORT", "PGPORT", "PGHOST", "DATABASE_USER", "HOST", "PORT"), [])
    assert.deepStrictEqual(warned("DATABASE_URI", "DATABASE_URL"), [])
  })
})
