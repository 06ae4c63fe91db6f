/** A statement that a PostgreSQL did not answer, as the error that it is to who waits. */
import { SqlError } from "effect/sql"

export const lost = (message: string, operation: string): SqlError.SqlError =>
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ message, operation, cause: new Error(message) }) })

export const unanswered = (): SqlError.SqlError => lost("PostgreSQL does not answer", "execute")
