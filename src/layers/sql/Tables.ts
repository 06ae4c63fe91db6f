/** What the parts of the read model write and read tables with: many-row statements whose texts are made once, and lists. */
import { Effect } from "effect"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import { type Rows, TextRows } from "../../domain/Page.ts"
import { HistoryUnavailable, type ListQuery } from "../../services/History.ts"
import { dialect } from "./Dialect.ts"

/** Rows of one statement: few shapes, so that their texts stay prepared. */
const CHUNKS = [64, 8, 1] as const
export type Value = string | number | null
export type Row = ReadonlyArray<Value>
export type Write = Effect.Effect<void, SqlError.SqlError>

/** Writes rows of one table, many a statement. */
export type Writer = (connection: SqlConnection.Connection, rows: ReadonlyArray<Row>) => Write

/** Conditions of a list, gathered with their values. */
export class Where {
  private readonly terms: Array<string> = []
  readonly values: Array<Value> = []
  and(term: string, ...values: ReadonlyArray<Value>): this {
    this.terms.push(term)
    this.values.push(...values)
    return this
  }
  /** Asks for nothing where there is no value. */
  when(value: Value | undefined, term: string): this {
    return value === undefined ? this : this.and(term, value)
  }
  among(column: string, values: ReadonlyArray<string> | undefined): this {
    if (values === undefined) return this
    if (values.length === 0) return this.and("1 = 0")
    if (values.length === 1) return this.and(`${column} = ?`, values[0]!)
    return this.and(`${column} IN (${values.map(() => "?").join(", ")})`, ...values)
  }
  toString(): string {
    return this.terms.length === 0 ? "1 = 1" : this.terms.join(" AND ")
  }
}

/** A row that is kept as the JSON text of its record. */
export interface RecordRow {
  readonly record: string
}
interface ListRow extends RecordRow {
  readonly time: number | string
  readonly id: number | string
}

/** Every statement here is a `?` statement, translated to the database's dialect. */
export interface Tables {
  /** Rows of a statement; fails where the database does. */
  readonly query: <A extends object>(
    text: string,
    values?: ReadonlyArray<Value>
  ) => Effect.Effect<ReadonlyArray<A>, HistoryUnavailable>
  /** Inserts rows; `conflict` says what becomes of those whose key is there. */
  readonly writer: (table: string, columns: ReadonlyArray<string>, conflict: string) => Writer
  /** The conflict clause by which the new row takes the place of the old. */
  readonly replace: (key: string, columns: ReadonlyArray<string>) => string
  /** One page of a list, newest first, looked ahead by one row. */
  readonly list: <A>(
    table: string,
    time: string,
    where: Where,
    page: Pick<ListQuery, "after" | "limit">
  ) => Effect.Effect<Rows<A>, HistoryUnavailable>
  /**
   * Rows of a user in a span of time. `narrow`: another condition leaves few rows, whose index is better than that of the
   * user's list; an expression keeps the planner from the latter.
   */
  readonly owned: (time: string, query: ListQuery, narrow?: boolean) => Where
}

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { statement } = yield* dialect

  const query = <A extends object>(text: string, values: ReadonlyArray<Value> = []) =>
    Effect.mapError(sql.unsafe<A>(statement(text), values), (cause) => new HistoryUnavailable({ cause }))

  const writer = (table: string, columns: ReadonlyArray<string>, conflict: string): Writer => {
    const values = `(${columns.map(() => "?").join(", ")})`
    const texts = CHUNKS.map((count) =>
      statement(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array.from({ length: count }, () => values).join(", ")} ${conflict}`
      )
    )
    return Effect.fnUntraced(function* (connection, rows) {
      let at = 0
      while (at < rows.length) {
        const shape = CHUNKS.findIndex((count) => rows.length - at >= count)
        const count = CHUNKS[shape]!
        yield* connection.executeRaw(texts[shape]!, rows.slice(at, at + count).flat())
        at += count
      }
    })
  }
  const replace = (key: string, columns: ReadonlyArray<string>): string =>
    `ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`

  const list = <A>(table: string, time: string, where: Where, { after, limit }: Pick<ListQuery, "after" | "limit">) => {
    if (after !== undefined) where.and(`(${time}, id) < (?, ?)`, after.time, after.id)
    return Effect.map(
      query<ListRow>(
        `SELECT ${time} AS time, id, record FROM ${table} WHERE ${where} ORDER BY ${time} DESC, id DESC LIMIT ?`,
        [...where.values, limit + 1]
      ),
      (rows): Rows<A> => {
        const last = rows.length > limit ? rows[limit - 1] : undefined
        const texts = rows.slice(0, limit).map(({ record }) => record)
        return new TextRows<A>(texts, last && { time: Number(last.time), id: Number(last.id) })
      }
    )
  }
  const owned = (time: string, { user_id, start_time, end_time }: ListQuery, narrow = false): Where =>
    new Where()
      .and(narrow ? "user_id || '' = ?" : "user_id = ?", user_id)
      .when(start_time, `${time} >= ?`)
      .when(end_time, `${time} < ?`)

  const tables: Tables = { query, writer, replace, list, owned }
  return tables
})
