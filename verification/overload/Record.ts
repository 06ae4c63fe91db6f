/** The threads of a gateway, second by second. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The setting that names the file of the record. */
export const RECORD_FILE = "OVERLOAD_RECORD"

export interface ThreadSecond {
  /** Its end, Unix ms. */
  readonly at: number
  readonly thread: string
  readonly cpu_ms: number
  /** Share of the time in which its event loop was busy, and the longest delay of a timer. */
  readonly busy: number
  readonly delay_ms: number
  /** Garbage collection: all of it, and the longest pause. */
  readonly gc_ms: number
  readonly longest_gc_ms: number
  readonly heap_mb: number
}

/** The environment of a gateway whose threads are recorded in a file. */
export const recording = (file: string): Readonly<Record<string, string>> => ({
  [RECORD_FILE]: file,
  NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import ${join(import.meta.dirname, "Recorder.ts")}`
})

export const recordOf = (file: string): ReadonlyArray<ThreadSecond> =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ThreadSecond)
    : []
