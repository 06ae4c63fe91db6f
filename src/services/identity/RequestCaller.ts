/**
 * The caller of the current request, with the fields that services and adapters may use; `undefined` for actions of
 * the gateway itself. Servers put the whole caller into the context under this key.
 */
import { Context } from "effect"
import type { Grant } from "../../domain/Grant.ts"
import { CALLER_KEY } from "../../domain/User.ts"

export const RequestCaller = Context.Reference<{ readonly grant: Grant } | undefined>(CALLER_KEY, {
  defaultValue: () => undefined
})
