/**
 * Fields as requests write them, more forgiving than the records that answers carry.
 * Source: docs/contract/conventions.md#decimals, #times, #identifiers, #enumerations, #paging.
 */
import { Schema, SchemaTransformation } from "effect"
import { type Address, parseAddress } from "../../domain/Address.ts"
import { LIMIT_DEFAULT, LIMIT_MAX } from "../../domain/Page.ts"
import { described, field } from "../../domain/Field.ts"
import { Millis } from "../../domain/Time.ts"

const addressText = Schema.String.check(
  Schema.isPattern(/^(?:0x)?[0-9a-fA-F]{1,64}$/u, {
    message: "expected an address: 1 to 64 hex digits, 0x in front or not"
  })
).annotate({
  identifier: "AnyAddress",
  description: "Address, canonical or short: 1 to 64 hex digits, 0x in front or not",
  examples: ["0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"]
})

/**
 * The address of a request, canonical or short. It decodes to the canonical form, which needs no second check, so the compiled
 * schema of a body has no extra step for an address.
 */
export const anyAddress = (meaning: string) =>
  field(addressText, meaning).pipe(
    Schema.decodeTo(
      Schema.String,
      SchemaTransformation.transform({
        decode: (text: string) => parseAddress(text)!,
        encode: (address: Address) => address
      })
    )
  )

/** A symbol of a request: one that is no market is 404 SymbolNotFound, whatever its form. */
export const AnySymbol = Schema.String.annotate({
  description: "Market symbol, `<base>-<quote>`",
  examples: ["BTC-USDC"]
})

/** A page size. */
export const limit = (maximum: number, byDefault: number) =>
  Schema.Int.check(Schema.isBetween({ minimum: 1, maximum })).annotate(
    described(`Rows a page, 1 to ${maximum}; ${byDefault} by default`, "rows", byDefault)
  )

export const Cursor = Schema.String.annotate({
  description: "`next_page_cursor` of the previous page, with the same filters",
  examples: ["djF8b3JkZXIvaGlzdG9yeQ"]
})

/** Paging of ordinary lists. */
export const paging = {
  limit: Schema.optionalKey(limit(LIMIT_MAX, LIMIT_DEFAULT)),
  cursor: Schema.optionalKey(Cursor)
}

/** A span of time: `start_time` inclusive, `end_time` exclusive, Unix ms. */
export const span = {
  start_time: Schema.optionalKey(field(Millis, "Start, inclusive")),
  end_time: Schema.optionalKey(field(Millis, "End, exclusive"))
}

/** Text of at most `max` characters that every database keeps as it is: PostgreSQL takes no U+0000, UTF-8 has no lone surrogates. */
export const text = (max: number, min = 0) => {
  const size = min === 0 ? `of at most ${max}` : `of ${min} to ${max}`
  return Schema.String.check(
    Schema.isMaxLength(max),
    Schema.makeFilter((value: string) => value.isWellFormed() && !value.includes("\0"), {
      message: `expected text ${size} characters, without U+0000 and lone surrogates`
    }),
    ...(min === 0 ? [] : [Schema.isMinLength(min)])
  )
}
