/** Private sockets of the load's users. */
import { WebSocket } from "ws"
import type { User } from "./Plan.ts"

const TOPICS = ["order", "execution", "position", "account_balance"]
/** Bytes of a frame that hold its topic and sequence number. */
const HEAD_BYTES = 300
const UPDATE = /"topic":"(\w+)".*?"type":"update".*?"seq":(\d+),/u
const ORDER_ID = /"order_id":"([^"]+)"/u

/** A private socket that follows all topics of its user. */
export class Follower {
  readonly ws: WebSocket
  frames = 0
  /** Events that are missing, or arrive twice, by the numbers of the stream. */
  holes = 0
  isFollowing = false
  isClosed = false
  private seq: number | undefined
  /** Resolved by the frame that holds this text. */
  private wanted: { readonly text: string; readonly found: () => void } | undefined

  /** `onOrder` gets the id of each event of an order. */
  constructor(port: number, { token }: User, onFrame: () => void, onOrder?: (order_id: string) => void) {
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
      if (onOrder !== undefined) this.check(data, onOrder)
      if (this.wanted !== undefined && data.includes(this.wanted.text)) this.wanted.found()
    })
  }
  sees(text: string): Promise<void> {
    return new Promise((found) => (this.wanted = { text, found }))
  }
  private check(data: Buffer, onOrder: (order_id: string) => void): void {
    const update = UPDATE.exec(data.toString("latin1", 0, HEAD_BYTES))
    if (update === null) return
    const seq = Number(update[2])
    if (this.seq !== undefined && seq !== this.seq + 1) this.holes++
    this.seq = seq
    if (update[1] === "order") onOrder(ORDER_ID.exec(data.toString("latin1"))![1]!)
  }
}
