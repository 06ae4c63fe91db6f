/**
 * The door, listening before anything else is loaded: a gateway that is started again refuses nobody meanwhile. So it reads
 * its two settings by itself; what is wrong with them, the gateway says when it listens.
 */
import { GatewayHttpServer } from "./HttpServer.ts"

/** Where the gateway listens unless PORT and HOST say otherwise. Source: docs/contract/configuration.md#variables. */
export const PORT_DEFAULT = 3010
export const HOST_DEFAULT = "127.0.0.1"

/**
 * Connections that the system holds until they are accepted, as far as it allows as many: beyond them it resets some, and all
 * sockets of a gateway that died come to the others at once.
 */
export const BACKLOG = 4_096

/** Listens where the environment says, and lets connections wait; undefined where it cannot. */
export const listen = (env: Readonly<Record<string, string | undefined>>): Promise<GatewayHttpServer | undefined> => {
  // an empty variable counts as unset, as the settings have it
  const host = env["HOST"] || HOST_DEFAULT
  const port = env["PORT"] || String(PORT_DEFAULT)
  if (!/^\d{1,5}$/u.test(port) || Number(port) > 65_535) return Promise.resolve(undefined)
  const door = new GatewayHttpServer()
  door.hold()
  return new Promise((resolve) => {
    const onError = () => resolve(undefined)
    door.once("error", onError)
    door.listen({ port: Number(port), host, backlog: BACKLOG }, () => {
      door.off("error", onError)
      resolve(door)
    })
  })
}
