/** Test vectors: those of the project in test/vectors, and public sets beside the repository. */
import { existsSync, readFileSync } from "node:fs"

const read = (path: URL): unknown => JSON.parse(readFileSync(path, "utf8"))

/** A vector file of the project. */
export const vectors = (name: "auth.json" | "exchange-math.json"): unknown =>
  read(new URL(`vectors/${name}`, import.meta.url))

/** A file of a public vector set; `undefined` where it is absent, so that a suite can skip visibly. */
export const publicVectors = (name: string): unknown => {
  const path = new URL(`../../shared/vectors/${name}`, import.meta.url)
  return existsSync(path) ? read(path) : undefined
}
