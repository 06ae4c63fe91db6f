/**
 * The large documents that stay the same while the process runs: each is encoded and compressed once, not for every reader,
 * and goes out in parts, so that no number of readers keeps others waiting.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import * as BulkResponseThrottle from "./BulkResponseThrottle.ts"

export interface DocumentRequest {
  readonly path: string
  readonly acceptEncoding: string | undefined
  /** Address of the client; requests from one address share one turn. */
  readonly address: string
}

export type Documents = (
  asked: DocumentRequest,
  response: HttpServerResponse.HttpServerResponse
) => Effect.Effect<HttpServerResponse.HttpServerResponse>

/** Whether a client takes a coding; everybody takes what is not coded. `*` is for codings that the header does not name. */
export const acceptsCoding = (wanted: "br" | "gzip" | "identity", header: string | undefined): boolean => {
  if (wanted === "identity") return true
  if (header === undefined) return false
  const codings = header.split(",").map((each) => each.split(";").map((part) => part.trim().toLowerCase()))
  const itemOf = (name: string) => codings.find(([coding]) => coding === name)
  const found = itemOf(wanted) ?? itemOf("*")
  return found !== undefined && !/^q=0(?:\.0*)?$/u.test(found[1] ?? "")
}

/** Whether a client takes gzip. */
export const acceptsGzip = (header: string | undefined): boolean => acceptsCoding("gzip", header)

const gzip = (bytes: Uint8Array<ArrayBuffer>): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
    return new Uint8Array(await new Response(packed).arrayBuffer())
  })

/** Serves the responses of these paths from memory, compressed for clients that accept gzip. */
export const make = (
  paths: ReadonlyArray<string>,
  throttle: BulkResponseThrottle.BulkResponseThrottle = BulkResponseThrottle.make()
): Documents => {
  const packed = new Map<string, Uint8Array>()
  return Effect.fnUntraced(function* ({ acceptEncoding, address, path }, response) {
    const { body } = response
    if (!paths.includes(path) || response.status !== 200 || body._tag !== "Uint8Array") return response
    const { etag, ...headers } = response.headers
    const send = (bytes: Uint8Array, more: Readonly<Record<string, string>>) => {
      const options = { contentType: body.contentType, headers: { ...headers, vary: "Accept-Encoding", ...more } }
      return bytes.length <= BulkResponseThrottle.PART_BYTES
        ? HttpServerResponse.uint8Array(bytes, options)
        : HttpServerResponse.stream(throttle.stream(address, bytes), { ...options, contentLength: bytes.length })
    }
    // its bytes: the text that they were made of would be encoded anew for each reader
    if (!acceptsGzip(acceptEncoding)) return send(body.body, etag === undefined ? {} : { etag })
    let bytes = packed.get(path)
    if (bytes === undefined) {
      bytes = yield* gzip(Uint8Array.from(body.body))
      packed.set(path, bytes)
    }
    return send(bytes, { ...(etag === undefined ? {} : { etag: `W/${etag}` }), "content-encoding": "gzip" })
  })
}
