/** Restricts files and directories to their owner: files have mode 0600, directories 0700. */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"

const DIRECTORY = 0o700
const FILE = 0o600
const STICKY = 0o1000

/** Removes the permissions of group and others, where this process may. Skips a missing path. */
const tighten = (path: string, mode: number): void => {
  try {
    const found = statSync(path).mode
    // a sticky directory, such as /tmp, is shared by all users
    if ((found & 0o077) !== 0 && (found & STICKY) === 0) chmodSync(path, mode)
  } catch {
    // the path is missing, or another user owns it: the owner of a volume decides who can read it
  }
}

const isDirectory = (path: string): boolean => statSync(path).isDirectory()

const make = (path: string, hasParent = false): string | undefined => {
  try {
    mkdirSync(path, DIRECTORY)
    return path
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === "EEXIST" && isDirectory(path)) return undefined
    if (code !== "ENOENT" || hasParent) throw cause
    const first = make(dirname(path))
    return make(path, true) === undefined ? first : (first ?? path)
  }
}

/**
 * Creates a directory and its missing parents for their owner alone; returns the first one that it created. Unlike Node's
 * `recursive` it fails where a file system refuses new directories with ENOENT, as /proc does: that one repeats for ever.
 */
export const makeDirectory = (path: string): string | undefined => make(resolve(path))

/** Restricts an existing directory to its owner. */
export const directory = (path: string): void => tighten(path, DIRECTORY)

/** Creates a missing file for its owner alone; restricts an existing one. */
export const file = (path: string): void => {
  closeSync(openSync(path, "a", FILE))
  tighten(path, FILE)
}

/** Does the same for a database before SQLite opens it: SQLite gives its log and index the mode of the database. */
export const database = (path: string): void => {
  file(path)
  for (const beside of ["-wal", "-shm", "-journal"]) tighten(path + beside, FILE)
}

/** Restricts existing files to their owner. */
export const files = (paths: ReadonlyArray<string>): void => {
  for (const path of paths) tighten(path, FILE)
}
