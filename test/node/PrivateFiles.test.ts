import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { makeDirectory } from "../../src/node/PrivateFiles.ts"
import { temporaryFolder } from "../../verification/harness/Programs.ts"

const folder = temporaryFolder("private-files")
afterAll(() => folder.remove())
const codeOf = (path: string): string | undefined => {
  try {
    makeDirectory(path)
    return undefined
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code
  }
}

describe("a directory for its owner", () => {
  it("is created with its parents, and names the first one that was missing", () => {
    const path = join(folder.path, "a", "b", "c")
    assert.strictEqual(makeDirectory(path), join(folder.path, "a"))
    for (const made of ["a", "a/b", "a/b/c"]) assert.strictEqual(statSync(join(folder.path, made)).mode & 0o777, 0o700)
    assert.isUndefined(makeDirectory(path))
    assert.strictEqual(makeDirectory(join(path, "d")), join(path, "d"))
    assert.isUndefined(makeDirectory("/"))
  })

  it("fails with the reason of the system, in every case", () => {
    const file = join(folder.path, "file")
    writeFileSync(file, "")
    assert.deepStrictEqual([codeOf(file), codeOf(join(file, "a"))], ["EEXIST", "ENOTDIR"])
    // a file system that takes no directories
    assert.deepStrictEqual([codeOf("/proc/a"), codeOf("/proc/a/b")], ["ENOENT", "ENOENT"])
  })
})
