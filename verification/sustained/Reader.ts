/** Load client: reads an order book and the own open orders at a steady pace, and measures how long each answer takes. */
import { serve } from "../harness/LoadProcess.ts"
import { percentile } from "../harness/Statistics.ts"
import { sleep } from "../harness/Wait.ts"

export interface ReadPlan {
  readonly url: string
  readonly token: string
  readonly seconds: number
}
export interface Reads {
  readonly count: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** Answers other than 200. */
  readonly failed: number
}
export type ReadCalls = { readonly read: (plan: ReadPlan) => Promise<Reads> }

/** Pause between two reads, in ms. */
const PAUSE_MS = 50

const read = async ({ seconds, token, url }: ReadPlan): Promise<Reads> => {
  const paths = ["market/orderbook?symbol=BTC-USDC&depth=25", "order/realtime?symbol=BTC-USDC&limit=10"]
  const headers = { authorization: `Bearer ${token}` }
  const times: Array<number> = []
  let failed = 0
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; await sleep(PAUSE_MS)) {
    const began = performance.now()
    const answer = await fetch(`${url}/api/v1/${paths[times.length % paths.length]}`, { headers })
    await answer.arrayBuffer()
    times.push(performance.now() - began)
    if (answer.status !== 200) failed++
  }
  return { count: times.length, p50_ms: percentile(times, 0.5), p99_ms: percentile(times, 0.99), failed }
}

serve({ read } satisfies ReadCalls)
