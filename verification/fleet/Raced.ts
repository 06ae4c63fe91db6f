/**
 * Load client: orders signed with an API key, each sent byte for byte to two gateways at once. One of them takes it, the other finds
 * its nonce used.
 */
import { Agent } from "node:http"
import { Wallet } from "../../src/client/index.ts"
import type { Trader } from "../harness/Trader.ts"
import { ask, type Asked, inWords, type Outcome, told } from "./Ask.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { bodyOf, count, type Counted, enlistAll, pause, TRIES_MAX } from "./Orders.ts"

export interface Options {
  readonly urls: ReadonlyArray<string>
  readonly races: number
  readonly users: number
  /** Races at the same time. */
  readonly callers: number
}
export interface Report extends Counted {
  /** Races of which exactly one gateway took the request. */
  readonly successes: number
  /** Requests that both took. */
  readonly doubled: number
  /** Races that no gateway took, since one of them could not tell: they were signed anew and run again. */
  readonly again: number
  /** All answers by what they were. */
  readonly answers: Readonly<Record<string, number>>
  readonly seconds: number
}
export interface Calls extends AnyCalls {
  readonly run: (options: Options) => Promise<Report>
}

const PREFIX = "raced-"
const PATH = "/api/v1/order/create"

const signed = ({ key, vault }: Trader, link: string): Asked => {
  const body = bodyOf(vault, link)
  const hash = Wallet.bodyHash(new TextEncoder().encode(body))
  const fresh = { method: "POST", uri: PATH, timestamp_ms: Date.now(), nonce: Wallet.nonce(), body_sha256: hash }
  return {
    method: "POST",
    path: PATH,
    body,
    headers: {
      "x-api-key": key.public_key,
      "x-signature": key.sign(Wallet.requestMessage(fresh)),
      "x-timestamp-ms": String(fresh.timestamp_ms),
      "x-nonce": fresh.nonce,
      "x-body-sha256": hash
    }
  }
}

/** Whether a gateway took the request for the first use of its nonce, whatever became of the order. */
const wasTaken = (outcome: Outcome): boolean => {
  if ("lost" in outcome) return false
  const { reason } = told(outcome.text).details ?? {}
  return outcome.status === 200 || reason === "DuplicateOrderLinkId" || reason === "DeadlineExceeded"
}
const idOf = (outcome: Outcome): string | undefined => {
  if ("lost" in outcome) return undefined
  const { details, order_id } = told(outcome.text)
  return order_id ?? details?.order_id
}

const run = async ({ callers, races, urls, users }: Options): Promise<Report> => {
  const traders = await enlistAll(urls[0]!, users)
  const ids = traders.map(() => new Map<string, string>())
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const answers: Record<string, number> = {}
  let [successes, doubled, again, next] = [0, 0, 0, 0]
  const race = async (i: number): Promise<void> => {
    const user = i % traders.length
    const link = `${PREFIX}${i}`
    const [one, other] = [
      urls[i % urls.length]!,
      urls[(i + 1 + (Math.floor(i / urls.length) % (urls.length - 1))) % urls.length]!
    ]
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const asked = signed(traders[user]!, link)
      const outcomes = await Promise.all([ask(agent, one, asked), ask(agent, other, asked)])
      for (const outcome of outcomes) answers[inWords(outcome)] = (answers[inWords(outcome)] ?? 0) + 1
      const taken = outcomes.filter(wasTaken)
      if (taken.length > 1) doubled++
      const id = taken.map(idOf).find((id) => id !== undefined)
      if (id !== undefined) {
        if (taken.length === 1) successes++
        return void ids[user]!.set(link, id)
      }
      again++
      await pause()
    }
  }
  const began = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < races) await race(next++)
    })
  )
  const seconds = (performance.now() - began) / 1_000
  const counted = await count(agent, urls[0]!, traders, ids, PREFIX)
  agent.destroy()
  return { ...counted, successes, doubled, again, answers, seconds }
}

serve({ run } satisfies Calls)
