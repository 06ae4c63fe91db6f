/** One endpoint of the table: how it is asked well, and what it refuses of its own. */
import type { Scope } from "../../src/domain/Enumerations.ts"
import type { Reason } from "../../src/domain/Reason.ts"
import type { World } from "./World.ts"

export interface Ask {
  /** Values of the parameters in the path. */
  readonly path?: Record<string, string>
  readonly query?: Record<string, string>
  readonly body?: Record<string, unknown>
  /** In place of the owner's token. */
  readonly token?: string
}
export interface Refusal {
  readonly reason: Reason
  readonly status: number
  readonly ask: (world: World) => Ask | Promise<Ask>
}
export interface Row {
  readonly access: "none" | "bearer" | "basic" | Scope
  readonly status?: 201
  /** A request that is taken; asked for anew each time, since some can be taken once only. */
  readonly ok: (world: World) => Ask | Promise<Ask>
  readonly refuses?: ReadonlyArray<Refusal>
  /** What a frozen sub-account is told; by default it is served like any other. */
  readonly frozen?: "refused"
}

export const refuses = (status: number, reason: Reason, ask: Refusal["ask"]): Refusal => ({ status, reason, ask })
