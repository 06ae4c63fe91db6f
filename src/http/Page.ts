/**
 * The market page at `/`: the files that `page/build.ts` made, from memory, each in the forms that it was compressed to when it
 * was made. Names of assets hold a hash of what is in them, so a browser keeps them for good; `/` itself is asked for anew.
 *
 * Without those files (`npm ci --ignore-scripts`) `/` answers in plain text how to build them; the rest of the gateway is not affected.
 */
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { acceptsCoding } from "./Documents.ts"
import { etagOf, isKnown } from "./Etag.ts"
import { CurrentRequest } from "./RequestState.ts"

export interface PageFile {
  readonly path: string
  readonly contentType: string
  readonly etag: string
  /** What is in it never changes under this name. */
  readonly immutable: boolean
  /** Its content security policy; by default that of the market page. */
  readonly policy?: string
  /** Its bytes by content coding, the best one first. */
  readonly forms: ReadonlyArray<readonly [coding: "br" | "gzip" | "identity", bytes: Uint8Array]>
}

/** Where the files are: beside `src`, and beside `dist` in a package. */
const FOLDER = new URL("../../page/dist/", import.meta.url)
const INDEX = "index.html"
const HOME = "/"
const ASSETS = "/page/"
/** Stands in index.html where the name of the environment belongs. */
const ENVIRONMENT = "{{environment}}"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8"
}

/** Nothing but what this gateway serves: no script, style, image, connection or frame from elsewhere, none written inline. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin"
}
const FOREVER = "public, max-age=31536000, immutable"
const ASK_AGAIN = "no-cache"

const HOW_TO_BUILD = `The market page is not built.

  npm run page

builds it, then start the gateway again. The API is here all the same: /swagger-ui
`

const compressed = (bytes: Uint8Array): PageFile["forms"] => [
  ["br", brotliCompressSync(bytes)],
  ["gzip", gzipSync(bytes)],
  ["identity", bytes]
]

const home = (bytes: Uint8Array, type: string): PageFile => ({
  path: HOME,
  contentType: types[type]!,
  etag: etagOf(bytes),
  immutable: false,
  forms: compressed(bytes)
})

/** The page of a gateway in an environment (`production`, `testnet`, `staging`), which it shows. */
export const read = (environment: string, folder: URL = FOLDER): ReadonlyArray<PageFile> => {
  const at = (name: string): URL => new URL(name, folder)
  if (!existsSync(at(INDEX))) return [home(Buffer.from(HOW_TO_BUILD), ".txt")]
  const index = readFileSync(at(INDEX), "utf8").replaceAll(ENVIRONMENT, environment)
  const assets = readdirSync(fileURLToPath(folder))
    .filter((name) => name !== INDEX && types[extname(name)] !== undefined)
    .map((name): PageFile => {
      const bytes = readFileSync(at(name))
      return {
        path: `${ASSETS}${name}`,
        contentType: types[extname(name)]!,
        etag: etagOf(bytes),
        immutable: true,
        forms: [
          ["br", readFileSync(at(`${name}.br`))],
          ["gzip", readFileSync(at(`${name}.gz`))],
          ["identity", bytes]
        ]
      }
    })
  return [home(Buffer.from(index), ".html"), ...assets]
}

const answer = (file: PageFile) =>
  Effect.gen(function* () {
    const state = yield* CurrentRequest
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    state.cacheControl = file.immutable ? FOREVER : ASK_AGAIN
    const { etag, policy } = file
    const own = policy === undefined ? {} : { "content-security-policy": policy }
    const common = { ...SECURITY, ...own, etag, vary: "Accept-Encoding" }
    if (isKnown(headers["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers: common })
    const [coding, bytes] = file.forms.find(([coding]) => acceptsCoding(coding, headers["accept-encoding"]))!
    return HttpServerResponse.uint8Array(bytes, {
      contentType: file.contentType,
      headers: { ...common, ...(coding === "identity" ? {} : { "content-encoding": coding, etag: `W/${etag}` }) }
    })
  })

/** A route for each file. */
export const layer = (files: ReadonlyArray<PageFile>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      for (const file of files) yield* router.add("GET", file.path as HttpRouter.PathInput, answer(file))
    })
  )
