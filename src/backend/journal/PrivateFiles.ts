/**
 * Files that only their owner reads and writes: mode 0600, directories 0700.
 *
 * The gateway has the same in `layers/node/PrivateFiles.ts`; neither imports the other.
 */
import { chmodSync, closeSync, openSync, statSync } from "node:fs"

const DIRECTORY = 0o700
const FILE = 0o600
const STICKY = 0o1000

/** Takes the permissions of others away, where this process may. A missing path is left alone. */
const tighten = (path: string, mode: number): void => {
  try {
    const found = statSync(path).mode
    // a directory of everyone, such as /tmp, is not ours
    if ((found & 0o077) !== 0 && (found & STICKY) === 0) chmodSync(path, mode)
  } catch {
    // missing, or owned by another user: a volume's owner decides who reads it
  }
}

/** Closes an existing directory to others. */
export const directory = (path: string): void => tighten(path, DIRECTORY)

/** Makes a file for its owner alone where it is missing, and closes an existing one to others. */
export const file = (path: string): void => {
  closeSync(openSync(path, "a", FILE))
  tighten(path, FILE)
}

/** The same for a database, before SQLite opens it: SQLite gives its log and index the mode of the database. */
export const database = (path: string): void => {
  file(path)
  for (const beside of ["-wal", "-shm", "-journal"]) tighten(path + beside, FILE)
}

/** Closes existing files to others. */
export const files = (paths: ReadonlyArray<string>): void => {
  for (const path of paths) tighten(path, FILE)
}
