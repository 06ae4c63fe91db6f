/** A release turns the files in .changeset into a section of CHANGELOG.md, and sets the version. */
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

describe("a release", { timeout: 60_000 }, () => {
  it("turns the change files into the newest section, above the older ones", () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-release-"))
    try {
      for (const name of ["package.json", "CHANGELOG.md", ".changeset"])
        cpSync(join(root, name), join(folder, name), { recursive: true })
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
      writeFileSync(join(folder, "package-lock.json"), "{}")
      writeFileSync(
        join(folder, ".changeset/some-change.md"),
        '---\n"trading-gateway": minor\n---\n\nBooks are twice as deep.\n'
      )
      const before = readFileSync(join(folder, "CHANGELOG.md"), "utf8")
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
      const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: folder, stdio: "ignore" })
      git("init", "--initial-branch=main")
      git("add", ".changeset", "package.json", "CHANGELOG.md")
      git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "before")
      execFileSync(join(root, "node_modules/.bin/changeset"), ["version"], { cwd: folder, stdio: "ignore" })

      const next = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version
      assert.strictEqual(next, "0.2.0")
      const after = readFileSync(join(folder, "CHANGELOG.md"), "utf8")
      assert.isBelow(after.indexOf(`## ${next}`), after.indexOf(`## ${version}`))
      assert.include(after.slice(0, after.indexOf(`## ${version}`)), "Books are twice as deep.")
      assert.include(after, before.slice(before.indexOf("## ")))
      assert.deepStrictEqual(readdirSync(join(folder, ".changeset")).toSorted(), ["README.md", "config.json"])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
