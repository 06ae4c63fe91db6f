/**
 * The permanent index of order_link_ids: order ids by account and link, in a table of the journal.
 *
 * A damaged page must not hide a link, because an order could then use it again. The rows form a chain in the order of their
 * keys: the checksum of a row covers the row and the key after it. A lookup reads the row at or before a key, and the one after
 * it. Their checksum proves that the row is unaltered, and, where no row has the key, that there never was one between the two.
 * A first row without an account begins the chain.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { crc32 } from "node:zlib"
import { JournalError, readError, RECOVERY_HINT } from "./JournalError.ts"
import type { Row } from "./JournalSchema.ts"

/** Recent links per generation in memory, of two generations; older ones are read from the file. */
const RECENT_MAX = 50_000

interface Link {
  readonly account: number
  readonly link: string
  readonly order_id: string
}

/** A place in the order of keys: the row at or before a key, and the key after that row. */
interface Place {
  readonly at: Link
  readonly after: string
}

const FIRST: Link = { account: -1, link: "", order_id: "" }
/** The key after the last row. */
const END = ""

const INSERT = "INSERT INTO links (account, link, order_id, checksum) VALUES (?, ?, ?, ?)"
const UPDATE = "UPDATE links SET checksum = ? WHERE account = ? AND link = ?"
const PLACE = `
  SELECT * FROM (
    SELECT account, link, order_id, checksum FROM links WHERE (account, link) <= (?, ?) ORDER BY account DESC, link DESC LIMIT 1
  ) UNION ALL SELECT * FROM (
    SELECT account, link, order_id, checksum FROM links WHERE (account, link) > (?, ?) ORDER BY account, link LIMIT 1
  )`

const keyOf = (account: number, link: string): string => `${account} ${link}`
const checksumOf = ({ account, link, order_id }: Link, after: string): number =>
  crc32(`${account} ${link} ${order_id} ${after}`)

const isChained = (db: DatabaseSync): boolean =>
  db.prepare("SELECT 1 FROM pragma_table_info('links') WHERE name = 'checksum'").get() !== undefined

/** Begins the chain of an empty table. */
export const begin = (db: DatabaseSync): void => {
  const { account, link, order_id } = FIRST
  db.prepare(INSERT).run(account, link, order_id, checksumOf(FIRST, END))
}

/** Chains the rows of a table of layout 7 or older, in the open transaction. */
export const chain = (db: DatabaseSync): void => {
  if (isChained(db)) return
  db.exec("ALTER TABLE links ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
  begin(db)
  const update = db.prepare(UPDATE)
  const next = db.prepare(
    "SELECT account, link, order_id FROM links WHERE (account, link) > (?, ?) ORDER BY account, link LIMIT 1"
  )
  let at: Link | undefined = FIRST
  while (at !== undefined) {
    const after = next.get(at.account, at.link) as Link | undefined
    update.run(checksumOf(at, after === undefined ? END : keyOf(after.account, after.link)), at.account, at.link)
    at = after
  }
}

/** The links of a journal, those of the open transaction included. */
export class LinkIndex {
  private readonly db: DatabaseSync
  private readonly path: string
  private readonly isChained: boolean
  private readonly placeStatement: StatementSync
  /** Prepared on first use: only a writer adds links. */
  private insertStatement: StatementSync | undefined
  private updateStatement: StatementSync | undefined
  private recent = new Map<string, string>()
  private before = new Map<string, string>()
  /** The last key that was not found, and its place: an order looks its link up before it adds it. */
  private missing: { readonly key: string; readonly place: Place } | undefined

  constructor(db: DatabaseSync, path: string) {
    this.db = db
    this.path = path
    // a reader does not change a file of an older layout
    this.isChained = isChained(db)
    this.placeStatement = db.prepare(this.isChained ? PLACE : PLACE.replaceAll("checksum", "0"))
  }

  /** The order id of an account's link. Throws {@link JournalError} where the index is damaged at this place. */
  find(account: number, link: string): string | undefined {
    const key = keyOf(account, link)
    const recent = this.recent.get(key) ?? this.before.get(key)
    if (recent !== undefined) return recent
    const place = this.placeOf(account, link)
    if (place.at.account === account && place.at.link === link) return place.at.order_id
    this.missing = { key, place }
    return undefined
  }

  /** Adds a link that does not exist, in the open transaction. */
  add(account: number, link: string, order_id: string): void {
    const key = keyOf(account, link)
    const { after, at } = this.missing?.key === key ? this.missing.place : this.placeOf(account, link)
    this.missing = undefined
    this.insertStatement ??= this.db.prepare(INSERT)
    this.updateStatement ??= this.db.prepare(UPDATE)
    this.insertStatement.run(account, link, order_id, checksumOf({ account, link, order_id }, after))
    this.updateStatement.run(checksumOf(at, key), at.account, at.link)
    if (this.recent.size >= RECENT_MAX) {
      this.before = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, order_id)
  }

  /** Drops what is in memory, after a rollback. */
  clear(): void {
    this.recent.clear()
    this.before.clear()
    this.missing = undefined
  }

  private placeOf(account: number, link: string): Place {
    let rows: ReadonlyArray<Row>
    try {
      rows = this.placeStatement.all(account, link, account, link) as ReadonlyArray<Row>
    } catch (cause) {
      throw readError(this.path, `at order_link_id ${link}`, cause)
    }
    const [found, next] = rows as unknown as ReadonlyArray<Link & { readonly checksum: number }>
    const at = found ?? FIRST
    const after = next === undefined ? END : keyOf(next.account, next.link)
    if (this.isChained && found?.checksum !== checksumOf(at, after))
      throw new JournalError({
        message: `${this.path} is damaged: the index of order_link_ids does not match its checksum at ${link}. ${RECOVERY_HINT}`
      })
    return { at, after }
  }
}
