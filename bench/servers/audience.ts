/**
 * The clients of the fan-out benchmark, in a separate process: plain sockets that count frames, respond to pings, and hash
 * the first messages of the last client.
 *
 * The control connection requests each publication, and reports when all clients have received everything: no client is
 * slow, so only the delivery is measured.
 */
import { createHash } from "node:crypto"
import { connect as connectTo, type Socket } from "node:net"
import { masked, PONG, upgradeRequest } from "../RawSocket.ts"
import { framed, messageOf, timeless, TOPIC } from "../fanout/Events.ts"

/** How a server is made to publish: a byte with a count, complete frames, or a POST per message. */
export type Kind = "count" | "frames" | "posts"

export type Ask =
  | { readonly ask: "connect"; readonly port: number; readonly clients: number; readonly path: string }
  | { readonly ask: "subscribe"; readonly replies: number }
  | { readonly ask: "control"; readonly port: number; readonly kind: Kind }
  | { readonly ask: "run"; readonly burst: number; readonly ms: number; readonly events_max: number }
  | { readonly ask: "leave" }

export interface AudienceReport {
  readonly error?: string
  /** Messages that every client received in a run. */
  readonly events: number
  readonly seconds: number
  /** Hash of the first messages of the last client, without their times. */
  readonly hash: string
}

/** Sockets that connect concurrently. */
const CONNECTING_MAX = 200
/** Hashed messages. */
export const HASHED = 10
/** Longest wait, in ms. */
const PATIENCE_MS = 30_000
const CLOSE = 8
const PING = 9
const TEXT = 1

const scratch = Buffer.allocUnsafe(64 * 1024)
const NONE = Buffer.alloc(0)

let clients: Array<Client> = []
let missing = 0
let onComplete: () => void = () => {}
let onFault: (fault: Error) => void = () => {}
const hash = createHash("sha256")
let hashed = 0

/** Waits until all clients together have received this many text frames. */
const complete = (frames: number, begin: () => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const lost = setTimeout(() => reject(new Error(`${missing} frames did not come`)), PATIENCE_MS)
    missing += frames
    onFault = reject
    onComplete = () => {
      clearTimeout(lost)
      resolve()
    }
    begin()
  })

class Client {
  frames = 0
  private readonly socket: Socket
  private readonly hashes: boolean
  private opened = false
  /** The part of a frame that is not complete yet. */
  private rest = NONE
  readonly ready: Promise<void>
  private onReady: () => void = () => {}

  constructor(port: number, path: string, hashes: boolean) {
    this.hashes = hashes
    const callback = (length: number): boolean => {
      if (this.opened) this.read(scratch, length)
      else if (this.open(length)) this.onReady()
      return true
    }
    this.socket = connectTo({ port, host: "127.0.0.1", noDelay: true, onread: { buffer: scratch, callback } })
    this.ready = new Promise((resolve, reject) => {
      this.onReady = resolve
      this.socket.on("error", reject)
      this.socket.on("close", () => onFault(new Error("a socket was closed")))
      this.socket.write(upgradeRequest(path))
    })
  }
  private open(length: number): boolean {
    this.rest = Buffer.concat([this.rest, scratch.subarray(0, length)])
    const end = this.rest.indexOf("\r\n\r\n")
    if (end === -1) return false
    if (!this.rest.toString("latin1").startsWith("HTTP/1.1 101 ")) onFault(new Error("the upgrade was refused"))
    this.opened = true
    const first = this.rest.subarray(end + 4)
    this.rest = NONE
    this.read(first, first.length)
    return true
  }
  private read(chunk: Buffer, length: number): void {
    let bytes = chunk
    let end = length
    if (this.rest.length > 0) {
      bytes = Buffer.concat([this.rest, chunk.subarray(0, length)])
      end = bytes.length
    }
    let at = 0
    while (end - at >= 2) {
      const short = bytes[at + 1]!
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (end - at < head) break
      const payload = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6)
      if (end - at < head + payload) break
      this.take(bytes[at]! & 0x0f, bytes, at + head, at + head + payload)
      at += head + payload
    }
    this.rest = at === end ? NONE : Buffer.from(bytes.subarray(at, end))
  }
  private take(opcode: number, bytes: Buffer, from: number, to: number): void {
    if (opcode === PING) this.socket.write(PONG)
    else if (opcode === CLOSE) onFault(new Error(`a socket was closed with ${bytes.readUInt16BE(from)}`))
    else if (opcode === TEXT) {
      this.frames++
      if (this.hashes && published > 0 && hashed < HASHED) {
        hashed++
        hash.update(timeless(bytes.toString("utf8", from, to)))
      }
      if (--missing === 0) onComplete()
    }
  }
  say(text: string): void {
    this.socket.write(masked(text))
  }
  leave(): void {
    this.socket.removeAllListeners("close")
    this.socket.destroy()
  }
  /** Restarts the count. */
  restart(): void {
    this.frames = 0
  }
}

