/** Writes src/proto from proto/ with buf and ts-proto; `--check` only tells whether what is committed is current. */
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const committed = join(root, "src/proto")

const filesOf = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(directory, name)).isFile())
    .toSorted()

const generate = (output: string) =>
  execFileSync(join(root, "node_modules/.bin/buf"), ["generate", "--output", output], { cwd: root, stdio: "inherit" })

/** Paths under src/proto whose committed text is not what the generator writes. */
export const stale = (): ReadonlyArray<string> => {
  const output = mkdtempSync(join(tmpdir(), "gateway-proto-"))
  try {
    generate(output)
    const fresh = join(output, "src/proto")
    const names = new Set([...filesOf(fresh), ...filesOf(committed)])
    const read = (directory: string, name: string) => {
      try {
        return readFileSync(join(directory, name), "utf8")
      } catch {
        return undefined
      }
    }
    return [...names]
      .filter((name) => read(fresh, name) !== read(committed, name))
      .map((name) => join("src/proto", name))
  } finally {
    rmSync(output, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) {
    const names = stale()
    if (names.length > 0) {
      console.error(`not current, run npm run generate: ${names.join(", ")}`)
      process.exit(1)
    }
  } else {
    const output = mkdtempSync(join(tmpdir(), "gateway-proto-"))
    generate(output)
    rmSync(committed, { recursive: true, force: true })
    cpSync(join(output, "src/proto"), committed, { recursive: true })
    rmSync(output, { recursive: true, force: true })
    console.log(`wrote ${relative(root, committed)}`)
  }
}
