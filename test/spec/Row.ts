/** One endpoint of the table: a valid request, and its own reasons of refusal. */
import type { Scope } from "../../src/domain/Enumerations.ts"
import type { Reason } from "../../src/domain/Reason.ts"
import type { World } from "./World.ts"

export interface Ask {
  /** Values of the path parameters. */
  readonly path?: Record<string, string>
  readonly query?: Record<string, string>
  readonly body?: Record<string, unknown>
  /** The credential to use instead of the owner's token. */
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
  /** A valid request, built anew for each use, since some are accepted only once. */
  readonly ok: (world: World) => Ask | Promise<Ask>
  readonly refuses?: ReadonlyArray<Refusal>
  /** The response to a frozen sub-account; by default it is served as any other. */
  readonly frozen?: "refused"
}

export const refuses = (status: number, reason: Reason, ask: Refusal["ask"]): Refusal => ({ status, reason, ask })
