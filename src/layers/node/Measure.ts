/** Measures what a server does, beside the way that requests take: at their head, and when all is over. */
import type * as Http from "node:http"
import { performance } from "node:perf_hooks"
import type { Duplex } from "node:stream"
import type { Metrics } from "../../services/Metrics.ts"

/** What an answer counts as that its caller did not wait for. */
const LEFT = 499

/**
 * Tells every request and socket of a server; the returned function ends it. `routeOf` names the endpoint of a path, so
 * that paths do not make metrics without end.
 */
export const measure = (
  server: Http.Server,
  metrics: Metrics["Service"],
  routeOf: (path: string) => string
): (() => void) => {
  const onRequest = ({ method, url }: Http.IncomingMessage, response: Http.ServerResponse): void => {
    const began = performance.now()
    response.once("close", () => {
      const [path] = url!.split("?", 1) as [string]
      metrics.served({
        method: method!,
        route: routeOf(path),
        status: response.writableFinished ? response.statusCode : LEFT,
        seconds: (performance.now() - began) / 1_000
      })
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
