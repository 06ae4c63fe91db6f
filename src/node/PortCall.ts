/**
 * Calls of a gRPC service over MessagePorts, between two threads of one process. Each call has a port of its own, and messages have
 * the encoding of the service.
 *
 * Both ends of a stream behave as those of grpc-js: the client's fails with the status of the server and can be canceled, the
 * server's emits `cancelled` when the client is gone. A side sends {@link WINDOW_BYTES} ahead of what the other one has read.
 *
 * Source: docs/decisions/0021-message-ports.md.
 */
import { Duplex } from "node:stream"
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { Metadata, type ServiceError, status } from "@grpc/grpc-js"
import { callFailure } from "./CallFailure.ts"

/**
 * Bytes on their way or unread, after which a side sends nothing more, and that a turn of the event loop reads at most. One larger
 * message may exceed them.
 */
export const WINDOW_BYTES = 16 * 1024
/** Messages that wait for the window until `write` returns `false`. */
const MESSAGES_WAITING = 16

/** Opens a call to the other thread: the path of its method, its request, and an id for the logs. `undefined`: the thread does not run. */
export type Open = (path: string, request: Uint8Array, request_id: string) => MessagePort | undefined

/** How a call failed. */
interface Status {
  readonly code: status
  readonly details: string
  readonly metadata: Readonly<Record<string, string | Uint8Array>>
}
/** What a port carries: a message of the service, how many bytes were read, the end of a direction, or the status of a failed call. */
type PortMessage = Uint8Array | { readonly read: number } | "end" | Status

const statusOf = ({ code, details, metadata }: Partial<ServiceError>): Status => ({
  code: code ?? status.INTERNAL,
  details: details ?? "internal error",
  metadata: metadata?.getMap() ?? {}
})
const failureOf = ({ code, details, metadata }: Status): ServiceError => {
  const received = new Metadata()
  for (const [key, value] of Object.entries(metadata))
    received.set(key, typeof value === "string" ? value : Buffer.from(value))
  return callFailure(code, details, { metadata: received })
}
const unavailable = (): ServiceError => callFailure(status.UNAVAILABLE, "the thread of the backend does not run")
const unreadable = (cause: unknown): ServiceError =>
  callFailure(status.INTERNAL, `a message cannot be read: ${String(cause)}`, { cause })

