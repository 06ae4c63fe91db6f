/** The large documents that stay the same while the process runs: each is compressed once, not for every reader. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"

export type Documents = (
  path: string,
  acceptEncoding: string | undefined,
  response: HttpServerResponse.HttpServerResponse
) => Effect.Effect<HttpServerResponse.HttpServerResponse>

/** Whether a client takes a coding; everybody takes what is not coded. */
export const acceptsCoding = (wanted: "br" | "gzip" | "identity", header: string | undefined): boolean =>
  wanted === "identity" ||
  (header !== undefined &&
    header.split(",").some((each) => {
      const [coding, weight] = each.split(";").map((part) => part.trim().toLowerCase())
      return (coding === wanted || coding === "*") && (weight === undefined || !/^q=0(?:\.0*)?$/u.test(weight))
    }))

/** Whether a client takes gzip. */
export const acceptsGzip = (header: string | undefined): boolean => acceptsCoding("gzip", header)

const gzip = (bytes: Uint8Array<ArrayBuffer>): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
    return new Uint8Array(await new Response(packed).arrayBuffer())
  })

/** Serves the answers of these paths compressed, from memory, to whoever takes gzip. */
export const make = (paths: ReadonlyArray<string>): Documents => {
  const packed = new Map<string, Uint8Array>()
  return Effect.fnUntraced(function* (path, acceptEncoding, response) {
    const { body } = response
    if (!paths.includes(path) || response.status !== 200 || body._tag !== "Uint8Array") return response
    if (!acceptsGzip(acceptEncoding)) return response
    let bytes = packed.get(path)
    if (bytes === undefined) {
      bytes = yield* gzip(Uint8Array.from(body.body))
      packed.set(path, bytes)
    }
    const { etag, ...headers } = response.headers
    return HttpServerResponse.uint8Array(bytes, {
      contentType: body.contentType,
      headers: {
        ...headers,
        ...(etag === undefined ? {} : { etag: `W/${etag}` }),
        "content-encoding": "gzip",
        vary: "Accept-Encoding"
      }
    })
  })
}
