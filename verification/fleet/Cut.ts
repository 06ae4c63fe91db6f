/**
 * Load client: orders whose connection is cut before, while or after they are sent, or before their answer is read, and that are
 * then sent to another gateway under the same reference, until an answer says what became of them.
 */
import { Agent } from "node:http"
import { connect } from "node:net"
import { random } from "../harness/SimulatedUsers.ts"
import { ask, inWords, told } from "./Ask.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { bodyOf, count, type Counted, enlistAll, pause, placed, TRIES_MAX } from "./Orders.ts"

export interface Options {
  readonly urls: ReadonlyArray<string>
  readonly calls: number
  readonly users: number
  /** Calls at the same time. */
  readonly callers: number
  readonly seed: number
}
export interface Report extends Counted {
  /** Calls that were cut, by where. */
  readonly cuts: Readonly<Record<string, number>>
  /** Repetitions that made the order, and those that found it made by the call that was cut. */
  readonly created: number
  readonly existed: number
  /** Answers to repetitions that said nothing of the order, after which it was repeated once more. */
  readonly again: Readonly<Record<string, number>>
  /** Orders that one user placed before all others, and after them: their ids tell how many the backend gave in between. */
  readonly bounds: readonly [first: string, last: string]
  readonly seconds: number
}
export interface Calls extends AnyCalls {
  readonly run: (options: Options) => Promise<Report>
}

const PREFIX = "cut-"
const PATH = "/api/v1/order/create"
/** Longest wait before an answer is cut off, in ms; it is cut when its first bytes come, at the latest. */
const ANSWER_MS = 20
/** Calls after which a long run says how far it is. */
const TOLD_EVERY = 10_000
const fates = ["before it was sent", "amid sending", "after it was sent", "before its answer"] as const
type Fate = (typeof fates)[number]

/** Sends a request as far as its fate lets it, and cuts the connection. */
const cutOff = (url: string, bytes: Buffer, fate: Fate, chance: () => number): Promise<void> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let timer: NodeJS.Timeout | undefined
    // half of them with a reset, half as if the client had just gone
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
  const traders = await enlistAll(urls[0]!, users)
  const ids = traders.map(() => new Map<string, string>())
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const cuts: Record<string, number> = {}
  const again: Record<string, number> = {}
  let [created, existed, next] = [0, 0, 0]
  const call = async (i: number): Promise<void> => {
    const user = i % traders.length
    const { token, vault } = traders[user]!
    const link = `${PREFIX}${i}`
    const body = bodyOf(vault, link)
    const first = Math.floor(chance() * urls.length)
    const fate = fates[Math.floor(chance() * fates.length)]!
    const authorization = `Bearer ${token}`
    const head =
      `POST ${PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: ${authorization}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    cuts[fate] = (cuts[fate] ?? 0) + 1
    await cutOff(urls[first]!, Buffer.from(head + body), fate, chance)
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      // never the one that was cut off, unless all others were asked
      const url = urls[(first + tries) % urls.length]!
      const outcome = await ask(agent, url, { method: "POST", path: PATH, headers: { authorization }, body })
      const { details, order_id } = "lost" in outcome ? {} : told(outcome.text)
      if (order_id !== undefined) created++
      else if (details?.reason === "DuplicateOrderLinkId") existed++
      else {
        again[inWords(outcome)] = (again[inWords(outcome)] ?? 0) + 1
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
        if (next > 0 && next % TOLD_EVERY === 0) console.error(`${next} calls`)
        await call(next++)
      }
    })
  )
  const seconds = (performance.now() - began) / 1_000
  const after = await placed(agent, urls[0]!, witness!, "after")
  const counted = await count(agent, urls[0]!, traders, ids, PREFIX)
  agent.destroy()
  return { ...counted, cuts, created, existed, again, bounds: [before, after], seconds }
}

serve({ run } satisfies Calls)
