/** Gives out what a backend in a process of its own tells, at GET /metrics. */
import { Effect, type Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { BindError } from "./Serve.ts"

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

/** Listens until the scope closes; answers the port. `port` 0 takes a free one. */
export const serve = (host: string, port: number, text: () => string): Effect.Effect<number, BindError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>, BindError>((resume) => {
        const server = createServer((request, response) => {
          const isAsked = request.method === "GET" && request.url === "/metrics"
          response.writeHead(isAsked ? 200 : 404, { "content-type": CONTENT_TYPE }).end(isAsked ? text() : "")
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