let control: Socket
let kind: Kind = "count"
let published = 0

const publish = (events: number): void => {
  if (kind === "count") {
    published += events
    control.write(Buffer.from([events]))
    return
  }
  const parts: Array<Buffer> = []
  for (let i = 0; i < events; i++) {
    const text = JSON.stringify(messageOf(published++, Date.now()))
    if (kind === "posts") {
      const head = `POST /pub HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`
      parts.push(Buffer.from(head + text))
    } else {
      const frame = framed(text)
      const length = Buffer.alloc(4)
      length.writeUInt32LE(frame.length)
      parts.push(length, frame)
    }
  }
  control.write(Buffer.concat(parts))
}

const open = async (ask: Extract<Ask, { ask: "connect" }>): Promise<void> => {
  for (let at = 0; at < ask.clients; at += CONNECTING_MAX) {
    const some = Array.from(
      { length: Math.min(CONNECTING_MAX, ask.clients - at) },
      (_, i) => new Client(ask.port, ask.path, at + i === ask.clients - 1)
    )
    clients.push(...some)
    await Promise.all(some.map(({ ready }) => ready))
  }
}

const run = async (ask: Extract<Ask, { ask: "run" }>): Promise<number> => {
  for (const client of clients) client.restart()
  const until = performance.now() + ask.ms
  let events = 0
  while (events < ask.events_max && performance.now() < until) {
    await complete(ask.burst * clients.length, () => publish(ask.burst))
    events += ask.burst
  }
  if (events === 0) throw new Error("nothing was published")
  for (const { frames } of clients) if (frames !== events) throw new Error(`a client got ${frames} of ${events}`)
  return events
}

const answer = async (ask: Ask): Promise<number> => {
  switch (ask.ask) {
    case "connect":
      await open(ask)
      return 0
    case "subscribe":
      await complete(ask.replies * clients.length, () => {
        for (const client of clients) client.say(JSON.stringify({ op: "subscribe", args: [TOPIC] }))
      })
      return 0
    case "control":
      kind = ask.kind
      control = connectTo(ask.port, "127.0.0.1")
      control.setNoDelay(true)
      control.resume()
      await new Promise((resolve) => control.once("connect", resolve))
      return 0
    case "run":
      return await run(ask)
    case "leave":
      for (const client of clients) client.leave()
      clients = []
      return 0
  }
}

process.on("message", (ask: Ask) => {
  const began = performance.now()
  answer(ask).then(
    (events) =>
      process.send!({
        events,
        seconds: (performance.now() - began) / 1_000,
        hash: hash.copy().digest("hex").slice(0, 16)
      }),
    (error) => process.send!({ error: String(error), events: 0, seconds: 0, hash: "" })
  )
})
process.on("disconnect", () => process.exit(0))
process.send!({ port: 0 })
