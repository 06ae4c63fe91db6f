/** A client that keeps a book from snapshots and deltas as docs/contract/websocket.md#order-book says. */
import { sleep } from "../harness/Wait.ts"
import type { Json } from "./Records.ts"
import type { Seen } from "./Seen.ts"
import type { Gateway } from "./User.ts"

const DEPTH = 50
/** Pause before a lost socket connects again, in ms. */
const AGAIN_MS = 50
/** Time after which a change must have arrived, in ms. */
const FINAL_MS = 2000
/** Pause between two looks at it, in ms. */
const POLL_MS = 20

type Side = "bids" | "asks"
type Level = readonly [price: string, qty: string]

export class BookWatcher {
  private readonly gateway: Gateway
  private readonly symbol: string
  private readonly seen: Seen
  private socket: WebSocket | undefined
  private closed = false
  private seq: number | undefined
  private readonly sides = { bids: new Map<string, string>(), asks: new Map<string, string>() }

  constructor(gateway: Gateway, symbol: string, seen: Seen) {
    this.gateway = gateway
    this.symbol = symbol
    this.seen = seen
    this.connect()
  }

  private connect(): void {
    if (this.closed) return
    const socket = new WebSocket(`${this.gateway.url.replace("http", "ws")}/ws/public`)
    this.socket = socket
    this.seq = undefined
    const args = [`orderbook.${DEPTH}.${this.symbol}`]
    socket.addEventListener("open", () => socket.send(JSON.stringify({ op: "subscribe", args })))
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(String(data)) as Json
      if (frame["op"] === "event") this.take(frame["data"] as Json)
      // a gateway that has just started may refuse: the client connects again
      else if (frame["op"] === "error") socket.close()
    })
    socket.addEventListener("error", () => {}) // the close event follows
    socket.addEventListener("close", () => setTimeout(() => this.connect(), AGAIN_MS))
  }

  private get where(): string {
    return `the book at ${this.gateway.name}`
  }

  private levels(side: Side, sign: number): ReadonlyArray<Level> {
    return [...this.sides[side]].toSorted(([a], [b]) => sign * (Number(a) - Number(b))).slice(0, DEPTH)
  }

  private keep(
    seq: number,
    checksum: number | undefined,
    bids: ReadonlyArray<Level>,
    asks: ReadonlyArray<Level>
  ): void {
    this.seen.books.push({
      where: this.where,
      symbol: this.symbol,
      seq,
      text: JSON.stringify({ bids, asks }),
      checksum
    })
  }

  private take(data: Json): void {
    const { checksum, prev_seq, seq, type } = data as { checksum: number; prev_seq: number; seq: number; type: string }
    if (type === "snapshot") for (const side of ["bids", "asks"] as const) this.sides[side].clear()
    else if (prev_seq !== this.seq)
      this.seen.faults.push(
        `${this.where}: a delta of ${this.symbol} follows ${prev_seq}, the last one was ${this.seq}`
      )
    for (const side of ["bids", "asks"] as const)
      for (const [price, qty] of data[side] as ReadonlyArray<Level>)
        if (qty === "0") this.sides[side].delete(price)
        else this.sides[side].set(price, qty)
    this.seq = seq
    this.keep(seq, checksum, this.levels("bids", -1), this.levels("asks", 1))
  }

  /** Reads the book by REST and keeps it. */
  async read(): Promise<number | undefined> {
    const path = `/api/v1/market/orderbook?symbol=${this.symbol}&depth=${DEPTH}`
    const response = await fetch(`${this.gateway.url}${path}`).catch(() => undefined)
    if (response?.status !== 200) return undefined
    const { asks, bids, seq } = (await response.json()) as { asks: Array<Level>; bids: Array<Level>; seq: number }
    this.keep(seq, undefined, bids, asks)
    return seq
  }

  /** Once nothing happens any more, REST and the socket are at the same number. */
  async finish(): Promise<void> {
    const seq = await this.read()
    const isThere = () => seq === undefined || this.seq === seq
    for (const deadline = performance.now() + FINAL_MS; !isThere() && performance.now() < deadline;)
      await sleep(POLL_MS)
    if (!isThere() && (await this.read()) === seq)
      this.seen.faults.push(`${this.where}: the socket of ${this.symbol} is at ${this.seq}, REST at ${seq}`)
  }

  close(): void {
    this.closed = true
    this.socket?.close()
  }
}
