/** Shared by the peers of the read benchmark: the gateway's response and its headers. */

/** The body of every variant. */
export const BODY = process.env["BENCH_BODY"]!
/** The same as an object. */
export const book = JSON.parse(BODY) as {
  readonly symbol: string
  readonly bids: ReadonlyArray<readonly [string, string]>
  readonly asks: ReadonlyArray<readonly [string, string]>
  readonly seq: number
  readonly ts: number
  readonly mts: number
}
/** The headers of the gateway's responses, except type and length. */
export const headers = JSON.parse(process.env["BENCH_HEADERS"]!) as Record<string, string>
