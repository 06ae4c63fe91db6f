/**
 * Load client: callers that do not pause, and one private socket for each user. Half of the callers send limit orders that
 * cross at one price. The others place an order far from it and cancel it. A refused request is repeated at once.
 */
import { WebSocket } from "ws"
import { serve } from "../harness/LoadProcess.ts"
import { SYMBOL } from "../harness/Trader.ts"
import { LOAD_WAIT_MS, sleep, until } from "../harness/Wait.ts"
import { type Answered, Caller } from "./Caller.ts"
import { type Calls, type Plan, PRICE, type Recovery, type Report, type User } from "./Plan.ts"
import { Seconds } from "./Seconds.ts"

const TOPICS = ["order", "execution", "position", "account_balance"]
/** The price of resting orders. */
const FAR = "58000"
const QTY = "0.001"
/** Orders of a user until its side changes, so that positions stay small. */
const ORDERS_A_SIDE = 500
const request = (path: string, { token }: User, fields: object): Buffer => {
  const body = JSON.stringify(fields)
  return Buffer.from(
    `POST /api/v1/order/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}
const limitOrder = (user: User, side: string, price: string, more: object = {}): object => ({
  sub_account_address: user.vault,
  symbol: SYMBOL,
  side,
  order_type: "Limit",
  qty: QTY,
  price,
  ...more
})

/** A private socket that follows all topics of its user. */
class Follower {
  readonly ws: WebSocket
  frames = 0
  isFollowing = false
  isClosed = false
  /** Resolved by the frame that holds this text. */
  private wanted: { readonly text: string; readonly found: () => void } | undefined

  constructor(port: number, { token }: User, onFrame: () => void) {
    this.ws = new WebSocket(`ws://127.0.0.1:${port}/ws/private`)
    this.ws.on("open", () => this.ws.send(JSON.stringify({ op: "auth", bearer: token })))
    this.ws.on("error", () => {})
    this.ws.on("close", () => (this.isClosed = true))
    this.ws.on("message", (data: Buffer) => {
      if (!this.isFollowing) {
        const frame = JSON.parse(data.toString("latin1")) as {
          readonly op: string
          readonly success?: boolean
          readonly args?: unknown
        }
        if (frame.op === "auth") this.ws.send(JSON.stringify({ op: "subscribe", args: TOPICS }))
        if (frame.op === "subscribed")
          this.isFollowing = Array.isArray(frame.args) && frame.args.length === TOPICS.length
        return
      }
      this.frames++
      onFrame()
      if (this.wanted !== undefined && data.includes(this.wanted.text)) this.wanted.found()
    })
  }
  sees(text: string): Promise<void> {
    return new Promise((found) => (this.wanted = { text, found }))
  }
}

const REASON = /"reason":"(\w+)"/u
const ORDER_ID = /"order_id":"([^"]+)"/u
const reasonOf = ({ status, text }: Answered): string => REASON.exec(text)?.[1] ?? String(status)

/** Sends crossing orders of one user. */
const crosser = (port: number, user: User, index: number, counts: Array<number>, seen: Seconds): Caller =>
  new Caller(
    port,
    () => {
      const turn = Math.floor(counts[index]!++ / ORDERS_A_SIDE)
      return request("create", user, limitOrder(user, (index + turn) % 2 === 0 ? "Buy" : "Sell", PRICE))
    },
    (answered) => {
      if (answered?.status === 200) seen.order(answered.ms)
      else seen.refusal("order", answered === undefined ? "lost" : reasonOf(answered), answered?.ms)
    }
  )

/** Rests an order and cancels it, again and again. */
const rester = (port: number, user: User, seen: Seconds): Caller => {
  let order_id: string | undefined
  return new Caller(
    port,
    () =>
      order_id === undefined
        ? request("create", user, limitOrder(user, "Buy", FAR))
        : request("cancel", user, { sub_account_address: user.vault, symbol: SYMBOL, order_id }),
    (answered) => {
      const of = order_id === undefined ? "order" : "cancel"
      if (answered?.status !== 200) {
        seen.refusal(of, answered === undefined ? "lost" : reasonOf(answered), answered?.ms)
        // an earlier request, whose answer was lost, canceled it
        if (answered !== undefined && answered.status < 500 && answered.status !== 429) order_id = undefined
        return
      }
      if (of === "order") {
        seen.order(answered.ms)
        order_id = ORDER_ID.exec(answered.text)?.[1]
      } else {
        seen.cancel(answered.ms)
        order_id = undefined
      }
    }
  )
}

/** Measures the time until the gateway is ready, accepts an order and delivers its event. */
const recover = async (port: number, user: User, follower: Follower): Promise<Recovery> => {
  const began = performance.now()
  const url = `http://127.0.0.1:${port}`
  const since = () => performance.now() - began
  const times: { -readonly [K in keyof Recovery]: Recovery[K] } = {
    ready_ms: undefined,
    accepted_ms: undefined,
    shown_ms: undefined
  }
  const ready = until("GET /ready returns 200", async () => (await fetch(`${url}/ready`)).status === 200).then(
    () => (times.ready_ms = since()),
    () => {}
  )
  for (let tries = 0; since() < LOAD_WAIT_MS; tries++) {
    const order_link_id = `after-${tries}`
    const shown = follower.sees(order_link_id).then(() => (times.shown_ms = since()))
    const answer = await fetch(`${url}/api/v1/order/create`, {
      method: "POST",
      headers: { authorization: `Bearer ${user.token}`, "content-type": "application/json" },
      body: JSON.stringify(limitOrder(user, "Buy", FAR, { order_link_id }))
    })
    await answer.arrayBuffer()
    if (answer.status !== 200) continue
    times.accepted_ms = since()
    await Promise.race([shown, sleep(LOAD_WAIT_MS)])
    break
  }
  await ready
  return times
}

/** Pause between two measurements of the machine, in ms. */
const PACE_MS = 50

const run = async ({ callers, kind = "mix", pid, port, seconds, users }: Plan): Promise<Report> => {
  const seen = new Seconds([pid, process.pid])
  const followers = users.map((user) => new Follower(port, user, () => seen.frame()))
  await until("every private socket follows its topics", () => followers.every(({ isFollowing }) => isFollowing))
  const counts = users.map(() => 0)
  const all = Array.from({ length: callers }, (_, i) => {
    const index = (i >> 1) % users.length
    const user = users[index]!
    const isCrossing = kind === "fill" || (kind === "mix" && i % 2 === 0)
    return isCrossing ? crosser(port, user, index, counts, seen) : rester(port, user, seen)
  })
  for (const caller of all) caller.begin()
  const began = performance.now()
  const measuring = setInterval(() => seen.measure(), PACE_MS)
  for (let second = 1; second <= seconds; second++) {
    await sleep(Math.max(0, began + second * 1_000 - performance.now()))
    for (const caller of all) caller.look(performance.now())
    if (second < seconds) seen.close()
  }
  seen.close()
  clearInterval(measuring)
  for (const caller of all) caller.stop()
  const recovery = await recover(port, users[0]!, followers[0]!)
  for (const caller of all) caller.end()
  const report = {
    seconds: [...seen.seconds],
    recovery,
    deaf: followers.filter(({ frames }) => frames === 0).length,
    closed: followers.filter(({ isClosed }) => isClosed).length
  }
  for (const { ws } of followers) ws.terminate()
  return report
}

serve({ run } satisfies Calls)
