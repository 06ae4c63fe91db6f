/**
 * The programs as the package ships them, bundled once for each state of the sources: they start with half of the CPU time of
 * the sources.
 */
import { createHash } from "node:crypto"
import { globSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "../scripts/build.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Bundles are two folders below the project, as dist/bin is: the gateway finds its page from there. */
const home = join(root, "node_modules")
/** What the names of bundles begin with. */
export const PREFIX = ".programs-"
/** Time after which a bundle is deleted, in ms: longer than a run of the tests that uses it. */
const KEPT_MS = 2 * 60 * 60_000

/** Names the state of the sources by their paths, sizes and times. */
const nameOf = (): string => {
  const hash = createHash("sha256")
  for (const path of [...globSync("{src/**/*,scripts/build}.ts", { cwd: root }), "package-lock.json"].toSorted()) {
    const { mtimeMs, size } = statSync(join(root, path))
    hash.update(`${path} ${size} ${mtimeMs}\n`)
  }
  return `${PREFIX}${hash.digest("hex").slice(0, 16)}`
}

/** Returns the folder with main.js, backend.js and relay.js of the current sources. */
export const bundled = async (): Promise<string> => {
  const name = nameOf()
  const folder = join(home, name)
  const there = readdirSync(home).filter((each) => each.startsWith(PREFIX))
  if (there.includes(name)) return folder
  for (const old of there.map((each) => join(home, each))) {
    if (Date.now() - statSync(old).mtimeMs > KEPT_MS) rmSync(old, { recursive: true, force: true })
  }
  const part = mkdtempSync(join(home, PREFIX))
  await bundle(part)
  // as in the package: without it Node parses each file once more, to find out whether it is a module
  writeFileSync(join(part, "package.json"), '{ "type": "module" }')
  try {
    renameSync(part, folder)
  } catch {
    // another run was first
    rmSync(part, { recursive: true, force: true })
  }
  return folder
}
