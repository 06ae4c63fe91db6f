/** Sockets that record their frames and can stop reading. */
import { WebSocket } from "ws"
import { LocalBook } from "../../src/client/LocalBook.ts"
import { depths } from "../../src/domain/Enumerations.ts"

const SYMBOL = "BTC-USDC"
const TRADES = `trade.${SYMBOL}`
export type Kind =
  /** Reads a book, a ticker and trades. */
  | "reader"
  /** Follows books, which can be conflated. */
  | "books"
  /** Follows a book, and liquidations, which must not be lost. */
  | "lasting"

const topics: Readonly<Record<Kind, ReadonlyArray<string>>> = {
  reader: [`orderbook.50.${SYMBOL}`, `ticker.${SYMBOL}`, TRADES],
  books: depths.map((depth) => `orderbook.${depth}.${SYMBOL}`),
  lasting: [`orderbook.1000.${SYMBOL}`, `all_liquidations.${SYMBOL}`]
}

export class Reader {
  readonly kind: Kind
  readonly ws: WebSocket
  /** Sequence number of the last event that must not be lost. */
  last = 0
  /** Such events that do not follow the one before. */
  gaps = 0
  code: number | undefined
  frames = 0
  readonly books = new Map<string, LocalBook>()
  faults = 0
  private readonly onDelivery: (ns: number) => void

  constructor(url: string, kind: Kind, onDelivery: (ns: number) => void) {
    this.kind = kind
    this.onDelivery = onDelivery
    this.ws = new WebSocket(`${url}/ws/public`, { perMessageDeflate: false })
    this.ws.on("message", (data: Buffer) => this.take(data.toString("latin1")))
    this.ws.on("error", () => {})
    this.ws.on("close", (code) => (this.code = code))
  }
  static open(url: string, kind: Kind, onDelivery: (ns: number) => void): Promise<Reader> {
    const reader = new Reader(url, kind, onDelivery)
    return new Promise((resolve, reject) => {
      reader.ws.once("error", reject)
      reader.ws.once("message", () => resolve(reader))
      reader.ws.once("open", () => reader.ws.send(JSON.stringify({ op: "subscribe", args: topics[kind] })))
    })
  }
  private take(text: string): void {
    this.frames++
    const at = text.indexOf('"trade_id":"')
    if (at > 0) {
      this.onDelivery(Number(process.hrtime.bigint() - BigInt(text.slice(at + 12, text.indexOf('"', at + 12)))))
      this.follows(text)
    } else if (text.includes('"bust_price"')) {
      this.follows(text)
    } else if (this.kind === "books" && text.startsWith('{"op":"event"')) {
      const { data, topic } = JSON.parse(text)
      const book = this.books.get(topic) ?? new LocalBook()
      this.books.set(topic, book)
      if (book.take(data) !== undefined) this.faults++
    }
  }
  private follows(text: string): void {
    const seq = Number(/"seq":(\d+)/u.exec(text)![1])
    if (this.last > 0 && seq !== this.last + 1) this.gaps++
    this.last = seq
  }
}
