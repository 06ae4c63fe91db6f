/**
 * Requests and answers of paged lists, shared by all rooms. Source: docs/contract/conventions.md#paging, #time-ranges;
 * docs/contract/websocket.md#lists-and-the-stream.
 */
import { Clock, Effect } from "effect"
import { DAY_MS } from "../../domain/Time.ts"
import { DomainError } from "../DomainError.ts"

/** Length of a history query that names only its end. */
export const SPAN_DEFAULT_MS = 7 * DAY_MS

/** A page of a list without a filter by symbol. */
export interface StatementRequest {
  readonly sub_account_address?: string
  readonly limit?: number
  readonly cursor?: string
}
export interface ListRequest extends StatementRequest {
  readonly symbol?: string
}
/** Bounds of a time range, Unix ms: `start_time` inclusive, `end_time` exclusive. */
export interface SpanRequest {
  readonly start_time?: number
  readonly end_time?: number
}

export interface Page<A> {
  readonly list: ReadonlyArray<A>
  readonly next_page_cursor: string
  /** JSON text of each row, where the history stores it. A response joined from texts needs no decoding. */
  readonly texts?: ReadonlyArray<string> | undefined
}

/** Position of the user stream that a list includes. */
export interface StreamMark {
  readonly stream_id: string
  readonly seq: number
}

/**
 * The end of a history that includes every record that readers see. Records have engine time, which may be ahead of the clock of
 * this gateway; `shown`: that of the newest event.
 */
export const endOf = (shown: { readonly now: () => number }): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => Math.max(now, shown.now() + 1))

/**
 * Resolves the bounds of a history query. A request without bounds is unbounded, so that paging reaches the first record.
 * The end defaults to `now`, which is {@link endOf}. If only the end is given, the start is {@link SPAN_DEFAULT_MS} before it. A
 * span has no maximum length: the page limit bounds the work.
 */
export const spanOf = (
  request: SpanRequest,
  now: number
): { readonly start?: number; readonly end?: number } | DomainError<"OutOfRange"> => {
  if (request.start_time === undefined && request.end_time === undefined) return {}
  const end = request.end_time ?? now
  const start = request.start_time ?? Math.max(0, end - SPAN_DEFAULT_MS)
  return start > end ? startsAfter(end) : { start, end }
}

/** Refuses a span that starts after its end. */
export const startsAfter = (end: number): DomainError<"OutOfRange"> =>
  new DomainError(
    "OutOfRange",
    { field: "start_time", max: end },
    `expected a time no later than the end of the span, ${end}`
  )
