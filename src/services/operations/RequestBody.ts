/**
 * Reads a request body in linear time, also if the peer sends a byte at a time.
 * Source: docs/contract/limits.md#transports.
 */
import { Effect } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { transportLimits } from "../../domain/TransportLimits.ts"
import type { Budget, Held } from "./InboundBudget.ts"

/** Largest accepted body. */
export const BODY_BYTES_MAX = transportLimits.body_bytes.figure
/** Initial size of a buffer for a second chunk. */
const GROWS_FROM = 4 * 1024

/** Concatenates chunks. A single chunk, as nearly all bodies are, is not copied. */
export class Assembly {
  /** Content-Length; 0: none. */
  private readonly announced: number
  private buffer: Buffer | undefined
  /** Bytes received. */
  length = 0

  constructor(announced = 0) {
    this.announced = announced
  }

  /** Adds the next chunk; false: the body is too large. */
  add(chunk: Buffer): boolean {
    const length = this.length + chunk.length
    if (length > BODY_BYTES_MAX) return false
    if (this.buffer === undefined) this.buffer = chunk
    else {
      if (length > this.buffer.length || this.length === this.buffer.length) this.grow(length)
      chunk.copy(this.buffer, this.length)
    }
    this.length = length
    return true
  }
  /**
   * Grows the buffer to the announced length, else to twice its size, so the total of all copies is linear in the
   * body.
   */
  private grow(length: number): void {
    const size = Math.min(BODY_BYTES_MAX, Math.max(GROWS_FROM, 2 * this.buffer!.length, length, this.announced))
    const larger = Buffer.allocUnsafeSlow(size)
    this.buffer!.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }
  /** The bytes received; undefined if there are none. */
  get bytes(): Buffer | undefined {
    return this.buffer?.subarray(0, this.length)
  }
  /** Size of the buffer in bytes. */
  get size(): number {
    return this.buffer?.length ?? 0
  }
}

/** Why there is no body: it is too large, or the client disconnected. */
export type Unread = "too-large" | "cut"

/**
 * Reads a body. Calls back once, with the bytes (undefined: none) or with the failure. A body that is too large is
 * read to its end and discarded. Input of several chunks counts in the budget, for the address of its client, and may
 * close the connection.
 */
export const read = (
  source: IncomingMessage,
  budget: Budget,
  addressOf: () => string,
  done: (body: Buffer | undefined | Unread) => void
): void => {
  const assembly = new Assembly(Number(source.headers["content-length"] ?? 0))
  let held: Held | undefined
  const finish = (result: Buffer | undefined | Unread): void => {
    source.off("data", onData).off("end", onEnd).off("close", onClose)
    held?.set(0)
    done(result)
  }
  const onData = (chunk: Buffer): void => {
    const isFirst = assembly.length === 0
    if (!assembly.add(chunk)) {
      finish("too-large")
      source.resume()
    } else if (!isFirst || chunk.length < Number(source.headers["content-length"] ?? Infinity)) {
      held ??= budget.open(addressOf(), () => source.socket.destroy())
      held.set(assembly.size)
    }
  }
  const onEnd = (): void => finish(assembly.bytes)
  const onClose = (): void => finish("cut")
  if (source.destroyed) return done("cut")
  source.on("data", onData).on("end", onEnd).on("close", onClose)
}

/** {@link read} as an Effect. Sends `100 Continue` to a client that waits for it. */
export const readEffect = (
  source: IncomingMessage,
  response: Pick<ServerResponse, "writeContinue">,
  budget: Budget,
  addressOf: () => string
): Effect.Effect<Buffer | undefined, Unread> =>
  Effect.callback((resume) => {
    if (source.headers.expect !== undefined) response.writeContinue()
    read(source, budget, addressOf, (result) =>
      resume(typeof result === "string" ? Effect.fail(result) : Effect.succeed(result))
    )
  })
