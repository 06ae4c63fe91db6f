/**
 * The three WebSocket endpoints as one layer on the server that REST uses.
 *
 * It takes over upgrade requests of its paths and hands all others on. Build it above the layer that listens: then it
 * closes first, and the server does not wait for sockets that stay. Source: contract 5.1, 5.2, 13.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import type * as Http from "node:http"
import type { Duplex } from "node:stream"
import { type WebSocket, WebSocketServer } from "ws"
import { clientIpOf } from "../domain/ClientIp.ts"
import * as ApiError from "../domain/ApiError.ts"
import { networkOf } from "../domain/Ip.ts"
import type { Reason } from "../domain/Reason.ts"
import { Authenticator } from "../services/Authenticator.ts"
import { BackendHealth } from "../services/BackendHealth.ts"
import { MarketView } from "../services/MarketView.ts"
import { Presence } from "../services/Presence.ts"
import { UserSnapshots } from "../services/UserSnapshots.ts"
import { UserStreams } from "../services/UserStreams.ts"
import { Hub } from "./Hub.ts"
import * as Keepalive from "./Keepalive.ts"
import { Limits } from "./Limits.ts"
import { type Endpoint, type House, type Line, Session } from "./Session.ts"

/** The HTTP server whose upgrade requests are taken over. */
export class UpgradeServer extends Context.Service<UpgradeServer, Http.Server>()("gateway/ws/UpgradeServer") {}

export const paths: Readonly<Record<string, Endpoint>> = {
  "/ws": "general",
  "/ws/public": "public",
  "/ws/private": "private"
}

const NOTHING = Buffer.alloc(0)

/** Answers an upgrade request that is refused, with the error body of REST. */
const refuseUpgrade = (socket: Duplex, status: string, body: object): void => {
  const text = JSON.stringify(body)
  socket.on("error", () => {})
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nRetry-After: 1\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    () => socket.destroy()
  )
}
const unavailable = (reason: Reason): object => {
  const { code, details, message } = ApiError.ofReason(reason)
  return { code, message, details }
}

/** The socket of a session: data frames are written straight to the wire, the rest is left to the protocol library. */
const lineOf = (ws: WebSocket, socket: Duplex): Line => ({
  deflated: ws.extensions.includes("permessage-deflate"),
  pending: () => socket.writableLength,
  write: (bytes) => {
    if (ws.readyState === ws.OPEN) socket.write(bytes)
  },
  // an empty write takes its place behind what the system has not taken yet
  whenTaken: (callback) => socket.write(NOTHING, (error) => (error == null ? callback() : undefined)),
  close: (code, text) => ws.close(code, text),
  ping: () => {
    if (ws.readyState === ws.OPEN) ws.ping()
  },
  pong: (data) => {
    if (ws.readyState === ws.OPEN) ws.pong(data)
  }
})

/** A count for each key, that forgets keys at zero. */
class Tally {
  private readonly counts = new Map<string, number>()
  of(key: string): number {
    return this.counts.get(key) ?? 0
  }
  add(key: string, by: 1 | -1): void {
    const count = this.of(key) + by
    if (count === 0) this.counts.delete(key)
    else this.counts.set(key, count)
  }
}

