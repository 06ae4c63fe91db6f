/**
 * Policy: cursors of lists, authenticated with the key that all gateways share.
 * Source: docs/contract/conventions.md#paging.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import * as Cursor from "../../domain/Cursor.ts"
import type { RowKey } from "../../domain/Page.ts"
import { DomainError } from "../DomainError.ts"
import type { Page } from "./Paging.ts"
import { SigningKeys } from "./SigningKeys.ts"

/** A list with its filters; the user is one of them. A cursor is valid for one list. */
export interface List {
  readonly endpoint: string
  readonly filters: Cursor.Filters
}

const invalid = new DomainError("InvalidCursor", { field: "cursor" })

export class Cursors extends Context.Service<
  Cursors,
  {
    /** The cursor of the next page; `""` if there is none. */
    readonly print: (list: List, rowKey: string | undefined) => string
    /** The page of rows that were read with one more than the limit, which shows whether another page follows. */
    readonly page: <A>(list: List, rows: ReadonlyArray<A>, limit: number, keyOf: (row: A) => string) => Page<A>
    /** The row key of a cursor; `undefined` to read from the start. */
    readonly read: (
      list: List,
      cursor: string | undefined
    ) => Effect.Effect<string | undefined, DomainError<"InvalidCursor">>
  }
>()("gateway/services/Cursors") {
  static readonly layer: Layer.Layer<Cursors, never, SigningKeys> = Layer.effect(
    Cursors,
    Effect.gen(function* () {
      const { cursorKey } = yield* SigningKeys
      const key = Redacted.value(cursorKey)
      const print: Cursors["Service"]["print"] = (list, rowKey) =>
        rowKey === undefined ? "" : Cursor.print(key, list.endpoint, list.filters, rowKey)
      return Cursors.of({
        print,
        page: (list, rows, limit, keyOf) => {
          const shown = rows.slice(0, limit)
          return { list: shown, next_page_cursor: print(list, rows.length > limit ? keyOf(shown.at(-1)!) : undefined) }
        },
        read: (list, cursor) => {
          if (cursor === undefined) return Effect.undefined
          const rowKey = Cursor.parse(key, list.endpoint, list.filters, cursor)
          return rowKey === undefined ? Effect.fail(invalid) : Effect.succeed(rowKey)
        }
      })
    })
  )
}

/** Row keys of lists ordered by (time, id), as text. */
export const printRowKey = (key: RowKey | undefined): string | undefined =>
  key === undefined ? undefined : `${key.time}.${key.id}`
export const parseRowKey = (text: string | undefined): RowKey | undefined => {
  if (text === undefined) return undefined
  const [time, id] = text.split(".")
  return { time: Number(time), id: Number(id) }
}
