/** Whether a new connection is accepted. Source: docs/contract/websocket.md#limits, docs/contract/boundary.md#lagging. */
import { Effect } from "effect"
import { CredentialLease } from "../services/identity/CredentialLease.ts"
import { BackendHealth } from "../services/operations/BackendHealth.ts"
import type { OpenReason } from "../services/operations/InProcessFeeds.ts"
import { RpcConnections } from "../services/operations/RpcConnections.ts"
import type { Endpoint } from "./Connection.ts"
import type { ConnectionRegistry } from "./ConnectionRegistry.ts"
import * as Keepalive from "./Keepalive.ts"
import { Limits } from "./Limits.ts"

export class Admission {
  /** False from the start of the shutdown. */
  isOpen = true
  private readonly registry: ConnectionRegistry
  private readonly limits: Limits
  private readonly sources: Keepalive.Sources
  private readonly rpc: typeof RpcConnections.Service

  constructor(
    registry: ConnectionRegistry,
    limits: Limits,
    sources: Keepalive.Sources,
    rpc: typeof RpcConnections.Service
  ) {
    this.registry = registry
    this.limits = limits
    this.sources = sources
    this.rpc = rpc
  }

  static readonly make = Effect.fnUntraced(function* (registry: ConnectionRegistry) {
    const sources = { health: yield* BackendHealth, lease: yield* CredentialLease }
    return new Admission(registry, yield* Limits, sources, yield* RpcConnections)
  })

  /** Why a connection is refused; `undefined`: it is accepted. */
  refusalOf(endpoint: Endpoint, ip: string): OpenReason | undefined {
    if (!this.isOpen || (endpoint === "rpc" && !this.rpc.isServed())) return "ShuttingDown"
    // a procedure call reports a lost backend in its own reply
    if (endpoint !== "rpc") {
      const lost = Keepalive.lostFor(this.limits, this.sources)
      if (endpoint === "private" ? lost.private : lost.public) return "BackendUnavailable"
    }
    return this.registry.isFull(ip) ? "RateLimitExceeded" : undefined
  }
}
