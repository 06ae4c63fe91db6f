/** The commands of the documentation where the system's Node cannot run TypeScript. npm brings a newer Node; `npx node` starts it. */
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { root as manifest } from "../../scripts/packages/Manifests.ts"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
/** The error of a Node that cannot run TypeScript, for which the README has a cure. */
const ERROR = "ERR_UNKNOWN_FILE_EXTENSION"

/** The folders of PATH without those of npm scripts, which have the newer Node. */
const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"))
const system = folders.map((folder) => join(folder, "node")).find((path) => existsSync(path))
const isOlder =
  system !== undefined && (spawnSync(system, ["--version"], { encoding: "utf8" }).stdout ?? "").startsWith("v20.")

describe("an older Node", { timeout: 240_000 }, () => {
  it("is not what the pages for users start TypeScript with", () => {
    const pages = globSync("{README.md,docs/{guides,recipes}/*.md,packages/*/README.md,examples/*.{ts,mjs}}", {
      cwd: root
    })
    assert.isAbove(pages.length, 20)
    const wrong = pages.flatMap((page) =>
      [...readFileSync(join(root, page), "utf8").matchAll(/(?<!npx )\bnode (?:\S+\/)?\S+\.ts\b/gu)].map(
        ([command]) => `${page}: ${command}`
      )
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("has its error and the cure in the README", () => {
    const line = readFileSync(join(root, "README.md"), "utf8")
      .split("\n")
      .filter((text) => text.includes(ERROR))
    assert.lengthOf(line, 1)
    assert.include(line[0], "`npx node")
  })

  it.skipIf(!isOlder)("runs the documented commands with the Node of the repository", () => {
    const run = (command: string, ...args: ReadonlyArray<string>) =>
      spawnSync(command, args, { cwd: root, env: { ...process.env, PATH: folders.join(delimiter) }, encoding: "utf8" })
    assert.include(run("node", "src/cli/main.ts", "--version").stderr, ERROR)
    for (const [command, ...args] of [
      ["npx", "node", "src/cli/main.ts"],
      ["npm", "run", "--silent", "gateway", "--"]
    ] as const) {
      const { status, stderr, stdout } = run(command, ...args, "--version", "--json")
      assert.strictEqual(status, 0, stderr)
      assert.strictEqual(JSON.parse(stdout).version, manifest.version)
    }
  })
})
