/**
 * A process of attackers of one kind: `node verification/attacks/Attackers.ts KIND COUNT URL`. It reports when all are at work
 * and runs until it is killed. Closed connections are opened again.
 */
import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"
import { fileURLToPath } from "node:url"
import { transportLimits } from "../../src/domain/TransportLimits.ts"

const upgrade = (path = "/ws/public") =>
  [
    `GET ${path} HTTP/1.1`,
    "Host: g",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    "\r\n"
  ].join("\r\n")

/** A masked text frame of the largest size without its last byte, which the gateway has to buffer. */
const unfinished = (() => {
  const length = transportLimits.message_bytes.figure
  const bytes = Buffer.alloc(14 + length - 1, "x")
  bytes.set([0x81, 0x80 | 127])
  bytes.writeBigUInt64BE(BigInt(length), 2)
  return bytes
})()
/** Complete messages of an incomplete call. */
const unfinishedCall = (() => {
  const length = 60_000
  const bytes = Buffer.alloc(8 + length, " ")
  bytes.set([0x81, 0x80 | 126, length >> 8, length & 255, 0, 0, 0, 0])
  return Buffer.concat([bytes, bytes, bytes, bytes, unfinished])
})()
/** The limit of sockets of one address. */
const perAddress = transportLimits.sockets_per_address.figure
const body = transportLimits.body_bytes.figure

interface Attack {
  /** Connections, by default. */
  readonly count: number
  readonly first: () => string
  /** Sent every second. */
  readonly drip?: string
  readonly reads?: false
  /** Resets the connection as soon as anything is answered. */
  readonly resets?: true
  /** Sent once anything is answered. */
  readonly after?: Buffer
  /** Connections of one address; further ones use another address. */
  readonly perAddress?: number
}

const sockets = (path: string, after: Buffer = unfinished) => ({
  count: 2_000,
  first: () => upgrade(path),
  after,
  perAddress
})

export const attacks = {
  "slow-headers": { count: 1_000, first: () => "GET / HTTP/1.1\r\nHost: g\r\n", drip: "X: y\r\n" },
  "slow-body": {
    count: 1_000,
    first: () => "POST /api/v1/authorize HTTP/1.1\r\nHost: g\r\nContent-Length: 100000\r\n\r\n{",
    drip: " "
  },
  "slow-reading": { count: 200, first: () => "GET /swagger-ui HTTP/1.1\r\nHost: g\r\n\r\n".repeat(4), reads: false },
  "half-open": { count: 5_000, first: () => "" },
  resets: { count: 10_000, first: upgrade, resets: true },
  "sockets-ws": sockets("/ws"),
  "sockets-public": sockets("/ws/public"),
  "sockets-private": sockets("/ws/private"),
  "sockets-rpc": sockets("/rpc", unfinishedCall),
  "slow-uploads": {
    count: 200,
    first: () =>
      `POST /api/v1/order/create HTTP/1.1\r\nHost: g\r\nContent-Length: ${body}\r\n\r\n${" ".repeat(body - 1_000)}`,
    drip: " ",
    perAddress
  },
  "slow-calls": {
    count: 200,
    first: () => `POST /rpc HTTP/1.1\r\nHost: g\r\nContent-Length: ${body}\r\n\r\n${" ".repeat(body - 1_000)}`,
    drip: " ",
    perAddress
  }
} as const satisfies Record<string, Attack>
export type Kind = keyof typeof attacks

/** Most connections of `resets` at once, and most connections that other attacks open at once. */
const AT_ONCE = 100
/** The address of an attacker, which is never that of the good client. */
const addressOf = (connection: number, each: number | undefined): string =>
  `127.0.0.${2 + (each === undefined ? 0 : Math.floor(connection / each) % 250)}`
/** Pause between two drips, in ms. */
const DRIP_MS = 1_000

/** Mean time after which a closed connection that would stay is opened again, in ms: half to one and a half of it. */
const AGAIN_MS = 60_000
/** Time between the last byte of the last connection and the report, in ms: the gateway reads what it was sent. */
const SETTLE_MS = 500

const run = (kind: Kind, count: number, url: URL): void => {
  const attack: Attack = attacks[kind]
  const open = new Set<Socket>()
  let opening = 0
  let opened = 0
  let begun = 0
  let atWork = 0
  const fill = () => {
    const most = attack.resets === true ? Math.min(AT_ONCE, count - opened) : count
    for (let room = Math.min(most - open.size, AT_ONCE - opening); room > 0; room--) begin()
  }
  const begin = () => {
    opening++
    const localAddress = addressOf(begun++, attack.perAddress)
    const socket = connect({ host: url.hostname, port: Number(url.port), localAddress })
    open.add(socket)
    let isOpening = true
    const settled = () => {
      if (isOpening) opening--
      isOpening = false
    }
    let isAtWork = false
    // those that do not stay are at work from the first on
    const works = () => {
      if (isAtWork) return
      isAtWork = true
      if (++atWork === (attack.resets === true ? 1 : count)) setTimeout(() => process.send?.({ opened }), SETTLE_MS)
    }
    socket.once("connect", () => {
      settled()
      opened++
      if (attack.after === undefined) works()
      const first = attack.first()
      if (first !== "") socket.write(first)
      if (attack.reads === false) socket.pause()
      if (attack.perAddress === undefined || opened < count) setImmediate(fill)
    })
    if (attack.reads !== false) socket.on("data", () => attack.resets === true && socket.resetAndDestroy())
    if (attack.after !== undefined) socket.once("data", () => socket.write(attack.after!, works))
    socket.on("error", () => {})
    socket.once("close", () => {
      settled()
      works()
      open.delete(socket)
      // one that stays is opened again later, so that opening is not the attack
      if (attack.perAddress === undefined || opened < count) setImmediate(fill)
      else setTimeout(begin, AGAIN_MS * (0.5 + Math.random()))
    })
  }
  const { drip } = attack
  setInterval(() => {
    if (drip !== undefined) for (const socket of open) if (socket.writable) socket.write(drip)
    if (opened < count || attack.perAddress === undefined) fill()
  }, DRIP_MS)
  fill()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [kind, count, url] = process.argv.slice(2) as [Kind, string, string]
  process.once("disconnect", () => process.exit())
  run(kind, Number(count), new URL(url))
}
