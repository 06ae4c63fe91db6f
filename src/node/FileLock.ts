/** Locks that exclude other processes. The operating system releases them when their process ends. */
import { DatabaseSync } from "node:sqlite"
import * as PrivateFiles from "./PrivateFiles.ts"

const SQLITE_BUSY = 5

/** Takes the lock of a file, which it creates where it is missing. Returns its release, undefined where it is taken. */
export const tryLock = (path: string): (() => void) | undefined => {
  PrivateFiles.database(path)
  const database = new DatabaseSync(path)
  try {
    database.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
    return () => database.close()
  } catch (cause) {
    database.close()
    // the low byte of an extended code is the code
    if (((cause as { readonly errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) return undefined
    throw cause
  }
}

/** Name of the lock of a gateway on its DATA_DIR. */
export const GATEWAY_LOCK = "gateway.lock"
