/** The opening handshake: accepts or refuses an upgrade request. Source: RFC 6455 4.2, RFC 7692 5. */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { extension, subprotocol } from "ws"
import type { Reason } from "../domain/Reason.ts"
import type { Limits } from "./Limits.ts"
import { deflateOf } from "./Protocol.ts"

export interface Accepted {
  readonly status: 101
  /** The response head, which opens the connection. */
  readonly head: string
  /** Whether messages may be compressed. */
  readonly deflated: boolean
}

export interface Declined {
  readonly status: 400 | 405
  readonly reason: Reason
  readonly message: string
  /** Header lines of the refusal. */
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

/** Parses a header; `undefined`: malformed. */
const parsed = <A>(parse: (header: string) => A, header: string): A | undefined => {
  try {
    return parse(header)
  } catch {
    return undefined
  }
}

/** The extension header of the response; `undefined`: no acceptable offer. */
const agreed = (offers: ReadonlyArray<object>, limits: Limits): string | undefined => {
  const params = parsed(() => deflateOf(limits).accept(offers), DEFLATE)
  return params && `Sec-WebSocket-Extensions: ${extension.format({ [DEFLATE]: params })}`
}

export const negotiate = ({ headers, httpVersion, method }: IncomingMessage, limits: Limits): Accepted | Declined => {
  const key = headers["sec-websocket-key"]
  if (method !== "GET") {
    return { status: 405, reason: "MethodNotAllowed", message: "use GET for an upgrade", fields: ["Allow: GET"] }
  }
  if (httpVersion !== "1.1") return decline("an upgrade needs HTTP/1.1")
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
  const offeredProtocols = headers["sec-websocket-protocol"]
  if (offeredProtocols !== undefined) {
    // a browser that offers subprotocols expects one in the response; all are accepted alike
    const [first] = parsed(subprotocol.parse, offeredProtocols) ?? []
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
