/** Lists over plain rows: filtered, sorted and cut on every question. */
import { Effect } from "effect"
import type { RowKey, Rows } from "../../domain/Page.ts"
import type { ListQuery } from "../../services/History.ts"

export interface Row<A> {
  readonly user_id: string
  readonly key: RowKey
  readonly value: A
}

/** Newest first. */
export const newest = (a: RowKey, b: RowKey): number => b.time - a.time || b.id - a.id

export const list = <A>(
  rows: Iterable<Row<A>>,
  { user_id, start_time, end_time, after, limit }: ListQuery,
  keep: (value: A) => boolean
): Effect.Effect<Rows<A>> =>
  Effect.sync(() => {
    const found = [...rows]
      .filter(
        (row) =>
          row.user_id === user_id &&
          (start_time === undefined || row.key.time >= start_time) &&
          (end_time === undefined || row.key.time < end_time) &&
          (after === undefined || newest(row.key, after) > 0) &&
          keep(row.value)
      )
      .sort((a, b) => newest(a.key, b.key))
    const page = found.slice(0, limit)
    return { rows: page.map((row) => row.value), next: found.length > limit ? page.at(-1)!.key : undefined }
  })

/** Whether a filter that may be absent lets a value pass. */
export const is = <A>(filter: A | undefined, value: A): boolean => filter === undefined || filter === value
export const among = <A>(filter: ReadonlyArray<A> | undefined, ...values: ReadonlyArray<A | undefined>): boolean =>
  filter === undefined || values.some((value) => value !== undefined && filter.includes(value))
