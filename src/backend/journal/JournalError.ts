/** Errors of the journal, with advice for the operator. */
import { Schema } from "effect"

/** The journal cannot be opened or read, or is damaged. `message` includes what the operator can do. */
export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

/** Advice for the operator of a damaged journal. */
export const RECOVERY_HINT = `Nothing was started. Restore the last backup: docs/operations/backup.md, "A damaged journal"`

/** Advice for the operator of a shared journal that lacks entries. */
export const RESTORED_HINT =
  "They may have been acknowledged. If the database was restored, or a standby without them was promoted, stop all backends " +
  `and run "npm run backend -- restore"; otherwise correct JOURNAL_URL: docs/operations/standby.md`

/** Wraps an error as a JournalError about a file that cannot be read; keeps a JournalError. */
export const readError = (path: string, where: string, cause: unknown): JournalError =>
  cause instanceof JournalError
    ? cause
    : new JournalError({
        message: `${path} cannot be read ${where}: ${(cause as Error).message}. ${RECOVERY_HINT}`,
        cause
      })

/** Result codes of SQLite for a file that is damaged, or is no database. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26])

/** Wraps an error of opening a journal; keeps a JournalError. A file that is damaged needs other advice than one that may not be opened. */
export const openError = (path: string, cause: unknown): JournalError => {
  if (cause instanceof JournalError) return cause
  const { errcode = 0, message } = cause as Error & { readonly errcode?: number }
  // the low byte of an extended code is the code
  const advice = DAMAGED.has(errcode & 0xff) ? `. ${RECOVERY_HINT}` : ""
  return new JournalError({ message: `cannot open the journal ${path}: ${message}${advice}`, cause })
}

/** Result codes of SQLite for what another attempt may do: busy, locked, no memory, an error of the disk, full, cannot open. */
const PASSING: ReadonlySet<number> = new Set([5, 6, 7, 10, 13, 14])

/** Whether an error says nothing of what a journal contains, such as one of too few open files. */
export const isPassing = (error: unknown): boolean => {
  const { errcode = 0 } = ((error instanceof JournalError ? error.cause : error) ?? {}) as { readonly errcode?: number }
  return PASSING.has(errcode & 0xff)
}
