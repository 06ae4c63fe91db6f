/** What the peers of the read benchmark share: the answer of the gateway, and its header fields. */

/** Body that every variant answers. */
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
/** Header fields of the gateway's answers, but for type and length. */
export const headers = JSON.parse(process.env["BENCH_HEADERS"]!) as Record<string, string>
