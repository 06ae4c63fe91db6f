/** Policy: cursors of lists, under the key that all gateways share. Source: docs/contract/conventions.md#paging. */
import { Context, Effect, Layer, Redacted } from "effect"
import * as Cursor from "../../domain/Cursor.ts"
import type { RowKey } from "../../domain/Page.ts"
import { DomainError } from "../DomainError.ts"
import { SigningKeys } from "./SigningKeys.ts"

/** A list with the filters that its cursors belong to; the user is one of them. */
export interface List {
  readonly endpoint: string
  readonly filters: Cursor.Filters
}

const invalid = new DomainError("InvalidCursor", { field: "cursor" })

export class Cursors extends Context.Service<
  Cursors,
  {
    /** Text after which the next page starts; `""` where there is none. */
    readonly print: (list: List, rowKey: string | undefined) => string
    /** The key after which to go on; `undefined` from the start. */
    readonly read: (list: List, cursor: string | undefined) => Effect.Effect<string | undefined, DomainError>
  }
>()("gateway/services/Cursors") {
  static readonly layer: Layer.Layer<Cursors, never, SigningKeys> = Layer.effect(
    Cursors,
    Effect.gen(function* () {
      const { cursorKey } = yield* SigningKeys
      const key = Redacted.value(cursorKey)
      return Cursors.of({
        print: (list, rowKey) => (rowKey === undefined ? "" : Cursor.print(key, list.endpoint, list.filters, rowKey)),
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
