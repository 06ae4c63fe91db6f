/** The one `node:http` server that REST and WebSocket share. */
import { Context, Layer } from "effect"
import * as Http from "node:http"

/** Time a client has to send a whole request, in ms: slow senders are answered 408 and closed. */
const REQUEST_TIMEOUT_MS = 30_000
/** Time a client has to send the headers, in ms. */
const HEADERS_TIMEOUT_MS = 10_000
/** Idle time after which a kept connection is closed, in ms; above the 60 s of usual load balancers. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** Bytes of request line and headers together. */
const HEADER_BYTES_MAX = 16 * 1024
/** Headers of one request. */
const HEADERS_MAX = 100

export class NodeServer extends Context.Service<NodeServer, Http.Server>()("gateway/layers/node/NodeServer") {
  static readonly layer = Layer.sync(NodeServer, () => {
    const server = Http.createServer({
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: HEADER_BYTES_MAX
    })
    server.maxHeadersCount = HEADERS_MAX
    return server
  })
}
