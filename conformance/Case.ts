/** A case of the suite. */
import type { Effect } from "effect"
import type { Broken } from "./Expect.ts"
import type { World } from "./World.ts"

/**
 * `core`: every gateway needs it. `full`: the whole market of docs/contract/orders.md, docs/contract/boundary.md,
 * docs/contract/exchange.md.
 */
export type Level = "core" | "full"

export interface Case {
  /** Unique; what `--only` takes. */
  readonly name: string
  readonly level: Level
  /** Where the contract or the comments in proto/gateway/v1 demand it. */
  readonly clause: string
  /** One sentence: what holds of a backend that passes. */
  readonly claim: string
  readonly run: Effect.Effect<void, Broken, World>
}
