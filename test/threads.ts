/**
 * Starts the product's threads from their bundle, as `programOf` starts its programs: a thread loads one file instead of several
 * hundred, and every exchange of a test has at least two threads.
 */
import { existsSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import threads, { type WorkerOptions } from "node:worker_threads"

const sources = join(dirname(dirname(fileURLToPath(import.meta.url))), "src")
const { PROGRAMS: programs } = process.env
const { Worker } = threads

/** The bundle of a thread; else the given file. */
const bundleOf = (entry: string | URL): string | URL => {
  if (!(entry instanceof URL) || !fileURLToPath(entry).startsWith(sources)) return entry
  const path = join(programs!, basename(entry.pathname).replace(/\.ts$/u, ".js"))
  return existsSync(path) ? path : entry
}

// once in each process: Vitest runs this file before every test file
const replaced = Symbol.for("test/threads")
if (programs !== undefined && !(replaced in threads)) {
  threads.Worker = class extends Worker {
    constructor(entry: string | URL, options?: WorkerOptions) {
      super(bundleOf(entry), options)
    }
  }
  Object.defineProperty(threads, replaced, { value: true })
  syncBuiltinESMExports()
}
