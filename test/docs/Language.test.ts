/** Banned phrases occur in no tracked text file. CONTRIBUTING.md has the rule: plain technical English. */
import { assert, describe, it } from "vitest"
import { textOf, tracked } from "./Pages.ts"

/** Literary or private phrases. Rewrite the sentence: a newcomer must understand it at first reading. */
const BANNED = [
  "whoever",
  "who comes",
  "who asks",
  "is told",
  "are told",
  "tells",
  "told",
  "hears",
  "it stands",
  "stands for",
  "goes on by",
  "lets go",
  "belongs to nobody",
  "nobody who",
  "what is asked",
  "in hand",
  "of its own accord",
  "the house",
  "the door",
  "the desk"
]

/** Folders that still contain banned phrases. Remove a folder from the list as soon as it is clean. */
const NOT_YET_CLEAN = ["src/backend/"]

/** Files whose text is not written here: lock files, generated code and documents, binary files. */
const EXCLUDED = /^(?:package-lock\.json|src\/proto\/.*|docs\/(?:openapi|asyncapi)[^/]*\.json)$|\.(?:png|ico|gz|woff2)$/u
const THIS_FILE = "test/docs/Language.test.ts"

/** Matches phrases across line breaks, also in comments: between two words a leader such as `//`, `*` or `#` may follow. */
const GAP = String.raw`(?:[ \t]|\r?\n[ \t]*(?:\/\/+|\*|#)?[ \t]*)+`
const PATTERN = new RegExp(String.raw`\b(?:${BANNED.map((phrase) => phrase.replaceAll(" ", GAP)).join("|")})\b`, "giu")

/** Each banned phrase of a text, with its line. */
const found = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(PATTERN)].map(({ 0: phrase, index }) => {
    const line = text.slice(0, index).split("\n").length
    return `${line}: ${phrase.replaceAll(/\s+/gu, " ")}`
  })

const checked = tracked.filter((path) => !EXCLUDED.test(path) && path !== THIS_FILE)
const isClean = (path: string): boolean => !NOT_YET_CLEAN.some((folder) => path.startsWith(folder))

describe("the language of the repository", () => {
  it("has no banned phrase", () => {
    const wrong = checked.filter(isClean).flatMap((path) => found(textOf(path)).map((phrase) => `${path}:${phrase}`))
    assert.deepStrictEqual(wrong, [])
  })

  it("exempts no folder that is already clean", () => {
    const clean = NOT_YET_CLEAN.filter((folder) => {
      const own = checked.filter((path) => path.startsWith(folder))
      return own.every((path) => found(textOf(path)).length === 0)
    })
    assert.deepStrictEqual(clean, [])
  })

  it("finds a phrase in any case, and across the lines of a comment", () => {
    assert.deepStrictEqual(found("one\nWhoever reads"), ["2: Whoever"])
    assert.deepStrictEqual(found("// what is\n// asked"), ["1: what is // asked"])
    assert.deepStrictEqual(found(" * the\n * door"), ["1: the * door"])
    assert.deepStrictEqual(found("a retold story, one household"), [])
  })
})
