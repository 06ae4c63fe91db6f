/** Serves the metrics of a backend that runs alone, at GET /metrics. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"
import { BindError } from "./Serve.ts"

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

/** Listens until the scope closes; returns the port. `port` 0 selects a free one. */
export const serve = (host: string, port: number, text: () => string): Effect.Effect<number, BindError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>, BindError>((resume) => {
        const server = createServer((request, response) => {
          const isMetrics = request.method === "GET" && request.url === "/metrics"
          response.writeHead(isMetrics ? 200 : 404, { "content-type": CONTENT_TYPE }).end(isMetrics ? text() : "")
        })
        server.once("error", (cause) =>
          resume(
            Effect.fail(new BindError({ message: `METRICS_PORT: cannot listen on ${host}:${port}: ${cause.message}` }))
          )
        )
        server.listen(port, host, () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => (server.address() as AddressInfo).port
  )
