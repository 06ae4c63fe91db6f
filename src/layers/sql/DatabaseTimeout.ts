/** The errors of statements that PostgreSQL did not complete. */
import { SqlError } from "effect/sql"

export const lost = (message: string, operation: string): SqlError.SqlError =>
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ message, operation, cause: new Error(message) }) })

export const timedOut = (): SqlError.SqlError => lost("PostgreSQL does not respond", "execute")
