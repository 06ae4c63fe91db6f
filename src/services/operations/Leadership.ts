/**
 * Port: which of the gateways that share a read model writes it.
 *
 * Guarantee: eventually one gateway leads, and after its failure another one does. For a moment two may consider
 * themselves the leader, for example after a suspension or a network partition. This is harmless, because the read
 * model accepts only the projection that follows its position ({@link History.commit}). By default a gateway shares
 * its read model with no other and always leads.
 */
import { Context, Effect } from "effect"

export class Leadership extends Context.Reference<{
  /** Number of times that this gateway became the leader; `undefined` while it does not lead. */
  readonly term: () => number | undefined
  /** Stops leading for a while, because this gateway cannot commit: another one may be able to. */
  readonly resign: Effect.Effect<void>
}>("gateway/services/Leadership", { defaultValue: () => ({ term: () => 1, resign: Effect.void }) }) {}
