/** A connection to one backend, whatever carries its calls. */
import type { ServiceError } from "@grpc/grpc-js"

/** First and longest pause between two attempts to connect, in ms; each has a jitter of 20 percent. */
export const RECONNECT_MS_MIN = 100
export const RECONNECT_MS_MAX = 250

/** A method of a generated service definition. */
export interface Rpc<Req, Res> {
  readonly path: string
  readonly requestSerialize: (value: Req) => Buffer
  readonly responseDeserialize: (value: Buffer) => Res
}

/** A stream of responses. */
export interface ResponseStream<Res> {
  on(event: "data", listener: (response: Res) => void): unknown
  on(event: "error", listener: (error: ServiceError) => void): unknown
  on(event: "end" | "drain", listener: () => void): unknown
  pause(): unknown
  resume(): unknown
  cancel(): void
}
/** A stream of requests and of their responses. */
export interface CallStream<Req, Res> extends ResponseStream<Res> {
  /** `false`: nothing more should be written before the event `drain`. */
  write(request: Req): boolean
  end(): unknown
}

export interface CallOptions {
  /** Correlates the logs of both sides. Default: a new id. */
  readonly request_id?: string | undefined
  /** The caller's span, as in W3C Trace Context. */
  readonly traceparent?: string | undefined
  /** The call fails with DEADLINE_EXCEEDED after this time; by default it waits. */
  readonly deadline_ms?: number
}

export interface Connection {
  /** Makes a call with one response; returns a function that cancels it. `done` is called once, with CANCELLED where it is canceled. */
  readonly unary: <Req, Res>(
    rpc: Rpc<Req, Res>,
    request: Req,
    options: CallOptions,
    done: (error: ServiceError | null, response?: Res) => void
  ) => () => void
  /** Opens a stream of responses to one request. */
  readonly responses: <Req, Res>(rpc: Rpc<Req, Res>, request: Req) => ResponseStream<Res>
  /** Opens a stream in both directions. */
  readonly calls: <Req, Res>(rpc: Rpc<Req, Res>) => CallStream<Req, Res>
  /** Calls back once calls can be made, or with an error after a time. */
  readonly whenReady: (within_ms: number, done: (error?: Error) => void) => void
}
