/** Writes docs/openapi.json, the response of /api-docs/openapi.json. `--check` only compares. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { openApi } from "../src/http/api/OpenApiDocument.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const path = join(root, "docs/openapi.json")

const text = (): string => `${JSON.stringify(openApi(), undefined, 2)}\n`

/** Whether the committed document is what the API derives. */
export const isCurrent = (): boolean => {
  try {
    return readFileSync(path, "utf8") === text()
  } catch {
    return false
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes("--check")) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text())
    console.log("wrote docs/openapi.json")
  } else if (!isCurrent()) {
    console.error("docs/openapi.json is not current, run npm run generate")
    process.exit(1)
  }
}
