/** Writes docs/asyncapi.json, the response of /api-docs/asyncapi.json. `--check` only compares. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { VERSION } from "../src/domain/Version.ts"
import { asyncApi } from "../src/ws/api/AsyncApi.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const path = join(root, "docs/asyncapi.json")

const text = (): string => `${JSON.stringify(asyncApi(VERSION), undefined, 2)}\n`

/** Whether the committed document is what the schemas of the frames derive. */
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
    console.log("wrote docs/asyncapi.json")
  } else if (!isCurrent()) {
    console.error("docs/asyncapi.json is not current, run npm run generate")
    process.exit(1)
  }
}
