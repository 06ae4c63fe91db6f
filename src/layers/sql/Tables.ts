/** Shared tools of the read model: many-row statements with prepared texts, and paged lists. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type RowKey, type Rows, TextRows } from "../../domain/Page.ts"
import { HistoryUnavailable, type ListQuery, SCAN_MAX } from "../../services/History.ts"
import { dialect } from "./Dialect.ts"

/** Rows per statement: few sizes, so that their texts stay prepared. */
const CHUNKS = [64, 8, 1] as const
/** Index entries that the steps of a filtered page read: most pages are full after the first step. */
const SCAN_STEPS = [1_000, SCAN_MAX - 1_000] as const
/** The same where each entry also reads a row of the table. */
const SCAN_STEPS_OF_ROWS = [1_000] as const
export type Value = string | number | null
export type Row = ReadonlyArray<Value>

/** A statement in the dialect of the database, with its values. */
export type Statement = readonly [text: string, values: ReadonlyArray<Value>]

/** Statements that insert rows of one table, many per statement. */
export type Writer = (rows: ReadonlyArray<Row>) => ReadonlyArray<Statement>

/** A conjunction of SQL conditions with their values. */
export class Where {
  private readonly terms: Array<string> = []
  readonly values: Array<Value> = []
  and(term: string, ...values: ReadonlyArray<Value>): this {
    this.terms.push(term)
    this.values.push(...values)
    return this
  }
  /** Adds the condition unless the value is undefined. */
  when(value: Value | undefined, term: string): this {
    return value === undefined ? this : this.and(term, value)
  }
  among(column: string, values: ReadonlyArray<string> | undefined): this {
    if (values === undefined) return this
    if (values.length === 0) return this.and("1 = 0")
    if (values.length === 1) return this.and(`${column} = ?`, values[0]!)
    return this.and(`${column} IN (${values.map(() => "?").join(", ")})`, ...values)
  }
  get isEmpty(): boolean {
    return this.terms.length === 0
  }
  /** A new conjunction of both. */
  with(other: Where): Where {
    const all = new Where()
    all.terms.push(...this.terms, ...other.terms)
    all.values.push(...this.values, ...other.values)
    return all
  }
  toString(): string {
    return this.terms.length === 0 ? "1 = 1" : this.terms.join(" AND ")
  }
}

/** A row whose record is stored as JSON text. */
export interface RecordRow {
  readonly record: string
}

/** The record of a row. Text that is no JSON is damage of the disk that the database has not noticed. */
export const decode = <A>({ record }: RecordRow): A => {
  try {
    return JSON.parse(record) as A
  } catch (cause) {
    const advice = 'see docs/operations/backup.md, "Another damaged file"'
    throw new Error(`the history is damaged: a record is no JSON; ${advice}`, { cause })
  }
}
interface ListRow extends RecordRow {
  readonly time: number
  readonly id: number
}
const keyOf = (row: Omit<ListRow, "record">): RowKey => ({ time: row.time, id: row.id })

/**
 * A list as one range of one index. The columns after `id` in the index serve the filter; `covers` says whether the index
 * contains every column that the filter reads.
 */
export interface Ranged {
  readonly table: string
  readonly time: string
  /** Undefined: the range contains few rows, and the planner finds an index for them. */
  readonly index?: string
  /** Equalities on the columns before `time`. */
  readonly range: Where
  /** Conditions that each row of the range is checked against. */
  readonly filter?: Where
  readonly covers?: boolean
}
type Span = Pick<ListQuery, "after" | "limit"> & Partial<Pick<ListQuery, "start_time" | "end_time">>

