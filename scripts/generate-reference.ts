/** Writes the generated parts of docs/reference, and schema and example of the markets file. `--check` only compares. */
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { filled } from "./reference/Block.ts"
import * as Errors from "./reference/Errors.ts"
import * as Limits from "./reference/Limits.ts"
import * as Markets from "./reference/Markets.ts"
import { procedures } from "./reference/Procedures.ts"
import * as Rest from "./reference/Rest.ts"
import * as Settings from "./reference/Settings.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Each page by its path, made from what is committed of it; "" where there is nothing yet. */
const pages: Readonly<Record<string, (committed: string) => string>> = {
  "docs/markets.schema.json": Markets.schema,
  "examples/markets.json": Markets.example,
  "docs/reference/errors.md": Errors.page,
  "docs/reference/limits.md": Limits.page,
  "docs/reference/markets-file.md": Markets.page,
  "docs/reference/rest.md": Rest.page,
  "docs/reference/settings.md": Settings.page,
  "docs/reference/rpc.md": (committed) => filled(committed, "src/rpc/api", procedures())
}

const committed = (path: string): string => {
  try {
    return readFileSync(join(root, path), "utf8")
  } catch {
    return ""
  }
}

/** Pages that are not what the tables of now say. */
export const stale = (): ReadonlyArray<string> =>
  Object.entries(pages).flatMap(([path, make]) => (make(committed(path)) === committed(path) ? [] : [path]))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const old = stale()
  if (process.argv.includes("--check")) {
    if (old.length > 0) console.error(`not current, run npm run generate: ${old.join(", ")}`)
    process.exitCode = old.length
  } else {
    for (const path of old) writeFileSync(join(root, path), pages[path]!(committed(path)))
    console.log(old.length === 0 ? "the reference is current" : `wrote ${old.join(", ")}`)
  }
}
