/** Packages of a folder that has a lockfile of its own, installed before the tests that need them. */
import { execFile } from "node:child_process"
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

const FILES = ["package.json", "package-lock.json"]
/** npm's own copy of the lockfile, in node_modules. */
const INSTALLED = "node_modules/.package-lock.json"

/** Versions of the packages in a lockfile, by path. */
const versions = (path: string): Readonly<Record<string, string | undefined>> => {
  const { packages } = JSON.parse(readFileSync(path, "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>
  }
  return Object.fromEntries(Object.entries(packages).map(([name, { version }]) => [name, version]))
}

/** Whether the packages of the lockfile are installed in a folder, in these versions. */
export const isCurrent = (folder: string): boolean => {
  if (!existsSync(join(folder, INSTALLED))) return false
  const wanted = versions(join(folder, "package-lock.json"))
  // optional packages of other platforms are in the lockfile alone
  return Object.entries(versions(join(folder, INSTALLED))).every(([name, version]) => wanted[name] === version)
}

/**
 * Installs the packages of a folder from its lockfile. Rejects with the first lines of npm, or at a time limit. Another run at the same
 * time sees all of the packages or none.
 */
export const install = async (folder: string, limit_ms: number): Promise<void> => {
  const part = mkdtempSync(join(folder, ".node_modules-"))
  try {
    for (const name of FILES) copyFileSync(join(folder, name), join(part, name))
    const arguments_ = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
    await promisify(execFile)("npm", arguments_, { cwd: part, timeout: limit_ms }).catch(
      (error: Error & { readonly killed?: boolean; readonly stderr?: string }) => {
        const reason = error.killed === true ? `more than ${limit_ms / 1000} s` : error.stderr || error.message
        throw new Error(`npm ci: ${reason.trim().split("\n").slice(0, 4).join("\n")}`)
      }
    )
    try {
      rmSync(join(folder, "node_modules"), { recursive: true, force: true })
      renameSync(join(part, "node_modules"), join(folder, "node_modules"))
    } catch (error) {
      // another run was first
      if (!isCurrent(folder)) throw error
    }
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}