/** How often closing sockets are looked at while they drain, in ms. */
const DRAIN_STEP_MS = 20

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* UpgradeServer
    const hub = yield* Hub
    const health = yield* BackendHealth
    const authenticator = yield* Authenticator
    const limits = yield* Limits
    const presence = yield* Presence
    const fork = yield* FiberSet.makeRuntime<never>()

    const sessions = new Map<Session, WebSocket>()
    const byCredential = new Map<string, Set<Session>>()
    /** Connections by address, those of an IPv6 network together. */
    const ips = new Tally()
    const users = new Tally()

    const forgetCredential = (session: Session): void => {
      const credential = session.caller?.credential
      const holders = credential === undefined ? undefined : byCredential.get(credential)
      if (holders?.delete(session) === true && holders.size === 0) byCredential.delete(credential!)
    }
    const house: House = {
      hub,
      authenticator,
      snapshots: yield* UserSnapshots,
      streams: yield* UserStreams,
      view: yield* MarketView,
      limits,
      run: (effect) => void fork(effect),
      admit: (session, caller) => {
        if (session.caller === undefined) {
          const max = limits.connections_per_user
          if (max > 0 && users.of(caller.user_id) >= max) return false
          users.add(caller.user_id, 1)
          presence.came(caller.user_id)
        }
        forgetCredential(session)
        const holders = byCredential.get(caller.credential)
        if (holders === undefined) byCredential.set(caller.credential, new Set([session]))
        else holders.add(session)
        return true
      }
    }

    const wss = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: limits.inbound_frame_bytes,
      autoPong: false, // sessions answer, at the rate that they allow
      // each message is compressed by itself, so that one compressed frame serves all sockets
      perMessageDeflate: { serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: 15 },
      ...({ closeTimeout: limits.close_timeout_ms } as object) // missing in the types
    })

    const open = (ws: WebSocket, socket: Duplex, endpoint: Endpoint, ip: string): void => {
      const session = new Session(house, lineOf(ws, socket), endpoint, ip)
      sessions.set(session, ws)
      ws.on("message", (data, isBinary) => (isBinary ? session.binary() : session.text((data as Buffer).toString())))
      ws.on("pong", () => session.heard())
      ws.on("ping", (data) => session.pinged(data))
      ws.on("error", () => {}) // the close event follows
      ws.on("close", () => {
        sessions.delete(session)
        forgetCredential(session)
        if (session.caller !== undefined) {
          users.add(session.caller.user_id, -1)
          presence.went(session.caller.user_id)
        }
        session.closed()
      })
    }

    let accepting = true
    const previous = server.listeners("upgrade") as Array<
      (request: Http.IncomingMessage, socket: Duplex, head: Buffer) => void
    >
    const onUpgrade = (request: Http.IncomingMessage, socket: Duplex, head: Buffer): void => {
      const path = (request.url ?? "").split("?", 1)[0]!
      const endpoint = Object.hasOwn(paths, path) ? paths[path]! : undefined
      if (endpoint === undefined) {
        if (previous.length === 0) {
          return refuseUpgrade(socket, "404 Not Found", unavailable("NoSuchRoute"))
        }
        for (const listener of previous) listener.call(server, request, socket, head)
        return
      }
      if (!accepting) return refuseUpgrade(socket, "503 Service Unavailable", unavailable("ShuttingDown"))
      const lost = Keepalive.lostFor(limits, health.sequencer(), health.referee())
      if (endpoint === "private" ? lost.private : lost.public) {
        return refuseUpgrade(socket, "503 Service Unavailable", unavailable("BackendUnavailable"))
      }
      const forwarded = request.headers["x-forwarded-for"]
      const ip = clientIpOf(
        request.socket.remoteAddress,
        Array.isArray(forwarded) ? forwarded.join(",") : forwarded,
        limits.trusted_proxies
      )
      const network = networkOf(ip)
      if (limits.connections_per_ip > 0 && ips.of(network) >= limits.connections_per_ip) {
        const body = {
          code: "RateLimitExceeded",
          message: "rate limit exceeded",
          details: { reason: "RateLimitExceeded" }
        }
        return refuseUpgrade(socket, "429 Too Many Requests", body)
      }
      wss.handleUpgrade(request, socket, head, (ws) => {
        ips.add(network, 1)
        ws.on("close", () => ips.add(network, -1))
        open(ws, socket, endpoint, ip)
      })
    }

    yield* Keepalive.run(() => sessions.keys(), limits, health)
    yield* authenticator.onRevoked((credential) => {
      for (const session of byCredential.get(credential) ?? []) session.end("CredentialEnded")
    })
    yield* authenticator.onBanned((user_id) => {
      for (const session of sessions.keys()) if (session.caller?.user_id === user_id) session.end("CredentialEnded")
    })

    server.removeAllListeners("upgrade")
    server.on("upgrade", onUpgrade)

    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        accepting = false
        const going = [...sessions.keys()]
        for (const session of going) session.announce()
        // spread, so that those who come back do not come all at once
        for (let i = 0; i < going.length; i++) {
          going[i]!.end("GoingAway")
          const pause = limits.drain_ms / going.length
          if (i + 1 < going.length) yield* Effect.sleep(pause)
        }
        for (let waited = 0; sessions.size > 0 && waited < limits.close_timeout_ms; waited += DRAIN_STEP_MS) {
          yield* Effect.sleep(DRAIN_STEP_MS)
        }
        for (const ws of sessions.values()) ws.terminate()
        server.off("upgrade", onUpgrade)
        for (const listener of previous) server.on("upgrade", listener)
      })
    )
  })
)

/** The endpoints with their fan-out and snapshots; needs the ports that these read. */
export const live = layer.pipe(Layer.provide([Hub.layer, UserSnapshots.layer]))
