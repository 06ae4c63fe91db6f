/** Load client: reads an order book and the own open orders at a steady pace, and measures how long each answer takes. */
import { serve } from "../harness/LoadProcess.ts"
import { percentile } from "../harness/Statistics.ts"
import { sleep } from "../harness/Wait.ts"

export interface ReadPlan {
  readonly url: string
  readonly token: string
  readonly seconds: number
}
/** Reads of one path. */
export interface Reads {
  readonly path: string
  readonly count: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** Answers other than 200. */
  readonly failed: number
}
export type ReadCalls = { readonly read: (plan: ReadPlan) => Promise<ReadonlyArray<Reads>> }

/** Pause between two reads, in ms. */
const PAUSE_MS = 50
const PATHS = ["market/orderbook?symbol=BTC-USDC&depth=25", "order/realtime?symbol=BTC-USDC&limit=10"]

const read = async ({ seconds, token, url }: ReadPlan): Promise<ReadonlyArray<Reads>> => {
  const headers = { authorization: `Bearer ${token}` }
  const reads = PATHS.map((path) => ({ path, times: new Array<number>(), failed: 0 }))
  let next = 0
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; await sleep(PAUSE_MS)) {
    const of = reads[next++ % reads.length]!
    const began = performance.now()
    const answer = await fetch(`${url}/api/v1/${of.path}`, { headers })
    await answer.arrayBuffer()
    of.times.push(performance.now() - began)
    if (answer.status !== 200) of.failed++
  }
  return reads.map(({ failed, path, times }) => ({
    path: path.split("?", 1)[0]!,
    count: times.length,
    p50_ms: percentile(times, 0.5),
    p99_ms: percentile(times, 0.99),
    failed
  }))
}

serve({ read } satisfies ReadCalls)
