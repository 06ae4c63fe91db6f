/** After the build: the Markdown of each page and llms.txt beside the site, and each file in the forms that a gateway serves. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

const docs = fileURLToPath(new URL("../../", import.meta.url))
const files = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** Files that compression makes smaller. */
const TEXT = /\.(?:html|js|css|json|md|txt|svg)$/u

export const finish = (outDir: string, base: string): void => {
  for (const path of files(docs).filter((path) => path.endsWith(".md") && !path.startsWith(join(docs, "site")))) {
    const to = join(outDir, path.slice(docs.length))
    mkdirSync(dirname(to), { recursive: true })
    cpSync(path, to)
  }
  const llms = readFileSync(join(docs, "../llms.txt"), "utf8").replaceAll("](docs/", `](${base}`)
  writeFileSync(join(outDir, "llms.txt"), llms)
  for (const path of files(outDir).filter((path) => TEXT.test(path))) {
    const bytes = readFileSync(path)
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }))
  }
}
