/**
 * The API explorer: the page of the library over the document that the gateway serves, with an icon of the project, all groups
 * closed, and a box that filters them.
 *
 * The library has no options for these, so its HTML is changed.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiSwagger } from "effect/http-api"
import { Api } from "./api/Api.ts"
import { OPENAPI_PATH } from "./api/EtagDocuments.ts"

export const SWAGGER_PATH = "/swagger-ui"

/** The icon of the market page, which may not be built here: page/icon.svg. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#12212f"/><g stroke-width="2" stroke-linecap="round"><path stroke="#2ebd85" d="M10 8v16M10 12"/><rect x="7.5" y="12" width="5" height="8" fill="#2ebd85" stroke="#2ebd85"/><path stroke="#f6635c" d="M22 6v17"/><rect x="19.5" y="9" width="5" height="9" fill="#f6635c" stroke="#f6635c"/></g></svg>'

/** The library's filter distinguishes upper and lower case; this one does not. */
const OPTIONS = `        docExpansion: "none",
        defaultModelsExpandDepth: 0,
        filter: true,
        plugins: [() => ({ fn: { opsFilter: (groups, phrase) =>
          groups.filter((_, name) => name.toLowerCase().includes(phrase.toLowerCase())) } })],
`

const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
const ELEMENT = 'dom_id: "#swagger-ui",\n'

/** Texts of the library's page, each there once, and what replaces them. */
export const CHANGES: ReadonlyArray<readonly [text: string, replacement: string]> = [
  [VIEWPORT, `${VIEWPORT}  <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}" />\n`],
  ['spec: JSON.parse(document.getElementById("swagger-spec").textContent),\n', `url: "${OPENAPI_PATH}",\n`],
  [ELEMENT, `${ELEMENT}${OPTIONS}`]
]

/** The page with all changes; `undefined` where the library's page does not have each text once. */
export const withChanges = (html: string): string | undefined => {
  let page = html
  for (const [text, replacement] of CHANGES) {
    const parts = page.split(text)
    if (parts.length !== 2) return undefined
    page = `${parts[0]}${replacement}${parts[1]}`
  }
  return page
}

/** The API without its operations: the page loads the document, so it does not contain another one. */
const titled = HttpApi.make("gateway").annotateMerge(Api.annotations)

const rewritten = new WeakMap<HttpServerResponse.HttpServerResponse, HttpServerResponse.HttpServerResponse>()
/** Changes the page once: the library answers the same response to every request. */
const rewrite = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const known = rewritten.get(response)
  if (known !== undefined) return known
  const { body } = response
  const html = body._tag === "Uint8Array" ? withChanges(new TextDecoder().decode(body.body)) : undefined
  const made = html === undefined ? response : HttpServerResponse.html(html)
  rewritten.set(response, made)
  return made
}

export const layer = Layer.mergeAll(
  HttpApiSwagger.layer(titled, { path: SWAGGER_PATH }).pipe(
    Layer.provide(HttpRouter.middleware((page) => Effect.map(page, rewrite)).layer)
  ),
  HttpRouter.add("GET", `${SWAGGER_PATH}/`, HttpServerResponse.redirect(SWAGGER_PATH, { status: 308 }))
)
