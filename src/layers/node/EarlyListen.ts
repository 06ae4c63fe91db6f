/**
 * Listens before anything else is loaded: connections made during start-up are queued, then served. This module reads PORT
 * and HOST itself. It does not report invalid values: the gateway does when it listens.
 */
import { GatewayHttpServer } from "./HttpServer.ts"

/** Default port and address. Source: docs/contract/configuration.md#variables. */
export const PORT_DEFAULT = 3010
export const HOST_DEFAULT = "127.0.0.1"

/**
 * Length of the system's accept queue, where the system allows as many. A full queue resets connections, and when a gateway
 * dies its clients reconnect to the others at once.
 */
export const BACKLOG = 4_096

/** Listens and holds connections. */
export const open = (host: string, port: number): Promise<GatewayHttpServer> => {
  const server = new GatewayHttpServer()
  server.hold()
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off("error", reject)
      resolve(server)
    })
  })
}

/** Listens as the environment says and holds connections; undefined where that fails. */
export const listen = (env: Readonly<Record<string, string | undefined>>): Promise<GatewayHttpServer | undefined> => {
  // an empty variable counts as unset, as in the settings
  const host = env["HOST"] || HOST_DEFAULT
  const port = env["PORT"] || String(PORT_DEFAULT)
  if (!/^\d{1,5}$/u.test(port) || Number(port) > 65_535) return Promise.resolve(undefined)
  return open(host, Number(port)).catch(() => undefined)
}
