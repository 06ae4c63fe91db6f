/** The one `node:http` server that REST and WebSocket share. */
import { Context, Layer } from "effect"
import * as Http from "node:http"
import type { Duplex } from "node:stream"
import { codeOf, httpStatusOf, type Reason, textOf } from "../../domain/Reason.ts"

/** Time a client has to send a whole request, in ms: slow senders are answered 408 and closed. */
const REQUEST_TIMEOUT_MS = 30_000
/** Time a client has to send the headers, in ms. */
const HEADERS_TIMEOUT_MS = 10_000
/** Idle time after which a kept connection is closed, in ms; above the 60 s of usual load balancers. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** Bytes of request line and headers together. */
const HEADER_BYTES_MAX = 16 * 1024
/** What Node's parser refuses never reaches the router: it is answered here, in the form of all errors. */
const refusals: Record<string, Reason> = {
  HPE_HEADER_OVERFLOW: "HeadersTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "RequestTimeout"
}
const bodyOf = (reason: Reason): string =>
  JSON.stringify({ code: codeOf(reason), message: textOf(reason), details: { reason } })

const answerRefused = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
  const reason = refusals[error.code ?? ""] ?? "MalformedRequest"
  const status = httpStatusOf(reason)
  const body = bodyOf(reason)
  socket.end(
    `HTTP/1.1 ${status} ${Http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    // a peer that goes on is not waited for
    () => socket.destroy()
  )
}

/** An `Expect` other than 100-continue. */
const answerExpectation = (_: Http.IncomingMessage, response: Http.ServerResponse): void => {
  response.writeHead(417, { "content-type": "application/json", connection: "close" })
  response.end(bodyOf("ExpectationFailed"))
}

/** Headers of one request. */
const HEADERS_MAX = 100

/** How often connections that became idle are closed once nobody is accepted any more, in ms. */
const IDLE_STEP_MS = 50

/**
 * From now on answers end their connections, so that clients go elsewhere; once the server stops to listen, connections
 * that become idle are closed, which it would do only once.
 */
export const drain = (server: Http.Server): void => {
  server.prependListener("request", (_, response) => {
    response.shouldKeepAlive = false
  })
  const timer = setInterval(() => {
    if (!server.listening) server.closeIdleConnections()
  }, IDLE_STEP_MS)
  server.once("close", () => clearInterval(timer))
}

/** Answers a request, or leaves it, untouched, to the listeners behind it. */
export type Front = (request: Http.IncomingMessage, response: Http.ServerResponse) => boolean

/** Puts a front before the listeners that the server has; the returned function takes it away again. */
export const putBefore = (server: Http.Server, front: Front): (() => void) => {
  const behind = server.listeners("request") as Array<Http.RequestListener>
  const listener: Http.RequestListener = (request, response) => {
    if (!front(request, response)) for (const each of behind) each(request, response)
  }
  for (const each of behind) server.off("request", each)
  server.on("request", listener)
  return () => {
    server.off("request", listener)
    for (const each of behind) server.on("request", each)
  }
}

export class NodeServer extends Context.Service<NodeServer, Http.Server>()("gateway/layers/node/NodeServer") {
  static readonly layer = Layer.sync(NodeServer, () => {
    const server = Http.createServer({
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Node would answer without a body; the routes refuse it in the form of all errors
      requireHostHeader: false
    })
    server.maxHeadersCount = HEADERS_MAX
    server.on("clientError", answerRefused)
    server.on("checkExpectation", answerExpectation)
    return server
  })
}
