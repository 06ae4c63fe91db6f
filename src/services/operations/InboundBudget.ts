/**
 * Bounds the incomplete input of all connections together: request bodies and messages in transit. When the total
 * exceeds the limit, the address with the most input loses its largest part. Many slow senders therefore affect only
 * themselves.
 * Source: docs/contract/limits.md#transports.
 */
import { Context } from "effect"
import { networkOf } from "../../domain/Ip.ts"
import { transportLimits } from "../../domain/TransportLimits.ts"

/** Overhead counted per chunk, since a peer may send a byte at a time. */
const CHUNK_BYTES = 256

/** The unfinished input of one connection. */
export interface Held {
  /** Sets the size of the input, in bytes and chunks; 0 releases it. */
  readonly set: (bytes: number, chunks?: number) => void
}

interface Network {
  bytes: number
  readonly parts: Set<Part>
}

class Part implements Held {
  bytes = 0
  readonly network: string
  readonly drop: () => void
  private readonly budget: Budget
  constructor(budget: Budget, network: string, drop: () => void) {
    this.budget = budget
    this.network = network
    this.drop = drop
  }
  set(bytes: number, chunks = 0): void {
    this.budget.set(this, bytes + chunks * CHUNK_BYTES)
  }
}

export class Budget {
  private readonly max: number
  private total = 0
  private readonly networks = new Map<string, Network>()

  constructor(max: number) {
    this.max = max
  }

  /** Bytes of all connections. */
  get held(): number {
    return this.total
  }

  /** Registers one connection; `drop` ends it, and is called at most once for its input. */
  open(address: string, drop: () => void): Held {
    return new Part(this, networkOf(address), drop)
  }

  set(part: Part, bytes: number): void {
    const network = this.networks.get(part.network) ?? { bytes: 0, parts: new Set() }
    network.bytes += bytes - part.bytes
    this.total += bytes - part.bytes
    part.bytes = bytes
    if (bytes > 0) {
      network.parts.add(part)
      this.networks.set(part.network, network)
    } else {
      network.parts.delete(part)
      if (network.parts.size === 0) this.networks.delete(part.network)
    }
    while (this.total > this.max) this.relieve()
  }

  /** Drops the largest part of the address with the most input. */
  private relieve(): void {
    let most: Network | undefined
    for (const network of this.networks.values()) if (most === undefined || network.bytes > most.bytes) most = network
    let largest: Part | undefined
    for (const part of most!.parts) if (largest === undefined || part.bytes > largest.bytes) largest = part
    this.set(largest!, 0)
    largest!.drop()
  }
}

/** The budget of a gateway. */
export const InboundBudget = Context.Reference<Budget>("gateway/services/InboundBudget", {
  defaultValue: () => new Budget(transportLimits.unfinished_total_bytes.figure)
})
