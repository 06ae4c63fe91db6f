/**
 * Handles the upgrade requests of an HTTP server: those of the WebSocket endpoints open a connection, all others go to the
 * listeners that were there before.
 */
import { Effect } from "effect"
import type * as Http from "node:http"
import type { Duplex } from "node:stream"
import * as ApiError from "../domain/ApiError.ts"
import { clientIpOf } from "../domain/ClientIp.ts"
import { hostsOf } from "../domain/RequestTarget.ts"
import { InboundBudget } from "../services/operations/InboundBudget.ts"
import type { Peer } from "../services/operations/InProcessFeeds.ts"
import { RpcConnections } from "../services/operations/RpcConnections.ts"
import type { Admission } from "./Admission.ts"
import { CallSession } from "./CallSession.ts"
import type { Connection } from "./Connection.ts"
import type { ConnectionRegistry } from "./ConnectionRegistry.ts"
import { endpoints } from "./Endpoints.ts"
import { Session, type SessionDeps } from "./Session.ts"
import { Socket } from "./Socket.ts"
import * as Upgrade from "./Upgrade.ts"
import { refuseFor, refuseUpgrade } from "./UpgradeRefusal.ts"

type UpgradeListener = (request: Http.IncomingMessage, socket: Duplex, head: Buffer) => void

const oneHost = ApiError.ofReason("MalformedRequest", undefined, { message: "Host: expected one Host header" })

const peerOf = (request: Http.IncomingMessage): Peer => {
  const forwarded = request.headers["x-forwarded-for"]
  return {
    address: request.socket.remoteAddress,
    forwarded: Array.isArray(forwarded) ? forwarded.join(",") : forwarded
  }
}

const singleHeaders = ({ headers }: Http.IncomingMessage): ReadonlyArray<readonly [string, string]> =>
  Object.entries(headers).filter((field): field is [string, string] => typeof field[1] === "string")

/** Replaces the upgrade listeners of a server; the returned function restores them. */
export const handleUpgrades = Effect.fnUntraced(function* (
  server: Http.Server,
  admission: Admission,
  registry: ConnectionRegistry,
  deps: SessionDeps
) {
  const budget = yield* InboundBudget
  const rpc = yield* RpcConnections
  const { limits } = deps
  const previous = server.listeners("upgrade") as Array<UpgradeListener>

  const connectionOf = (request: Http.IncomingMessage, peer: Peer, ip: string, socket: Socket): Connection => {
    const endpoint = endpoints[pathOf(request)]!
    if (endpoint !== "rpc") return new Session(deps, socket, endpoint, ip)
    const session: CallSession = new CallSession(deps, socket, ip, {
      peer,
      headers: singleHeaders(request),
      accept: rpc.accept,
      held: budget.open(ip, () => session.terminate())
    })
    return session
  }

  const onUpgrade: UpgradeListener = (request, socket, head) => {
    const path = pathOf(request)
    if (!Object.hasOwn(endpoints, path)) {
      if (previous.length === 0) return refuseUpgrade(socket, 404, ApiError.ofReason("NoSuchRoute"))
      for (const listener of previous) listener.call(server, request, socket, head)
      return
    }
    if (hostsOf(request.rawHeaders) !== 1) return refuseUpgrade(socket, 400, oneHost)
    const peer = peerOf(request)
    const ip = clientIpOf(peer.address, peer.forwarded, limits.trusted_proxies)
    const refused = admission.refusalOf(endpoints[path]!, ip)
    if (refused !== undefined) return refuseFor(socket, refused)
    const result = Upgrade.negotiate(request, limits)
    if (result.status !== 101) {
      const error = ApiError.ofReason(result.reason, undefined, { message: result.message })
      return refuseUpgrade(socket, result.status, error, result.fields)
    }
    if (!socket.readable || !socket.writable) return void socket.destroy() // the client disconnected meanwhile
    const webSocket = new Socket(socket, result.deflated, limits, (drop) => budget.open(ip, drop))
    const connection = registry.add(connectionOf(request, peer, ip, webSocket))
    webSocket.begin(result.head, head, connection)
  }

  server.removeAllListeners("upgrade")
  server.on("upgrade", onUpgrade)
  return () => {
    server.off("upgrade", onUpgrade)
    for (const listener of previous) server.on("upgrade", listener)
  }
})

const pathOf = ({ url }: Http.IncomingMessage): string => (url ?? "").split("?", 1)[0]!
