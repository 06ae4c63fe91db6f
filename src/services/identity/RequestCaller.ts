/**
 * The caller of the request that is being served, as services and adapters may know it; `undefined`: the gateway acts by
 * itself. The doors put the whole caller into the context under this key.
 */
import { Context } from "effect"
import type { Grant } from "../../domain/Grant.ts"
import { CALLER_KEY } from "../../domain/User.ts"

export const RequestCaller = Context.Reference<{ readonly grant: Grant } | undefined>(CALLER_KEY, {
  defaultValue: () => undefined
})
