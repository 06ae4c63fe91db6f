/**
 * The receiver of the `ws` library: it parses frames, masks, fragments and control frames, checks UTF-8 and sizes, and
 * inflates. The library's types do not include it, so it is declared here.
 */
import { type Extensions, PerMessageDeflate, Receiver } from "ws"
import type { CloseReason } from "./api/CloseCodes.ts"
import type { Limits } from "./Limits.ts"

declare module "ws" {
  /** Parses the bytes of one peer and emits messages; stops after `conclude` or an error. */
  export class Receiver {
    constructor(options: {
      readonly isServer: boolean
      readonly maxPayload: number
      readonly maxBufferedChunks: number
      readonly maxFragments: number
      readonly extensions: Extensions
    })
    /** False: wait for `drain`. Calls back after the chunk was parsed. */
    write(chunk: Buffer, done: () => void): boolean
    on(event: "message", listener: (data: Buffer, isBinary: boolean) => void): this
    on(event: "ping" | "pong", listener: (payload: Buffer) => void): this
    on(event: "conclude", listener: (code: number, reason: Buffer) => void): this
    on(event: "drain", listener: () => void): this
    on(event: "error", listener: (error: Error & { readonly code?: string }) => void): this
  }
  export interface Extensions {
    readonly "permessage-deflate"?: PerMessageDeflate
  }
  export interface Offers {
    readonly "permessage-deflate"?: ReadonlyArray<object>
  }
  export class PerMessageDeflate {
    constructor(options: {
      readonly isServer: true
      readonly maxPayload: number
      readonly serverNoContextTakeover: true
      readonly clientNoContextTakeover: true
      readonly serverMaxWindowBits: 15
    })
    /** The accepted parameters; throws if no offer is acceptable. */
    accept(offers: ReadonlyArray<object>): object
    /** Releases the inflate state. */
    cleanup(): void
  }
  export const extension: {
    readonly parse: (header: string) => Offers
    readonly format: (agreed: Readonly<Record<string, object>>) => string
  }
  export const subprotocol: { readonly parse: (header: string) => ReadonlySet<string> }
}

/** Maximum network chunks and protocol fragments of one message. */
const CHUNKS_MAX = 16 * 1024
const FRAGMENTS_MAX = 16 * 1024

/** No context takeover: one compressed frame serves all sockets, and sockets keep no state between messages. */
export const deflateOf = ({ inbound_frame_bytes }: Limits): PerMessageDeflate =>
  new PerMessageDeflate({
    isServer: true,
    maxPayload: inbound_frame_bytes,
    serverNoContextTakeover: true,
    clientNoContextTakeover: true,
    serverMaxWindowBits: 15
  })

export const receiverOf = ({ inbound_frame_bytes }: Limits, extensions: Extensions): Receiver =>
  new Receiver({
    isServer: true,
    maxPayload: inbound_frame_bytes,
    maxBufferedChunks: CHUNKS_MAX,
    maxFragments: FRAGMENTS_MAX,
    extensions
  })

/** The close reason for an error of the receiver. */
export const reasonOf = (code: string | undefined): CloseReason => {
  switch (code) {
    case "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH":
    case "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH":
      return "TooBig"
    case "WS_ERR_INVALID_UTF8":
      return "InvalidText"
    case "WS_ERR_TOO_MANY_BUFFERED_PARTS":
      return "TooManyFragments"
    default:
      // data that does not inflate is not text
      return code?.startsWith("WS_ERR_") === true ? "ProtocolError" : "InvalidText"
  }
}
