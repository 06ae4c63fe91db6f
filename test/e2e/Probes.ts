/**
 * Requests that two parsers may cut differently, each with a second request hidden in it: CL.TE, TE.CL, TE.TE, doubled and
 * odd lengths, odd chunks. A hidden one that reaches a handler as nobody's request is smuggled.
 */
import { connect } from "node:net"

/** Longest wait for the end of a connection, in ms. */
const OVER_MS = 30_000

export interface Probe {
  readonly title: string
  /** The bytes; what they hide asks for {@link HIDDEN} with the number of the probe. */
  readonly bytes: (no: number) => Buffer
}

export const HIDDEN = "/hidden"
const hiddenOf = (no: number) => `GET ${HIDDEN}?no=${no} HTTP/1.1\r\nHost: g\r\n\r\n`

const probe = (
  title: string,
  fields: (body: string) => string,
  body: (hidden: string) => string,
  line = "POST /api/v1/order/create HTTP/1.1"
): Probe => ({
  title,
  bytes: (no) => {
    const whole = body(hiddenOf(no))
    return Buffer.from(`${line}\r\nHost: g\r\n${fields(whole)}\r\n\r\n${whole}`, "latin1")
  }
})

const all = (body: string) => `Content-Length: ${body.length}`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const LAST = "0\r\n\r\n"
/** A body that is over at once for who reads chunks, and holds the hidden request for who counts. */
const behind = (hidden: string) => `${LAST}${hidden}`
/** A body that is one chunk for who reads chunks; who counts finds the hidden request behind its first line. */
const within = (hidden: string) => `${chunk(hidden)}${LAST}`
const firstLine = (body: string) => `Content-Length: ${body.indexOf("\r\n") + 2}`

const encodings = [
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding:\tchunked",
  "Transfer-Encoding: \x0bchunked",
  "Transfer-Encoding: chunked\x00",
  "Transfer-Encoding: CHUNKED",
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: identity, chunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding:\r\n chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
  "X: y\nTransfer-Encoding: chunked",
  "X: y\rTransfer-Encoding: chunked",
  "Transfer_Encoding: chunked",
  " Transfer-Encoding: chunked"
]
const lengths: ReadonlyArray<readonly [string, (n: number) => string]> = [
  ["two, the first 0", (n) => `Content-Length: 0\r\nContent-Length: ${n}`],
  ["two, the last 0", (n) => `Content-Length: ${n}\r\nContent-Length: 0`],
  ["a list", (n) => `Content-Length: 0, ${n}`],
  ["a list of equal ones", (n) => `Content-Length: ${n}, ${n}`],
  ["a sign", (n) => `Content-Length: +${n}`],
  ["hexadecimal", () => "Content-Length: 0x0"],
  ["below zero", () => "Content-Length: -1"],
  ["a blank before the colon", (n) => `Content-Length : ${n}`],
  ["a vertical tab", () => "Content-Length: \x0b0"],
  ["empty", () => "Content-Length:"],
  ["more than 64 bits", () => `Content-Length: ${2n ** 64n}`]
]
const chunked = () => "Transfer-Encoding: chunked"
const chunks: ReadonlyArray<readonly [string, (hidden: string) => string]> = [
  ["a line feed in an extension", (hidden) => `5;\nhello\r\n${LAST}${hidden}`],
  ["a carriage return in an extension", (hidden) => `5;\rhello\r\n${LAST}${hidden}`],
  ["bare line feeds", (hidden) => `5\nhello\n0\n\n${hidden}`],
  ["0x before the size", (hidden) => `0x5\r\nhello\r\n${LAST}${hidden}`],
  ["a size below zero", (hidden) => `-1\r\n${LAST}${hidden}`],
  ["a size of more than 64 bits", (hidden) => `10000000000000000\r\n${LAST}${hidden}`],
  ["a chunk that is longer than it says", (hidden) => `1\r\nhello\r\n${LAST}${hidden}`],
  ["no size", (hidden) => `\r\n${LAST}${hidden}`],
  ["trailers with a length", (hidden) => `0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`],
  ["trailers with an encoding", (hidden) => `0\r\nTransfer-Encoding: chunked\r\n\r\n${hidden}`]
]

export const probes: ReadonlyArray<Probe> = [
  ...encodings.flatMap((encoding) => {
    const title = JSON.stringify(encoding)
    return [
      probe(`CL.TE ${title}`, (body) => `${all(body)}\r\n${encoding}`, behind),
      probe(`TE.CL ${title}`, (body) => `${firstLine(body)}\r\n${encoding}`, within),
      probe(`TE before CL ${title}`, (body) => `${encoding}\r\n${all(body)}`, behind)
    ]
  }),
  ...lengths.map(([title, fields]) =>
    probe(
      `Content-Length: ${title}`,
      (body) => fields(body.length),
      (hidden) => hidden
    )
  ),
  ...chunks.map(([title, body]) => probe(`chunks: ${title}`, chunked, body)),
  probe("HTTP/1.0 with chunks and a length", (body) => `${chunked()}\r\n${all(body)}`, behind, "POST / HTTP/1.0"),
  probe("a body of GET", all, (hidden) => hidden, "GET /api/v1/market/time HTTP/1.1"),
  probe(
    "a body that is announced",
    (body) => `Expect: 100-continue\r\n${all(body)}`,
    (hidden) => hidden
  ),
  probe("a request line with two blanks", all, (hidden) => hidden, "POST  /api/v1/order/create  HTTP/1.1"),
  probe("a version that is none", all, (hidden) => hidden, "POST /api/v1/order/create HTTP/1.10")
]

/** Two requests on one connection, which everybody sees as two. */
export const pipelined: Probe = probe(
  "two requests",
  () => "Content-Length: 0",
  (hidden) => hidden
)

/**
 * Sends bytes on a new connection and reads until the server ends it; with `thatIsAll` the client ends its own side after
 * them. Resolves to the statuses of the final answers, in order.
 */
export const answersTo = (port: number, bytes: Uint8Array, thatIsAll: boolean): Promise<ReadonlyArray<number>> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: !thatIsAll })
    let text = ""
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Error(`the connection is not over in ${OVER_MS} ms: ${text}`))
    }, OVER_MS)
    socket.on("data", (some) => (text += some.toString("latin1")))
    socket.on("error", () => {})
    socket.on("end", () => socket.destroy())
    socket.on("close", () => {
      clearTimeout(late)
      resolve(
        [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /gu)]
          .map(([, status]) => Number(status))
          .filter((status) => status >= 200)
      )
    })
    if (thatIsAll) socket.end(bytes)
    else socket.write(bytes)
  })
