/**
 * Load client: orders signed with an API key, each sent byte for byte to two gateways at once. One gateway accepts it; the
 * other finds its nonce spent.
 */
import { Effect } from "effect"
import { Agent } from "node:http"
import { signedHeaders } from "../harness/Credentials.ts"
import { bodyOf, inWords, type Outcome, type Request, send } from "../harness/HttpRequest.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { count, type Counts } from "../harness/Statistics.ts"
import { enlistAll, type Trader } from "../harness/Trader.ts"
import { compareHistories, CREATE, type HistoryCounts, orderOf, pause, TRIES_MAX } from "./Orders.ts"

export interface Options {
  readonly urls: ReadonlyArray<string>
  readonly races: number
  readonly users: number
  /** Races at the same time. */
  readonly callers: number
}
export interface Report extends HistoryCounts {
  /** Races in which exactly one gateway accepted the request. */
  readonly successes: number
  /** Requests that both accepted. */
  readonly doubled: number
  /** Races without an accepted request, because a gateway could not check the nonce: they are signed and run again. */
  readonly again: number
  /** All answers, by kind. */
  readonly answers: Readonly<Counts>
  readonly seconds: number
}
export interface Calls extends AnyCalls {
  readonly run: (options: Options) => Promise<Report>
}

const PREFIX = "raced-"

const signed = ({ key, vault }: Trader, link: string): Request => {
  const body = orderOf(vault, link)
  return { method: "POST", path: CREATE, body, headers: signedHeaders(key, "POST", CREATE, body) }
}

/** Whether a gateway accepted the first use of the nonce, whatever became of the order. */
const wasAccepted = (outcome: Outcome): boolean => {
  const { reason } = bodyOf(outcome).details ?? {}
  return outcome.status === 200 || reason === "DuplicateOrderLinkId" || reason === "DeadlineExceeded"
}
const idOf = (outcome: Outcome): string | undefined => {
  const { details, order_id } = bodyOf(outcome)
  return order_id ?? details?.order_id
}

const run = async ({ callers, races, urls, users }: Options): Promise<Report> => {
  const traders = await Effect.runPromise(enlistAll(urls[0]!, users, ["read", "trade"]))
  const ids = traders.map(() => new Map<string, string>())
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const answers: Counts = {}
  let [successes, doubled, again, next] = [0, 0, 0, 0]
  const race = async (i: number): Promise<void> => {
    const user = i % traders.length
    const link = `${PREFIX}${i}`
    const [one, other] = [
      urls[i % urls.length]!,
      urls[(i + 1 + (Math.floor(i / urls.length) % (urls.length - 1))) % urls.length]!
    ]
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const request = signed(traders[user]!, link)
      const outcomes = await Promise.all([send(one, request, { agent }), send(other, request, { agent })])
      for (const outcome of outcomes) count(answers, inWords(outcome))
      const accepted = outcomes.filter(wasAccepted)
      if (accepted.length > 1) doubled++
      const id = accepted.map(idOf).find((id) => id !== undefined)
      if (id !== undefined) {
        if (accepted.length === 1) successes++
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
  const histories = await compareHistories(agent, urls[0]!, traders, ids, PREFIX)
  agent.destroy()
  return { ...histories, successes, doubled, again, answers, seconds }
}

serve({ run } satisfies Calls)
