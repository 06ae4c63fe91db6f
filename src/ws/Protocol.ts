/**
 * The parts of `ws` that read what a peer sends: frames, masks, fragments, control frames, UTF-8, sizes and inflation are
 * its code. Its types leave them out, so they are declared here.
 */
import { type Extensions, PerMessageDeflate, Receiver } from "ws"
import type { CloseReason } from "./api/CloseCodes.ts"
import type { Limits } from "./Limits.ts"

declare module "ws" {
  /** Takes the bytes of one peer, and emits what they say; after `conclude` or an error it takes nothing more. */
  export class Receiver {
    constructor(options: {
      readonly isServer: boolean
      readonly maxPayload: number
      readonly maxBufferedChunks: number
      readonly maxFragments: number
      readonly extensions: Extensions
    })
    /** False: no more until `drain`. Calls back when the chunk was read to its end. */
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
    /** What is agreed on of these offers; throws when none is acceptable. */
    accept(offers: ReadonlyArray<object>): object
    /** Gives back what inflating needs. */
    cleanup(): void
  }
  export const extension: {
    readonly parse: (header: string) => Offers
    readonly format: (agreed: Readonly<Record<string, object>>) => string
  }
  export const subprotocol: { readonly parse: (header: string) => ReadonlySet<string> }
}

/** Pieces of one message, whether they are chunks of the network or fragments of the protocol. */
const CHUNKS_MAX = 16 * 1024
const FRAGMENTS_MAX = 16 * 1024

/** Each message is compressed by itself, so that one compressed frame serves all sockets, and nothing is kept in between. */
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

/** Why a connection ends whose bytes a receiver refused. */
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
      // what does not inflate is no text either
      return code?.startsWith("WS_ERR_") === true ? "ProtocolError" : "InvalidText"
  }
}
