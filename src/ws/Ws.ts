/**
 * The WebSocket endpoints of feeds and calls as one layer on the server that REST uses.
 *
 * It takes over upgrade requests of its paths and hands all others on. Build it above the layer that listens: then it
 * closes first, and the server does not wait for sockets that stay. Source: docs/contract/websocket.md#endpoints,
 * #limits, docs/contract/configuration.md#shutdown.
 */
import { Clock, Context, Effect, FiberSet, Layer, Stream } from "effect"
import * as Http from "node:http"
import type { Duplex } from "node:stream"
import { clientIpOf } from "../domain/ClientIp.ts"
import * as ApiError from "../domain/ApiError.ts"
import { hostsOf } from "../domain/RequestTarget.ts"
import { networkOf } from "../domain/Ip.ts"
import { httpStatusOf, type Reason } from "../domain/Reason.ts"
import { Authenticator } from "../services/identity/Authenticator.ts"
import { BackendHealth } from "../services/operations/BackendHealth.ts"
import { RpcConnections, CALLS_PATH } from "../services/operations/RpcConnections.ts"
import { InProcessFeeds, type Open, type Peer } from "../services/operations/InProcessFeeds.ts"
import { InboundBudget } from "../services/operations/InboundBudget.ts"
import { MarketView } from "../services/markets/MarketView.ts"
import { type Counter, CurrentMetricsRegistry, type MetricsRegistry } from "../services/operations/MetricsRegistry.ts"
import { Presence } from "../services/operations/Presence.ts"
import { DomainError } from "../services/DomainError.ts"
import { UserSnapshots } from "../services/read-model/UserSnapshots.ts"
import { UserStreams } from "../services/read-model/UserStreams.ts"
import { type CloseReason, closeCodes } from "./api/CloseCodes.ts"
import { Hub } from "./Hub.ts"
import { InProcessTransport } from "./InProcessTransport.ts"
import * as Keepalive from "./Keepalive.ts"
import { Limits } from "./Limits.ts"
import { CallSession } from "./CallSession.ts"
import { type Connection, type EndReason, type Endpoint } from "./Connection.ts"
import { type SessionDeps, Session } from "./Session.ts"
import { Socket } from "./Socket.ts"
import * as Upgrade from "./Upgrade.ts"

/** The HTTP server whose upgrade requests are taken over. */
export class UpgradeServer extends Context.Service<UpgradeServer, Http.Server>()("gateway/ws/UpgradeServer") {}

/** The feeds; `/ws` is an alias of `/ws/public`. */
export const paths: Readonly<Record<string, Endpoint>> = {
  "/ws": "general",
  "/ws/public": "public",
  "/ws/private": "private"
}
/** Every path whose upgrades are taken. */
const endpoints: Readonly<Record<string, Endpoint>> = { ...paths, [CALLS_PATH]: "rpc" }

const oneHost = ApiError.ofReason("MalformedRequest", undefined, { message: "Host: expected one Host header" })

/** Answers an upgrade request that is refused, with the error body of REST. */
const refuseUpgrade = (
  socket: Duplex,
  status: number,
  { code, details, message }: Pick<ApiError.ApiError, "code" | "message" | "details">,
  fields: ReadonlyArray<string> = ["Retry-After: 1"]
): void => {
  const text = JSON.stringify({ code, message, details })
  const head = [
    `HTTP/1.1 ${status} ${Http.STATUS_CODES[status]}`,
    "Connection: close",
    "Content-Type: application/json",
    ...fields,
    `Content-Length: ${Buffer.byteLength(text)}`
  ]
  socket.on("error", () => {})
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy())
}

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

/** A counter for each reason of an end. */
const endingsOf = (meter: MetricsRegistry) => {
  const counter = (reason: EndReason, code: number): Counter =>
    meter.counter("gateway_ws_closed_total", { reason, code: String(code) })
  const reasons = Object.entries(closeCodes) as ReadonlyArray<readonly [CloseReason, { readonly code: number }]>
  const ours = Object.fromEntries(reasons.map(([reason, { code }]) => [reason, counter(reason, code)]))
  return { ...(ours as Record<CloseReason, Counter>), Peer: counter("Peer", 0) }
}

/** How often closing sockets are looked at while they drain, in ms. */
const DRAIN_STEP_MS = 20

/**
 * How many of so many sockets are to be closed after some of the time in which all are; the first at once. By the clock: a pause
 * between two of many is shorter than a timer can be, and than a busy machine keeps.
 */
