/**
 * Load client: orders whose connection is cut before, while or after they are sent, or before their answer is read. Each is
 * then sent to another gateway under the same `order_link_id` until an answer states its fate.
 */
import { Effect } from "effect"
import { Agent } from "node:http"
import { connect } from "node:net"
import { bodyOf, inWords, send } from "../harness/HttpRequest.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { random } from "../harness/Random.ts"
import { count, type Counts } from "../harness/Statistics.ts"
import { enlistAll } from "../harness/Trader.ts"
import { compareHistories, CREATE, type HistoryCounts, orderOf, pause, placed, TRIES_MAX } from "./Orders.ts"

export interface Options {
  readonly urls: ReadonlyArray<string>
  readonly calls: number
  readonly users: number
  /** Calls at the same time. */
  readonly callers: number
  readonly seed: number
}
export interface Report extends HistoryCounts {
  /** Calls, by where they were cut. */
  readonly cuts: Readonly<Counts>
  /** Repetitions that created the order, and those that found the order of the cut call. */
  readonly created: number
  readonly existed: number
  /** Answers to repetitions that leave the fate unknown, after which the order is repeated again. */
  readonly again: Readonly<Counts>
  /** Orders placed before and after all others: ids count up, so both show how many the backend gave in between. */
  readonly bounds: readonly [first: string, last: string]
  readonly seconds: number
}
export interface Calls extends AnyCalls {
  readonly run: (options: Options) => Promise<Report>
}

const PREFIX = "cut-"
/** Longest wait before an answer is cut off, in ms. Its first bytes end the wait. */
const ANSWER_MS = 20
/** Calls between two lines of progress. */
const PROGRESS_EVERY = 10_000
const fates = ["before it was sent", "amid sending", "after it was sent", "before its answer"] as const
type Fate = (typeof fates)[number]

/** Sends a request up to the point of its fate, then cuts the connection. */
const cutOff = (url: string, bytes: Buffer, fate: Fate, chance: () => number): Promise<void> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let timer: NodeJS.Timeout | undefined
    // half of them with a reset, half with an orderly close
    const cut = (): void => void (chance() < 0.5 ? socket.resetAndDestroy() : socket.destroy())
    socket.on("error", () => {}) // the close event follows
    socket.once("close", () => {
      clearTimeout(timer)
      resolve()
    })
    socket.once("connect", () => {
      switch (fate) {
        case "before it was sent":
          return cut()
        case "amid sending":
          return void socket.write(bytes.subarray(0, 1 + Math.floor(chance() * (bytes.length - 1))), cut)
        case "after it was sent":
          return void socket.write(bytes, cut)
        case "before its answer":
          socket.write(bytes)
          socket.once("data", cut)
          timer = setTimeout(cut, chance() * ANSWER_MS)
      }
    })
  })

const run = async ({ callers, calls, seed, urls, users }: Options): Promise<Report> => {
  const chance = random(seed)
  const traders = await Effect.runPromise(enlistAll(urls[0]!, users, ["read", "trade"]))
  const ids = traders.map(() => new Map<string, string>())
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const cuts: Counts = {}
  const again: Counts = {}
  let [created, existed, next] = [0, 0, 0]
  const call = async (i: number): Promise<void> => {
    const user = i % traders.length
    const { token, vault } = traders[user]!
    const link = `${PREFIX}${i}`
    const body = orderOf(vault, link)
    const first = Math.floor(chance() * urls.length)
    const fate = fates[Math.floor(chance() * fates.length)]!
    const head =
      `POST ${CREATE} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    count(cuts, fate)
    await cutOff(urls[first]!, Buffer.from(head + body), fate, chance)
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      // the other gateways first
      const url = urls[(first + tries) % urls.length]!
      const outcome = await send(url, { method: "POST", path: CREATE, token, body }, { agent })
      const { details, order_id } = bodyOf(outcome)
      if (order_id !== undefined) created++
      else if (details?.reason === "DuplicateOrderLinkId") existed++
      else {
        count(again, inWords(outcome))
        await pause()
        continue
      }
      return void ids[user]!.set(link, (order_id ?? details?.order_id)!)
    }
  }
  const [witness] = traders
  const before = await placed(agent, urls[0]!, witness!, "before")
  const began = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < calls) {
        if (next > 0 && next % PROGRESS_EVERY === 0) console.error(`${next} calls`)
        await call(next++)
      }
    })
  )
  const seconds = (performance.now() - began) / 1_000
  const after = await placed(agent, urls[0]!, witness!, "after")
  const histories = await compareHistories(agent, urls[0]!, traders, ids, PREFIX)
  agent.destroy()
  return { ...histories, cuts, created, existed, again, bounds: [before, after], seconds }
}

serve({ run } satisfies Calls)
