/**
 * Follows a book and the user's orders with a WebSocket only: no package, no client. Runs in Node 22 and in a browser.
 *
 * `node examples/follow.mjs ws://127.0.0.1:3010 <token> BTC-USDC <order_link_id>` ends when the order of that reference is final and its
 * price is gone from the book, and prints what it saw.
 */

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1
  return n >>> 0
})
const crc32 = (text) => {
  let c = 0xffffffff
  for (const letter of text) c = CRC[(c ^ letter.charCodeAt(0)) & 0xff] ^ (c >>> 8)
  return (c ^ 0xffffffff) >>> 0
}

/** A book from the messages of `orderbook.50.<symbol>`: price to quantity, each side. */
class Book {
  bids = new Map()
  asks = new Map()
  seq = 0
  messages = 0
  faults = 0

  /** Applies a message. `false`: a message is missing or the checksum differs, so subscribe again. */
  take({ asks, bids, checksum, prev_seq, seq, type }) {
    if (type === "snapshot") {
      this.bids.clear()
      this.asks.clear()
    } else if (prev_seq !== this.seq) return this.fault()
    for (const [side, levels] of [
      [this.bids, bids],
      [this.asks, asks]
    ]) {
      for (const [price, qty] of levels) {
        if (qty === "0") side.delete(price)
        else side.set(price, qty)
      }
    }
    this.seq = seq
    this.messages++
    return this.checksum() === checksum || this.fault()
  }
  best(side, sign) {
    return [...side].toSorted(([a], [b]) => sign * (Number(a) - Number(b)))
  }
  checksum() {
    const [bids, asks] = [this.best(this.bids, -1), this.best(this.asks, 1)]
    const parts = []
    for (let i = 0; i < 25; i++) parts.push(...(bids[i] ?? []), ...(asks[i] ?? []))
    return parts.length === 0 ? 0 : crc32(parts.join(":"))
  }
  fault() {
    this.faults++
    return false
  }
}

/** Follows until the order named by `link` is final and its price gone from the book; returns what it saw. */
export const follow = (url, token, symbol, link, onReady = () => {}) =>
  new Promise((resolve, reject) => {
    const book = new Book()
    const statuses = []
    let seq
    let price
    let subscribed = 0
    const open = (path, begin, onEvent) => {
      const socket = new WebSocket(url + path)
      const send = (message) => socket.send(JSON.stringify(message))
      socket.addEventListener("open", () => begin(send))
      socket.addEventListener("error", () => reject(new Error(`${path} failed`)))
      socket.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(data)
        if (frame.op === "error" || frame.success === false) return reject(new Error(data))
        if (frame.op === "auth") send({ op: "subscribe", args: ["order"] })
        if (frame.op === "subscribed" && ++subscribed === 2) onReady()
        if (frame.op === "event") onEvent(frame.data, send)
        const isFinal = statuses.some((status) => status === "Filled" || status === "Canceled")
        if (isFinal && !book.bids.has(price) && !book.asks.has(price)) {
          for (const each of sockets) each.close()
          const levels = { bids: book.best(book.bids, -1), asks: book.best(book.asks, 1) }
          resolve({ ...levels, seq: book.seq, messages: book.messages, faults: book.faults, statuses, user_seq: seq })
        }
      })
      return socket
    }
    const topic = `orderbook.50.${symbol}`
    const sockets = [
      open(
        "/ws/public",
        (send) => send({ op: "subscribe", args: [topic] }),
        (data, send) => book.take(data) || send({ op: "subscribe", args: [topic] })
      ),
      open(
        "/ws/private",
        (send) => send({ op: "auth", bearer: token }),
        (data) => {
          // seq counts all four private topics, prev_seq this one
          if (data.type === "update" && data.prev_seq > seq) reject(new Error(`an event is missing before ${data.seq}`))
          seq = data.seq
          for (const order of data.list) {
            if (order.order_link_id !== link) continue
            statuses.push(order.order_status)
            price = order.price
          }
        }
      )
    ]
  })

if (globalThis.process?.argv[1]?.endsWith("follow.mjs")) {
  if (typeof WebSocket === "undefined") {
    console.error(
      `this example needs the WebSocket of Node 22 or newer, and this is ${process.version}: npx node examples/follow.mjs`
    )
    process.exit(1)
  }
  const [url, token, symbol, link] = process.argv.slice(2)
  console.log(JSON.stringify(await follow(url, token, symbol, link, () => console.log("ready"))))
}
