/** The one `node:http` server that REST and WebSocket share. */
import { Context, Effect, Layer } from "effect"
import * as Http from "node:http"
import type { Duplex } from "node:stream"
import { codeOf, httpStatusOf, type Reason, textOf } from "../../domain/Reason.ts"
import { transportLimits } from "../../domain/TransportLimits.ts"
import * as HttpServer from "./HttpServer.ts"
import * as SlowClientGuard from "./SlowClientGuard.ts"
import * as ConnectionRateLimiter from "./ConnectionRateLimiter.ts"

/** Every bound of a connection, in one place. */
export interface Bounds
  extends HttpServer.ServerLimits, SlowClientGuard.SlowClientLimits, ConnectionRateLimiter.ConnectionRateLimits {}

export const defaults: Bounds = {
  ...HttpServer.defaults,
  reading_ms: transportLimits.reading_ms.figure,
  unread_bytes: transportLimits.unread_bytes.figure,
  connections_per_address: transportLimits.connections_per_address.figure,
  arrivals_per_s: transportLimits.arrivals_per_s.figure,
  arrivals_at_once: 50,
  arrivals_waiting: 10_000
}

/** The bounds in force; provide others to configure them. */
export const Limits = Context.Reference<Bounds>("gateway/layers/node/NodeServer/Limits", {
  defaultValue: () => defaults
})

/** What Node's parser refuses never reaches the router: it is answered here, in the form of all errors. */
const refusals: Record<string, Reason> = {
  HPE_HEADER_OVERFLOW: "HeadersTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "RequestTimeout"
}
const bodyOf = (reason: Reason): string =>
  JSON.stringify({ code: codeOf(reason), message: textOf(reason), details: { reason } })

const answerRefused = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
  const due = HttpServer.answering(socket)
  if (due?.req.complete === true) {
    // what is wrong stands behind a whole request, whose answer comes first: this one would be taken for it
    socket.pause()
    due.once("close", () => setImmediate(answerRefused, error, socket))
    return
  }
  const reason = refusals[error.code ?? ""] ?? "MalformedRequest"
  const status = httpStatusOf(reason)
  const body = bodyOf(reason)
  socket.end(
    `HTTP/1.1 ${status} ${Http.STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    // a peer that goes on is not waited for
    () => socket.destroy()
  )
}

/** Connections that are told in one turn of the event loop that their time is over: those that began together end together. */
const LATE_PER_TURN = 8

/** Refuses at once, or in turn where many may be refused together. */
const refusing = (): typeof answerRefused => {
  const late: Array<Parameters<typeof answerRefused>> = []
  const turn = (): void => {
    for (const each of late.splice(0, LATE_PER_TURN)) answerRefused(...each)
    if (late.length > 0) setImmediate(turn)
  }
  return (error, socket) => {
    if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT") return answerRefused(error, socket)
    if (late.push([error, socket]) === 1) setImmediate(turn)
  }
}

/** An `Expect` other than 100-continue. */
const answerExpectation = (_: Http.IncomingMessage, response: Http.ServerResponse): void => {
  response.writeHead(417, { "content-type": "application/json", connection: "close" })
  response.end(bodyOf("ExpectationFailed"))
}

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

/** The door that the program opened before it loaded this, with the default bounds; undefined: there is none yet. */
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
      server.on("clientError", refusing())
      server.on("checkExpectation", answerExpectation)
      SlowClientGuard.watch(server, limits)
      ConnectionRateLimiter.install(server, limits)
      return server
    })
  )
}
