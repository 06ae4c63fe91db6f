/** Operations on directories and files that survive a power loss: a name is durable only after a sync of its directory. */
import { closeSync, fsyncSync, openSync } from "node:fs"
import { dirname, resolve } from "node:path"
import * as PrivateFiles from "../../node/PrivateFiles.ts"

const syncAs = (flags: string, path: string): void => {
  const file = openSync(path, flags)
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Syncs a directory. Windows has no such call and does not need it. */
export const sync = (directory: string): void => {
  if (process.platform !== "win32") syncAs("r", directory)
}

/** Syncs the content of a file. */
export const syncFile = (file: string): void => syncAs("r+", file)

/** Creates a directory and its missing parents durably, accessible to their owner only. */
export const make = (directory: string): void => {
  const last = resolve(directory)
  const first = PrivateFiles.makeDirectory(last)
  // an earlier start may have created parents without a sync
  for (let made = last; ; made = dirname(made)) {
    sync(dirname(made))
    if (first === undefined || made === first) return
  }
}
