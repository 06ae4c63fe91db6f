/**
 * Port: which of the gateways that share a read model writes it.
 *
 * Guarantee: in the long run one leads, and when it is gone another one does. For a moment two may think that they lead (one was
 * suspended, or its way to the database is): no harm is done by it, since the read model takes only what follows its
 * position ({@link History.commit}). A gateway that shares its read model with nobody leads always, which is the default.
 */
import { Context } from "effect"

export class Leadership extends Context.Reference<{
  /** Counts the times that this gateway came to lead; `undefined`: another one leads, or nobody does for now. */
  readonly term: () => number | undefined
}>("gateway/services/Leadership", { defaultValue: () => ({ term: () => 1 }) }) {}
