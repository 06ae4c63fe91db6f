/** The opening handshake: an upgrade request is answered 101 or refused. Source: RFC 6455 4.2, RFC 7692 5. */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { extension, subprotocol } from "ws"
import type { Reason } from "../domain/Reason.ts"
import type { Limits } from "./Limits.ts"
import { deflateOf } from "./Protocol.ts"

export interface Accepted {
  readonly status: 101
  /** The answer, which opens the connection. */
  readonly head: string
  /** Whether messages may be compressed. */
  readonly deflated: boolean
}

export interface Declined {
  readonly status: 400 | 405
  readonly reason: Reason
  readonly message: string
  /** Header field lines that the refusal needs. */
  readonly fields: ReadonlyArray<string>
}

const KEY = /^[+/0-9A-Za-z]{22}==$/u
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
const VERSIONS = new Set(["13", "8"])
const DEFLATE = "permessage-deflate"

const decline = (message: string, fields: ReadonlyArray<string> = []): Declined => ({
  status: 400,
  reason: "MalformedRequest",
  message,
  fields
})

/** What a parser makes of a header field; `undefined` where it is malformed. */
const parsed = <A>(parse: (header: string) => A, header: string): A | undefined => {
  try {
    return parse(header)
  } catch {
    return undefined
  }
}

/** The extension line of the answer; `undefined` where no offer suits. */
const agreed = (offers: ReadonlyArray<object>, limits: Limits): string | undefined => {
  const params = parsed(() => deflateOf(limits).accept(offers), DEFLATE)
  return params && `Sec-WebSocket-Extensions: ${extension.format({ [DEFLATE]: params })}`
}

export const answer = ({ headers, method }: IncomingMessage, limits: Limits): Accepted | Declined => {
  const key = headers["sec-websocket-key"]
  if (method !== "GET") {
    return { status: 405, reason: "MethodNotAllowed", message: "ask with GET for an upgrade", fields: ["Allow: GET"] }
  }
  if (headers.upgrade?.toLowerCase() !== "websocket") return decline("upgrade must be websocket")
  if (key === undefined || !KEY.test(key)) return decline("sec-websocket-key is missing or malformed")
  if (!VERSIONS.has(headers["sec-websocket-version"] ?? "")) {
    return decline("sec-websocket-version must be 13", ["Sec-WebSocket-Version: 13, 8"])
  }
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${createHash("sha1")
      .update(key + GUID)
      .digest("base64")}`
  ]
  const wishes = headers["sec-websocket-protocol"]
  if (wishes !== undefined) {
    // a browser that asks for subprotocols wants one of them; all mean the same here
    const [first] = parsed(subprotocol.parse, wishes) ?? []
    if (first === undefined) return decline("sec-websocket-protocol is malformed")
    lines.push(`Sec-WebSocket-Protocol: ${first}`)
  }
  const offered = headers["sec-websocket-extensions"]
  const extensions = offered === undefined ? {} : parsed(extension.parse, offered)
  if (extensions === undefined) return decline("sec-websocket-extensions is malformed")
  const deflate = extensions[DEFLATE] && agreed(extensions[DEFLATE], limits)
  if (deflate !== undefined) lines.push(deflate)
  return { status: 101, head: `${lines.join("\r\n")}\r\n\r\n`, deflated: deflate !== undefined }
}