/** Posts a message of a service. It is a copy: the encoder may keep its bytes, and posting a view copies all of its buffer. */
const postBytes = (port: MessagePort, bytes: Uint8Array): void => {
  const copy = new Uint8Array(bytes)
  port.postMessage(copy, [copy.buffer])
}
const bufferOf = ({ buffer, byteLength, byteOffset }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

/** Answers a call with one response, or fails it. */
export const reply = (port: MessagePort, answer: Uint8Array | Partial<ServiceError>): void => {
  if (answer instanceof Uint8Array) postBytes(port, answer)
  else port.postMessage(statusOf(answer))
  port.close()
}

/** Makes a call with one response; returns a function that cancels it. `done` is called once, and not after that. */
export const unary = <Received>(
  port: MessagePort | undefined,
  decode: (bytes: Buffer) => Received,
  done: (error: ServiceError | null, response?: Received) => void
): (() => void) => {
  let isOpen = true
  const close = (): void => {
    isOpen = false
    port?.close()
  }
  const end = (error: ServiceError | null, response?: Received): void => {
    if (!isOpen) return
    close()
    done(error, response)
  }
  if (port === undefined) setImmediate(() => end(unavailable()))
  port?.on("message", (message: Uint8Array | Status) => {
    if (!(message instanceof Uint8Array)) return end(failureOf(message))
    let response: Received
    try {
      response = decode(bufferOf(message))
    } catch (cause) {
      return end(unreadable(cause))
    }
    end(null, response)
  })
  port?.on("close", () => end(unavailable()))
  return close
}

export interface Codec<Sent, Received> {
  readonly encode: (value: Sent) => Uint8Array
  readonly decode: (bytes: Buffer) => Received
}

/** One end of a stream. */
abstract class StreamEnd<Sent, Received> extends Duplex {
  private readonly port: MessagePort
  private readonly codec: Codec<Sent, Received>
  /** Bytes that were sent and that the other side has not reported as read. */
  private ahead = 0
  /** Bytes that were received since the last report. */
  private unreported = 0
  private isReporting = false
  private isFull = false
  private proceed: (() => void) | undefined

  constructor(port: MessagePort, codec: Codec<Sent, Received>, allowHalfOpen: boolean) {
    super({
      objectMode: true,
      allowHalfOpen,
      // one unread message stops the reports, so that the sender stops within its window
      readableHighWaterMark: 1,
      writableHighWaterMark: MESSAGES_WAITING
    })
    this.port = port
    this.codec = codec
    port.on("message", (message: PortMessage) => this.receive(message))
    port.on("close", () => {
      if (!this.destroyed) this.onGone()
    })
  }

  /** The other side has closed the port, or its thread has ended. */
  protected abstract onGone(): void
  /** The other side has failed the call. */
  protected abstract onStatus(status: Status): void

  protected post(message: Exclude<PortMessage, Uint8Array>): void {
    this.port.postMessage(message)
  }

  private receive(message: PortMessage): void {
    if (this.destroyed) return
    if (message === "end") this.push(null)
    else if (message instanceof Uint8Array) this.accept(message)
    else if ("read" in message) this.acknowledge(message.read)
    else this.onStatus(message)
  }

  private accept(bytes: Uint8Array): void {
    this.unreported += bytes.byteLength
    let value: Received
    try {
      value = this.codec.decode(bufferOf(bytes))
    } catch (cause) {
      this.destroy(unreadable(cause))
      return
    }
    this.isFull = !this.push(value)
    if (!this.isFull) this.report()
  }

  private acknowledge(bytes: number): void {
    this.ahead -= bytes
    if (this.ahead >= WINDOW_BYTES) return
    const { proceed } = this
    this.proceed = undefined
    proceed?.()
  }

  /**
   * Reports what was read, half a window at a time, in the next turn of the event loop: a port delivers what arrives while its messages
   * are handled in the same turn, up to 1,000 messages.
   */
  private report(): void {
    if (this.isReporting || this.unreported < WINDOW_BYTES / 2) return
    this.isReporting = true
    setImmediate(() => {
      this.isReporting = false
      // a reader that has paused since reports when it reads again
      if (this.destroyed || this.isFull) return
      this.post({ read: this.unreported })
      this.unreported = 0
    })
  }

  override _write(value: Sent, _encoding: BufferEncoding, done: () => void): void {
    const bytes = this.codec.encode(value)
    this.ahead += bytes.byteLength
    postBytes(this.port, bytes)
    if (this.ahead < WINDOW_BYTES) done()
    else this.proceed = done
  }

  override _final(done: () => void): void {
    this.post("end")
    done()
  }

  override _read(): void {
    if (!this.isFull) return
    this.isFull = false
    this.report()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.port.close()
    done(error)
  }
}

/** The client's end of a stream. */
export class ClientCall<Sent, Received> extends StreamEnd<Sent, Received> {
  private constructor(port: MessagePort, codec: Codec<Sent, Received>) {
    super(port, codec, false)
  }
  /** A stream over a port; without one, a stream that fails as unavailable. */
  static over<Sent, Received>(port: MessagePort | undefined, codec: Codec<Sent, Received>): ClientCall<Sent, Received> {
    if (port !== undefined) return new ClientCall(port, codec)
    const call = new ClientCall(new MessageChannel().port1, codec)
    call.onGone()
    return call
  }
  protected override onGone(): void {
    this.destroy(unavailable())
  }
  protected override onStatus(status: Status): void {
    this.destroy(failureOf(status))
  }
  cancel(): void {
    this.destroy(callFailure(status.CANCELLED, "canceled by the client"))
  }
}

/** The server's end of a stream. It fails by the event `error` with a status, as in grpc-js. */
export class ServerCall<Request, Sent, Received> extends StreamEnd<Sent, Received> {
  /** The request of a stream with one request. */
  readonly request: Request

  constructor(port: MessagePort, codec: Codec<Sent, Received>, request: Request) {
    super(port, codec, true)
    this.request = request
    this.on("error", (error: Partial<ServiceError>) => {
      if (this.destroyed) return
      this.post(statusOf(error))
      this.destroy()
    })
  }
  protected override onGone(): void {
    this.emit("cancelled")
    this.destroy()
  }
  protected override onStatus(): void {
    // a client sends none
  }
}
