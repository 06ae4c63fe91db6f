/** Cursor paging: requests and responses. Source: docs/contract/conventions.md#paging. */
import { Schema } from "effect"
import { field, measure } from "./Field.ts"

/** Page size of ordinary lists. */
export const LIMIT_DEFAULT = 50
export const LIMIT_MAX = 200
/** Page size of market histories. */
export const MARKET_LIMIT_DEFAULT = 100
export const MARKET_LIMIT_MAX = 1000

/** Opaque position in a list; `""` on the last page. */
export const NextPageCursor = Schema.String.annotate({
  description:
    'Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one',
  examples: [""]
})

/** A list response that is whole. */
export const list = <S extends Schema.Top>(item: S) => Schema.Struct({ list: field(Schema.Array(item), "Rows") })

/** A list response with its cursor. */
export const page = <S extends Schema.Top>(item: S) =>
  Schema.Struct({ ...list(item).fields, next_page_cursor: NextPageCursor })

/** The position in the user stream of a list of the current state. */
export const streamPosition = {
  stream_id: field(Schema.String, "Identity of the numbering of the user stream"),
  seq: measure(Schema.Int, "The list contains every event of the user stream up to this position", "position")
}

/** Position of a row in a list ordered newest first by (time, id), both descending. */
export interface RowKey {
  readonly time: number
  readonly id: number
}

/** One page of rows from a port; `next` is the key of the last row if more rows follow. */
export interface Rows<A> {
  readonly rows: ReadonlyArray<A>
  readonly next: RowKey | undefined
  /**
   * JSON text of each row, encoded when its event arrived, if the port stores it. A response is joined from the
   * texts.
   */
  readonly texts?: ReadonlyArray<string>
}

/** Rows stored as text, decoded on first access. */
export class TextRows<A> implements Rows<A> {
  readonly texts: ReadonlyArray<string>
  readonly next: RowKey | undefined
  private decoded: ReadonlyArray<A> | undefined
  constructor(texts: ReadonlyArray<string>, next: RowKey | undefined) {
    this.texts = texts
    this.next = next
  }
  get rows(): ReadonlyArray<A> {
    return (this.decoded ??= this.texts.map((text) => JSON.parse(text) as A))
  }
}