export const dueOf = (count: number, passed_ms: number, drain_ms: number): number =>
  passed_ms >= drain_ms ? count : Math.min(count, 1 + Math.floor((passed_ms / drain_ms) * count))

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* UpgradeServer
    const hub = yield* Hub
    const health = yield* BackendHealth
    const authenticator = yield* Authenticator
    const limits = yield* Limits
    const presence = yield* Presence
    const fork = yield* FiberSet.makeRuntime<never>()

    const budget = yield* InboundBudget
    const callLines = yield* RpcConnections
    const sessions = new Set<Connection>()
    /** Connections by address, those of an IPv6 network together. */
    const ips = new Tally()
    const users = new Tally()

    const meter = yield* CurrentMetricsRegistry
    const count: Record<Endpoint, number> = { general: 0, public: 0, private: 0, rpc: 0 }
    for (const endpoint of Object.values(endpoints)) {
      meter.gauge("gateway_ws_sessions", { endpoint }, () => count[endpoint])
    }
    meter.gauge("gateway_ws_queued_bytes", {}, () => {
      let bytes = 0
      for (const { outbox } of sessions) bytes += outbox.weight
      return bytes
    })
    const endings = endingsOf(meter)

    const house: SessionDeps = {
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
        return true
      },
      ending: (reason) => endings[reason].add(),
      gone: (session) => {
        sessions.delete(session)
        count[session.endpoint]--
        ips.add(networkOf(session.ip), -1)
        const caller = session instanceof Session ? session.caller : undefined
        if (caller === undefined) return
        users.add(caller.user_id, -1)
        presence.went(caller.user_id)
      }
    }

    let accepting = true
    /** Why a connection may not be opened; `undefined`: it may. */
    const refusalOf = (endpoint: Endpoint, ip: string): Reason | undefined => {
      if (!accepting || (endpoint === "rpc" && !callLines.isServed())) return "ShuttingDown"
      const lost = Keepalive.lostFor(limits, health.sequencer(), health.referee())
      // a call says by itself that its backend is lost
      if (endpoint !== "rpc" && (endpoint === "private" ? lost.private : lost.public)) return "BackendUnavailable"
      const full = limits.connections_per_ip > 0 && ips.of(networkOf(ip)) >= limits.connections_per_ip
      return full ? "RateLimitExceeded" : undefined
    }
    const joined = <S extends Connection>(session: S): S => {
      ips.add(networkOf(session.ip), 1)
      sessions.add(session)
      count[session.endpoint]++
      return session
    }

    const open: Open = ({ endpoint, messages, peer }) =>
      Stream.unwrap(
        Effect.suspend(() => {
          const ip = clientIpOf(peer.address, peer.forwarded, limits.trusted_proxies)
          const refused = refusalOf(endpoint, ip)
          if (refused !== undefined) return Effect.fail(new DomainError(refused))
          const opened = Effect.tap(InProcessTransport.make, (line) =>
            Effect.sync(() => line.begin(joined(new Session(house, line, endpoint, ip)), messages))
          )
          return Effect.map(
            Effect.acquireRelease(opened, (line) => Effect.sync(() => line.terminate())),
            (line) => line.messages
          )
        })
      )

    const previous = server.listeners("upgrade") as Array<
      (request: Http.IncomingMessage, socket: Duplex, head: Buffer) => void
    >
    const onUpgrade = (request: Http.IncomingMessage, socket: Duplex, head: Buffer): void => {
      const path = (request.url ?? "").split("?", 1)[0]!
      const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path]! : undefined
      if (endpoint === undefined) {
        if (previous.length === 0) {
          return refuseUpgrade(socket, 404, ApiError.ofReason("NoSuchRoute"))
        }
        for (const listener of previous) listener.call(server, request, socket, head)
        return
      }
      if (hostsOf(request.rawHeaders) !== 1) return refuseUpgrade(socket, 400, oneHost, [])
      const forwarded = request.headers["x-forwarded-for"]
      const peer: Peer = {
        address: request.socket.remoteAddress,
        forwarded: Array.isArray(forwarded) ? forwarded.join(",") : forwarded
      }
      const ip = clientIpOf(peer.address, peer.forwarded, limits.trusted_proxies)
      const refused = refusalOf(endpoint, ip)
      if (refused !== undefined) return refuseUpgrade(socket, httpStatusOf(refused), ApiError.ofReason(refused))
      const answer = Upgrade.answer(request, limits)
      if (answer.status !== 101) {
        const error = ApiError.ofReason(answer.reason, undefined, { message: answer.message })
        return refuseUpgrade(socket, answer.status, error, answer.fields)
      }
      if (!socket.readable || !socket.writable) return void socket.destroy() // it left meanwhile
      const own = new Socket(socket, answer.deflated, limits, (drop) => budget.open(ip, drop))
      const session =
        endpoint === "rpc"
          ? new CallSession(house, own, ip, {
              peer,
              headers: Object.entries(request.headers).filter(
                (field): field is [string, string] => typeof field[1] === "string"
              ),
              accept: callLines.accept,
              held: budget.open(ip, () => session.terminate())
            })
          : new Session(house, own, endpoint, ip)
      own.begin(answer.head, head, joined(session))
    }

    yield* Keepalive.run(() => sessions, limits, health)

    server.removeAllListeners("upgrade")
    server.on("upgrade", onUpgrade)
    const lines = yield* InProcessFeeds
    yield* lines.serve(open)

    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        accepting = false
        const going = [...sessions]
        for (const session of going) session.announce()
        // spread, so that those who come back do not come all at once
        const clock = yield* Clock.Clock
        const from = clock.monotonicTimeNanosUnsafe()
        for (let ended = 0; ;) {
          const passed_ms = Number((clock.monotonicTimeNanosUnsafe() - from) / 1_000_000n)
          const due = dueOf(going.length, passed_ms, limits.drain_ms)
          while (ended < due) going[ended++]!.end("GoingAway")
          if (ended === going.length) break
          yield* Effect.sleep(DRAIN_STEP_MS)
        }
        for (let waited = 0; sessions.size > 0 && waited < limits.close_timeout_ms; waited += DRAIN_STEP_MS) {
          yield* Effect.sleep(DRAIN_STEP_MS)
        }
        for (const session of sessions) session.terminate()
        server.off("upgrade", onUpgrade)
        for (const listener of previous) server.on("upgrade", listener)
      })
    )
  })
)

/** The endpoints with their fan-out and snapshots; needs the ports that these read. */
export const live = layer.pipe(Layer.provide([Hub.layer, UserSnapshots.layer]))
