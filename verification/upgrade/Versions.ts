/** The sources of an earlier version, from the history of this repository. */
import { execFileSync } from "node:child_process"
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { root } from "../harness/NodeProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"

/**
 * A build of 0.1.1 with layout 6 of the journal, the oldest that migrates, from before forks. Its rules and dependencies are those
 * of today, so it runs with the installed packages.
 */
export const EARLIER = "cc4249f"

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: root, maxBuffer: 256 * 1024 * 1024, stdio: ["ignore", "pipe", "ignore"] })

/** Whether the history of this clone reaches back to the version. */
export const isEarlierThere = (): boolean => {
  try {
    git("cat-file", "-e", `${EARLIER}^{commit}`)
    return true
  } catch {
    return false
  }
}

/** Writes the sources of the version to a temporary folder, where its programs start. */
export const earlierSources = (): { readonly home: string; readonly remove: () => void } => {
  const { path: home, remove } = temporaryFolder("earlier")
  execFileSync("tar", ["-x", "-C", home], { input: git("archive", EARLIER) })
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"))
  return { home, remove }
}
