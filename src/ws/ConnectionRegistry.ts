/**
 * The open connections, with a count per endpoint, per client network and per user.
 * Source: docs/contract/websocket.md#limits.
 */
import type { Caller } from "../domain/User.ts"
import { networkOf } from "../domain/Ip.ts"
import { type Counter, CurrentMetricsRegistry, type MetricsRegistry } from "../services/operations/MetricsRegistry.ts"
import { Presence } from "../services/operations/Presence.ts"
import { Effect } from "effect"
import { type CloseReason, closeCodes } from "./api/CloseCodes.ts"
import type { Connection, Endpoint, EndReason } from "./Connection.ts"
import { endpoints } from "./Endpoints.ts"
import { Limits } from "./Limits.ts"
import { Session } from "./Session.ts"

/** A count for each key; a key at zero is removed. */
class KeyedCount {
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

/** One counter for each reason that ends a connection. */
const endCountersOf = (metrics: MetricsRegistry): Readonly<Record<EndReason, Counter>> => {
  const counter = (reason: EndReason, code: number): Counter =>
    metrics.counter("gateway_ws_closed_total", { reason, code: String(code) })
  const reasons = Object.entries(closeCodes) as ReadonlyArray<readonly [CloseReason, { readonly code: number }]>
  const ours = Object.fromEntries(reasons.map(([reason, { code }]) => [reason, counter(reason, code)]))
  return { ...(ours as Record<CloseReason, Counter>), Peer: counter("Peer", 0) }
}

export class ConnectionRegistry {
  readonly connections = new Set<Connection>()
  private readonly byEndpoint: Record<Endpoint, number> = { general: 0, public: 0, private: 0, rpc: 0 }
  /** Connections by address; all addresses of one IPv6 network share a key. */
  private readonly byNetwork = new KeyedCount()
  private readonly byUser = new KeyedCount()
  private readonly ends: Readonly<Record<EndReason, Counter>>
  private readonly limits: Limits
  private readonly presence: typeof Presence.Service

  constructor(limits: Limits, presence: typeof Presence.Service, metrics: MetricsRegistry) {
    this.limits = limits
    this.presence = presence
    this.ends = endCountersOf(metrics)
    for (const endpoint of Object.values(endpoints)) {
      metrics.gauge("gateway_ws_sessions", { endpoint }, () => this.byEndpoint[endpoint])
    }
    metrics.gauge("gateway_ws_queued_bytes", {}, () => {
      let bytes = 0
      for (const { outbox } of this.connections) bytes += outbox.weight
      return bytes
    })
  }

  static readonly make = Effect.gen(function* () {
    return new ConnectionRegistry(yield* Limits, yield* Presence, yield* CurrentMetricsRegistry)
  })

  /** Whether a client address has as many connections as it may have. */
  isFull(ip: string): boolean {
    const max = this.limits.connections_per_ip
    return max > 0 && this.byNetwork.of(networkOf(ip)) >= max
  }

  add<C extends Connection>(connection: C): C {
    this.byNetwork.add(networkOf(connection.ip), 1)
    this.connections.add(connection)
    this.byEndpoint[connection.endpoint]++
    return connection
  }

  /** Counts a session for its user; false: the user has as many as allowed. */
  readonly admit = (session: Session, { user_id }: Caller): boolean => {
    if (session.caller !== undefined) return true
    const max = this.limits.connections_per_user
    if (max > 0 && this.byUser.of(user_id) >= max) return false
    this.byUser.add(user_id, 1)
    this.presence.connected(user_id)
    return true
  }

  readonly ending = (reason: EndReason): void => this.ends[reason].add()

  readonly remove = (connection: Connection): void => {
    this.connections.delete(connection)
    this.byEndpoint[connection.endpoint]--
    this.byNetwork.add(networkOf(connection.ip), -1)
    const caller = connection instanceof Session ? connection.caller : undefined
    if (caller === undefined) return
    this.byUser.add(caller.user_id, -1)
    this.presence.disconnected(caller.user_id)
  }
}
