/**
 * Cursor paging: what a caller asks and what a list answers. Source: specification, Pagination;
 * docs/contract/conventions.md#paging.
 */
import { Schema } from "effect"

/** Page size of ordinary lists. */
export const LIMIT_DEFAULT = 50
export const LIMIT_MAX = 200
/** Page size of market histories. */
export const MARKET_LIMIT_DEFAULT = 100
export const MARKET_LIMIT_MAX = 1000

/** Opaque position in a list; `""` on the last page. */
export const NextPageCursor = Schema.String.annotate({
  description:
    'Send it as `cursor` to read the next page; "" on the last page only: a page that a filter leaves short or empty goes on here',
  examples: [""]
})

/** A list answer with its cursor. */
export const page = <S extends Schema.Top>(item: S) =>
  Schema.Struct({ list: Schema.Array(item), next_page_cursor: NextPageCursor })

/** Where a row stands in a list ordered newest first by (time, id): both descending. */
export interface RowKey {
  readonly time: number
  readonly id: number
}

/** One page of rows as a port answers it; `next` is the key of the last row where more rows follow. */
export interface Rows<A> {
  readonly rows: ReadonlyArray<A>
  readonly next: RowKey | undefined
  /** JSON text of each row as it was encoded when its event came, where the port has it: a list is joined from it. */
  readonly texts?: ReadonlyArray<string>
}

/** Rows that are kept as text: they are decoded once somebody looks into them. */
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
