/** The `node:http` server that REST, RPC and WebSocket share. */
import { Context, Effect, Layer } from "effect"
import * as Http from "node:http"
import type { Duplex } from "node:stream"
import { codeOf, httpStatusOf, type Reason, textOf } from "../../domain/Reason.ts"
import { transportLimits } from "../../domain/TransportLimits.ts"
import * as HttpServer from "./HttpServer.ts"
import * as SlowClientGuard from "./SlowClientGuard.ts"
import * as ConnectionRateLimiter from "./ConnectionRateLimiter.ts"

/** Every limit of a connection, in one place. */
export interface ConnectionLimits
  extends HttpServer.ServerLimits, SlowClientGuard.SlowClientLimits, ConnectionRateLimiter.ConnectionRateLimits {}

export const defaults: ConnectionLimits = {
  ...HttpServer.defaults,
  reading_ms: transportLimits.reading_ms.figure,
  unread_bytes: transportLimits.unread_bytes.figure,
  connections_per_address: transportLimits.connections_per_address.figure,
  arrivals_per_s: transportLimits.arrivals_per_s.figure,
  arrivals_at_once: 50,
  arrivals_waiting: 10_000
}

/** The limits in force; provide others to configure them. */
export const Limits = Context.Reference<ConnectionLimits>("gateway/layers/node/NodeServer/Limits", {
  defaultValue: () => defaults
})

/** Errors of Node's HTTP parser never reach the router; this server responds with the usual error body. */
const refusals: Record<string, Reason> = {
  HPE_HEADER_OVERFLOW: "HeadersTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "RequestTimeout"
}
const bodyOf = (reason: Reason): string =>
  JSON.stringify({ code: codeOf(reason), message: textOf(reason), details: { reason } })

const refuse = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
  const pending = HttpServer.responseOf(socket)
  if (pending?.req.complete === true) {
    // the error follows a complete request whose response is pending: an immediate response would be taken for that one
    socket.pause()
    pending.once("close", () => setImmediate(refuse, error, socket))
    return
  }
  const reason = refusals[error.code ?? ""] ?? "MalformedRequest"
  const status = httpStatusOf(reason)
  const body = bodyOf(reason)
  socket.end(
    `HTTP/1.1 ${status} ${Http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    // does not wait for a peer that keeps sending
    () => socket.destroy()
  )
}

/** Timed-out connections refused per turn of the event loop: connections that begin together time out together. */
const TIMEOUTS_PER_TURN = 8

/** Refuses at once; timeouts, which come in masses, a few per turn. */
const clientErrorHandler = (): typeof refuse => {
  const timedOut: Array<Parameters<typeof refuse>> = []
  const turn = (): void => {
    for (const each of timedOut.splice(0, TIMEOUTS_PER_TURN)) refuse(...each)
    if (timedOut.length > 0) setImmediate(turn)
  }
  return (error, socket) => {
    if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT") return refuse(error, socket)
    if (timedOut.push([error, socket]) === 1) setImmediate(turn)
  }
}

/** An `Expect` other than 100-continue. */
const refuseExpectation = (_: Http.IncomingMessage, response: Http.ServerResponse): void => {
  response.writeHead(417, { "content-type": "application/json", connection: "close" })
  response.end(bodyOf("ExpectationFailed"))
}

/** Interval at which idle connections are closed once the server no longer listens, in ms. */
const IDLE_STEP_MS = 50

/**
 * From now on every response closes its connection, so that clients reconnect elsewhere. Once the server no longer listens,
 * connections that become idle are closed; `Server.close` closes only those idle at its call.
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

/** Responds to a request, or returns false and leaves it untouched to the listeners after it. */
export type Interceptor = (request: Http.IncomingMessage, response: Http.ServerResponse) => boolean

/** Puts an interceptor before the server's present listeners; the returned function removes it. */
export const putBefore = (server: Http.Server, intercept: Interceptor): (() => void) => {
  const listeners = server.listeners("request") as Array<Http.RequestListener>
  const listener: Http.RequestListener = (request, response) => {
    if (!intercept(request, response)) for (const each of listeners) each(request, response)
  }
  for (const each of listeners) server.off("request", each)
  server.on("request", listener)
  return () => {
    server.off("request", listener)
    for (const each of listeners) server.on("request", each)
  }
}

/** The server that main.ts opened before it loaded the gateway, with the default limits; undefined: none. */
export const Early = Context.Reference<HttpServer.GatewayHttpServer | undefined>(
  "gateway/layers/node/NodeServer/Early",
  {
    defaultValue: () => undefined
  }
)

export class NodeServer extends Context.Service<NodeServer, HttpServer.GatewayHttpServer>()(
  "gateway/layers/node/NodeServer"
) {
  static readonly layer = Layer.effect(
    NodeServer,
    Effect.gen(function* () {
      const limits = yield* Limits
      const server = (yield* Early) ?? new HttpServer.GatewayHttpServer(limits)
      server.on("clientError", clientErrorHandler())
      server.on("checkExpectation", refuseExpectation)
      SlowClientGuard.watch(server, limits)
      ConnectionRateLimiter.install(server, limits)
      return server
    })
  )
}
