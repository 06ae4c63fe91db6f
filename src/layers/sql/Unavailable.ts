/** Failures of the database as the error of the stores of accounts. */
import { Effect, type Schema } from "effect"
import type { SqlError } from "effect/sql"
import { AccountsUnavailable } from "../../services/identity/Accounts.ts"

/** The error of a store whose database failed. */
export const unavailable = (cause: unknown) => new AccountsUnavailable({ cause })

/** Maps each failure of the database, also a row that does not have its form. */
export const orUnavailable = <A>(effect: Effect.Effect<A, SqlError.SqlError | Schema.SchemaError>) =>
  Effect.mapError(effect, unavailable)
