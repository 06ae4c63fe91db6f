/** Directories whose names survive the loss of power: a name is durable only once the directory that holds it is synced. */
import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs"
import { dirname, resolve } from "node:path"

/** Makes the names of a directory durable. Windows has no such call, and no need of it. */
export const sync = (directory: string): void => {
  if (process.platform === "win32") return
  const file = openSync(directory, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Makes a directory, and those above it that are missing, for good, and for their owner alone. */
export const make = (directory: string): void => {
  const last = resolve(directory)
  const first = mkdirSync(last, { recursive: true, mode: 0o700 })
  // what a start before this one made may not be synced yet either
  for (let made = last; ; made = dirname(made)) {
    sync(dirname(made))
    if (first === undefined || made === resolve(first)) return
  }
}
