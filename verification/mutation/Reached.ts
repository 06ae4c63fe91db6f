/**
 * Records which marked places a test file executes, in its process and in those that it starts: REACHED names a folder with
 * one file for each test file, with a line for each place.
 */
import { appendFileSync } from "node:fs"
import { join } from "node:path"

const seen = new Set<number>()

/** Called by a marked place. */
const reached = (place: number): void => {
  const { REACHED: folder, REACHED_BY: test } = process.env
  if (seen.has(place) || folder === undefined || test === undefined) return
  seen.add(place)
  appendFileSync(join(folder, encodeURIComponent(test)), `${place}\n`)
}

Object.assign(globalThis, { reached })
