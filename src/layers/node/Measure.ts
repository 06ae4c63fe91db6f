/**
 * Measures requests by the server's events, outside of their path: at the headers and at the close. With a tracer it begins
 * a span for each request, which handlers find by Node's request object.
 */
import type { Clock, Tracer } from "effect"
import type * as Http from "node:http"
import { performance } from "node:perf_hooks"
import type { Duplex } from "node:stream"
import type { Metrics } from "../../services/Metrics.ts"
import * as Tracing from "../../services/operations/Tracing.ts"

/** The status that counts a response whose client disconnected first. */
const CLIENT_CLOSED = 499

/** The tracer of requests and its clock. */
export interface Spans {
  readonly tracer: Tracer.Tracer
  readonly clock: Clock.Clock
}

const SERVER_ERRORS_FROM = 500

/** Begins the span of a request; the returned function ends it with the status of the response. */
const traced = ({ clock, tracer }: Spans, request: Http.IncomingMessage, route: string): ((status: number) => void) => {
  const method = request.method!
  const { traceparent } = request.headers
  const caller = Tracing.callerOf(Array.isArray(traceparent) ? undefined : traceparent)
  const name = route === "" ? method : `${method} ${route}`
  const attributes = { "http.request.method": method, "http.route": route }
  const span = Tracing.begin(tracer, name, "server", caller, clock.currentTimeNanosUnsafe(), attributes)
  Tracing.beginRequest(request, span)
  return (status) => {
    span.attribute("http.response.status_code", status)
    Tracing.end(span, clock.currentTimeNanosUnsafe(), status >= SERVER_ERRORS_FROM ? String(status) : undefined)
  }
}

/**
 * Records every request and socket of a server; the returned function stops it. `routeOf` maps a path to its endpoint, which
 * bounds the number of metrics. Without `spans` no spans are made.
 */
export const measure = (
  server: Http.Server,
  metrics: Metrics["Service"],
  routeOf: (path: string) => string,
  spans?: Spans
): (() => void) => {
  const onRequest = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
    const { method, url } = request
    const began = performance.now()
    const pathOf = () => routeOf(url!.split("?", 1)[0]!)
    const ended = spans === undefined ? undefined : traced(spans, request, pathOf())
    response.once("close", () => {
      const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED
      metrics.served({ method: method!, route: pathOf(), status, seconds: (performance.now() - began) / 1_000 })
      ended?.(status)
    })
  }
  const onUpgrade = (_: Http.IncomingMessage, socket: Duplex): void => {
    metrics.sockets(1)
    socket.once("close", () => metrics.sockets(-1))
  }
  server.prependListener("request", onRequest)
  server.prependListener("upgrade", onUpgrade)
  return () => {
    server.off("request", onRequest)
    server.off("upgrade", onUpgrade)
  }
}