/** Statements are written with `?` placeholders and translated to the dialect of the database. */
export interface Tables {
  /** Rows of a statement. */
  readonly query: <A extends object>(
    text: string,
    values?: ReadonlyArray<Value>
  ) => Effect.Effect<ReadonlyArray<A>, HistoryUnavailable>
  /** Inserts rows; `conflict` is the ON CONFLICT clause. */
  readonly writer: (table: string, columns: ReadonlyArray<string>, conflict: string) => Writer
  /** The conflict clause with which a new row replaces the old one. */
  readonly replace: (key: string, columns: ReadonlyArray<string>) => string
  /**
   * One page of a list, newest first. Reads one row more than the page to find out whether another follows. With a filter it
   * reads at most {@link SCAN_MAX} index entries: the page may then hold fewer rows than its limit, and `next` is the last
   * entry that was read.
   */
  readonly list: <A>(of: Ranged, span: Span) => Effect.Effect<Rows<A>, HistoryUnavailable>
  /** The same over several ranges, merged newest first. */
  readonly merged: <A>(of: ReadonlyArray<Ranged>, span: Span) => Effect.Effect<Rows<A>, HistoryUnavailable>
  /** The key of the `reach`-th newest entry of a range; undefined where no entry follows it. */
  readonly keyAt: (of: Ranged, reach: number) => Effect.Effect<RowKey | undefined, HistoryUnavailable>
}

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { indexed, statement } = yield* dialect

  const query = <A extends object>(text: string, values: ReadonlyArray<Value> = []) =>
    Effect.mapError(sql.unsafe<A>(statement(text), values), (cause) => new HistoryUnavailable({ cause }))

  const writer = (table: string, columns: ReadonlyArray<string>, conflict: string): Writer => {
    const values = `(${columns.map(() => "?").join(", ")})`
    const texts = CHUNKS.map((count) =>
      statement(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array.from({ length: count }, () => values).join(", ")} ${conflict}`
      )
    )
    return (rows) => {
      const statements: Array<Statement> = []
      let at = 0
      while (at < rows.length) {
        const shape = CHUNKS.findIndex((count) => rows.length - at >= count)
        const count = CHUNKS[shape]!
        statements.push([texts[shape]!, count === 1 ? rows[at]! : rows.slice(at, at + count).flat()])
        at += count
      }
      return statements
    }
  }
  const replace = (key: string, columns: ReadonlyArray<string>): string =>
    `ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`

  const within = ({ time }: Ranged, { after, start_time, end_time }: Omit<Span, "limit">, edge?: RowKey): Where => {
    const where = new Where()
    // one bound per side: of two, SQLite uses either one, and the other does not end the scan
    if (after !== undefined) where.and(`(${time}, id) < (?, ?)`, after.time, after.id)
    else where.when(end_time, `${time} < ?`)
    if (edge !== undefined) where.and(`(${time}, id) >= (?, ?)`, edge.time, edge.id)
    else where.when(start_time, `${time} >= ?`)
    return where
  }
  const ordered = ({ index, table, time }: Ranged, columns: string, where: Where): string =>
    `SELECT ${columns} FROM ${table}${index === undefined ? "" : indexed(index)} WHERE ${where} ORDER BY ${time} DESC, id DESC`

  const rowsOf = (of: Ranged, span: Omit<Span, "limit">, count: number, edge?: RowKey) => {
    const where = of.range.with(within(of, span, edge)).with(of.filter ?? new Where())
    return query<ListRow>(`${ordered(of, `${of.time} AS time, id, record`, where)} LIMIT ?`, [...where.values, count])
  }
  /** The key of the row that is `reach` rows after the start; undefined where no row follows it. */
  const edgeOf = (of: Ranged, span: Omit<Span, "limit">, reach: number) => {
    const where = of.range.with(within(of, span))
    return Effect.map(
      query<ListRow>(`${ordered(of, `${of.time} AS time, id`, where)} LIMIT 2 OFFSET ?`, [...where.values, reach - 1]),
      ([row, next]) => (next === undefined ? undefined : keyOf(row!))
    )
  }
  const pageOf = <A>(rows: ReadonlyArray<ListRow>, limit: number, edge?: RowKey): Rows<A> => {
    const next = rows.length > limit ? keyOf(rows[limit - 1]!) : edge
    const texts = rows.slice(0, limit).map(({ record }) => record)
    return new TextRows<A>(texts, next)
  }

  const list = Effect.fnUntraced(function* <A>(of: Ranged, span: Span): Effect.fn.Return<Rows<A>, HistoryUnavailable> {
    const { limit } = span
    if (of.filter?.isEmpty !== false) return pageOf<A>(yield* rowsOf(of, span, limit + 1), limit)
    const rows: Array<ListRow> = []
    let { after } = span
    for (const reach of of.covers === false ? SCAN_STEPS_OF_ROWS : SCAN_STEPS) {
      const edge = yield* edgeOf(of, { ...span, after }, reach)
      rows.push(...(yield* rowsOf(of, { ...span, after }, limit + 1 - rows.length, edge)))
      if (rows.length > limit || edge === undefined) return pageOf<A>(rows, limit)
      after = edge
    }
    return pageOf<A>(rows, limit, after)
  })
  const merged: Tables["merged"] = <A>(of: ReadonlyArray<Ranged>, span: Span) => {
    if (of.length === 1) return list<A>(of[0]!, span)
    return Effect.map(
      Effect.forEach(of, (one) => rowsOf(one, span, span.limit + 1)),
      (found) => {
        const rows = found.flat().sort((a, b) => b.time - a.time || b.id - a.id)
        return pageOf<A>(rows, span.limit)
      }
    )
  }
  const keyAt: Tables["keyAt"] = (of, reach) => edgeOf(of, { after: undefined }, reach)

  const tables: Tables = { query, writer, replace, list, merged, keyAt }
  return tables
})
