/**
 * Reads the body of a request in linear time, however it arrives: a peer may send a byte at a time, and pays for that itself.
 * Source: docs/contract/limits.md#transports.
 */
import { Effect } from "effect"
import type { IncomingMessage } from "node:http"
import { transportLimits } from "../../domain/TransportLimits.ts"
import type { Budget, Held } from "./InboundBudget.ts"

/** Largest body that is read. */
export const BODY_BYTES_MAX = transportLimits.body_bytes.figure
/** First size of a buffer that takes a second chunk. */
const GROWS_FROM = 4 * 1024

/** Puts chunks together. One chunk, as nearly all bodies are, is not copied. */
export class Assembly {
  /** Bytes that the sender announced; 0: none. */
  private readonly announced: number
  private buffer: Buffer | undefined
  /** Bytes that arrived. */
  length = 0

  constructor(announced = 0) {
    this.announced = announced
  }

  /** Takes the next chunk; false: the body is too large. */
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
  /** Makes room for what was announced, else twice the size each time, so that all copies together are as long as the body. */
  private grow(length: number): void {
    const size = Math.min(BODY_BYTES_MAX, Math.max(GROWS_FROM, 2 * this.buffer!.length, length, this.announced))
    const larger = Buffer.allocUnsafeSlow(size)
    this.buffer!.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }
  /** What arrived; undefined: nothing. */
  get bytes(): Buffer | undefined {
    return this.buffer?.subarray(0, this.length)
  }
  /** Bytes of memory. */
  get size(): number {
    return this.buffer?.length ?? 0
  }
}

/** How reading ended without a body: it is too large, or its sender left. */
export type Unread = "too-large" | "cut"

/**
 * Reads a body; calls back once, with what arrived (undefined: nothing) or why there is none. A body that is too large is taken
 * in to its end and dropped. The input of several chunks counts in the budget, which may end the connection.
 */
export const read = (
  source: IncomingMessage,
  budget: Budget,
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
      held ??= budget.open(source.socket.remoteAddress ?? "", () => source.socket.destroy())
      held.set(assembly.size)
    }
  }
  const onEnd = (): void => finish(assembly.bytes)
  const onClose = (): void => finish("cut")
  if (source.destroyed) return done("cut")
  source.on("data", onData).on("end", onEnd).on("close", onClose)
}

/** {@link read} as an effect. */
export const readEffect = (source: IncomingMessage, budget: Budget): Effect.Effect<Buffer | undefined, Unread> =>
  Effect.callback((resume) =>
    read(source, budget, (result) => resume(typeof result === "string" ? Effect.fail(result) : Effect.succeed(result)))
  )
