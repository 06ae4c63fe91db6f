/** Reads a file of the shared test vectors; `undefined` where they are absent, so that a suite can skip visibly. */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const vectors = (name: string): unknown => {
  const path = fileURLToPath(new URL(`../../shared/vectors/${name}`, import.meta.url))
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined
}
