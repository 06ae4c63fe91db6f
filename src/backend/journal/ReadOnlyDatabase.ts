/** Opens databases for reading, also where nothing can be written beside them, as in a backup on a read-only file system. */
import { existsSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"

/** SQLITE_CANTOPEN, the low byte of its extended codes. */
const CANNOT_OPEN = 14

/**
 * Opens a database for reading. SQLite makes an index of the write-ahead log beside the file, even of no log. Where it
 * cannot and there is no log, nobody writes the file either, so it is read as one that never changes.
 */
export const open = (path: string): DatabaseSync => {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get()
    return db
  } catch (cause) {
    db.close()
    const { errcode = 0 } = cause as { readonly errcode?: number }
    if ((errcode & 0xff) !== CANNOT_OPEN || existsSync(`${path}-wal`)) throw cause
    const url = pathToFileURL(path)
    url.searchParams.set("immutable", "1")
    return new DatabaseSync(url, { readOnly: true })
  }
}
