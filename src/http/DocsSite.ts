/**
 * The documentation site at `/docs/`: the files that the build of docs/site made. They are read when they are requested, so that a
 * start costs nothing. Where the site is not built, `/docs` says how to build it.
 */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { etagOf } from "./Etag.ts"
import type { PageFile } from "./Page.ts"

const FOLDER = fileURLToPath(new URL("../../docs/site/dist/", import.meta.url))
const BASE = "/docs/"
const INDEX = "index.html"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".png": "image/png",
  ".woff2": "font/woff2"
}

const HOW_TO_BUILD = `The documentation site is not built.

  npm install --prefix docs/site && npm run build --prefix docs/site

builds it, then start the gateway again. The pages are in the folder docs/ too.
`

/** Scripts that the generator writes into a page are allowed by their hashes; colours of code are inline styles. */
const policyOf = (html: string): string => {
  const scripts = [...html.matchAll(/<script[^>]*>([^]*?)<\/script>/gu)]
    .map(([, text]) => text!)
    .filter((text) => text !== "")
  const hashes = scripts.map((text) => ` 'sha256-${createHash("sha256").update(text).digest("base64")}'`)
  return `default-src 'none'; script-src 'self'${hashes.join("")}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

/** A file of the site at one path. */
const fileAt = (path: string, file: string, isCompressed: boolean): PageFile => ({
  path,
  contentType: types[extname(file)]!,
  immutable: path.startsWith(`${BASE}assets/`),
  get etag() {
    return etagOf(readFileSync(file))
  },
  get policy() {
    return policyOf(extname(file) === ".html" ? readFileSync(file, "utf8") : "")
  },
  get forms(): PageFile["forms"] {
    const plain = ["identity", readFileSync(file)] as const
    return isCompressed ? [["br", readFileSync(`${file}.br`)], ["gzip", readFileSync(`${file}.gz`)], plain] : [plain]
  }
})

/** The files of the site, `index.html` at the path of its folder too. */
export const read = (folder: string = FOLDER): ReadonlyArray<PageFile> => {
  if (!existsSync(join(folder, INDEX))) {
    const bytes = Buffer.from(HOW_TO_BUILD)
    const text = { contentType: types[".txt"]!, etag: etagOf(bytes), immutable: false }
    return ["/docs", BASE].map((path) => ({ ...text, path, forms: [["identity", bytes]] }))
  }
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"))
  const known = new Set(names)
  return names
    .filter((name) => types[extname(name)] !== undefined)
    .flatMap((name) => {
      const isIndex = name === INDEX || name.endsWith(`/${INDEX}`)
      const short = isIndex ? [`${BASE}${name.slice(0, -INDEX.length)}`] : []
      const paths = [`${BASE}${name}`, ...short, ...(name === INDEX ? ["/docs"] : [])]
      return paths.map((path) => fileAt(path, join(folder, name), known.has(`${name}.br`)))
    })
}
