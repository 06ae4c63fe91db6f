/** One gRPC server: credentials, the shared secret, reads as handlers, binding and stopping. */
import { createHash, timingSafeEqual } from "node:crypto"
import {
  type Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  status,
  type UntypedHandleCall,
  type UntypedServiceImplementation
} from "@grpc/grpc-js"

/** PEM texts. With `ca`, clients must present a certificate that it has signed. */
export interface ServerTls {
  readonly ca: Buffer | undefined
  readonly cert: Buffer
  readonly key: Buffer
}

/** Largest accepted message: a full batch of commands is far smaller. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
/** Time without a ping response after which a peer counts as disconnected. */
export const KEEPALIVE_MS = 10_000
/** Time limit for calls in progress when the server stops. */
export const DRAIN_MS = 2000

export const makeServer = (): Server =>
  new Server({
    "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_MS,
    "grpc.max_concurrent_streams": 4096
  })

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Rejects calls without `authorization: Bearer <secret>`. Without a secret, every call passes. */
export const guard = (
  handlers: UntypedServiceImplementation,
  secret: string | undefined
): UntypedServiceImplementation => {
  if (secret === undefined) return handlers
  const expected = digest(`Bearer ${secret}`)
  const refused = { code: status.UNAUTHENTICATED, details: "missing or wrong secret" }
  const allowed = (metadata: Metadata) =>
    timingSafeEqual(digest(String(metadata.get("authorization")[0] ?? "")), expected)
  const guarded = (handler: UntypedHandleCall): UntypedHandleCall =>
    ((call: ServerUnaryCall<unknown, unknown>, callback?: sendUnaryData<unknown>) => {
      if (allowed(call.metadata)) return (handler as (...args: ReadonlyArray<unknown>) => unknown)(call, callback)
      return callback === undefined ? call.emit("error", refused) : callback(refused)
    }) as UntypedHandleCall
  return Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, guarded(handler)]))
}

/** Rejects calls with UNAVAILABLE while a condition does not hold. */
export const onlyWhile = (
  isServing: () => boolean,
  details: string,
  handlers: UntypedServiceImplementation
): UntypedServiceImplementation => {
  const refused = { code: status.UNAVAILABLE, details }
  const gated = (handler: UntypedHandleCall): UntypedHandleCall =>
    ((call: ServerUnaryCall<unknown, unknown>, callback?: sendUnaryData<unknown>) => {
      if (isServing()) return (handler as (...args: ReadonlyArray<unknown>) => unknown)(call, callback)
      return callback === undefined ? call.emit("error", refused) : callback(refused)
    }) as UntypedHandleCall
  return Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, gated(handler)]))
}

/** The result of a read whose subject does not exist. */
export interface NotFound {
  readonly notFound: string
}

/** The result of a read with an invalid request. */
export interface Invalid {
  readonly invalid: string
}

export interface ReadOptions {
  /** Whether the state matches the journal; otherwise reads are refused. */
  readonly isConsistent: () => boolean
  /** Calls back, at once or later, when no turn is half applied. */
  readonly whenConsistent: (read: () => void) => void
  /** Calls back once what the read has seen is durable. */
  readonly whenDurable: (answer: () => void) => void
  /** `request_id`: id of the gateway request that caused the read. */
  readonly onDefect: (cause: unknown, request_id: string) => void
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/u
/** Restricts the id to characters that are safe in a log line. */
const requestIdOf = (metadata: Metadata): string => {
  const sent = String(metadata.get("x-request-id")[0] ?? "")
  return REQUEST_ID.test(sent) ? sent : "none"
}

/** Converts a read to a handler: responds with a value, NOT_FOUND, INVALID_ARGUMENT, or INTERNAL without details. */
export const read =
  <Req, Res extends object>(
    answer: (request: Req) => Res | NotFound | Invalid,
    { isConsistent, onDefect, whenConsistent, whenDurable }: ReadOptions
  ) =>
  (call: ServerUnaryCall<Req, Res>, callback: sendUnaryData<Res>): void =>
    whenConsistent(() => {
      if (!isConsistent()) return callback({ code: status.UNAVAILABLE, details: "the backend is stopping" })
      try {
        const value = answer(call.request)
        if ("notFound" in value) callback({ code: status.NOT_FOUND, details: value.notFound })
        else if ("invalid" in value) callback({ code: status.INVALID_ARGUMENT, details: value.invalid })
        else whenDurable(() => callback(null, value))
      } catch (cause) {
        onDefect(cause, requestIdOf(call.metadata))
        callback({ code: status.INTERNAL, details: "internal error" })
      }
    })

/** Adds a service; rpcs without a handler respond with UNIMPLEMENTED. */
export const addService = (
  server: Server,
  definition: ServiceDefinition,
  handlers: UntypedServiceImplementation
): void => server.addService(definition, handlers)

export const credentials = (tls: ServerTls | undefined): ServerCredentials =>
  tls === undefined
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(
        tls.ca ?? null,
        [{ private_key: tls.key, cert_chain: tls.cert }],
        tls.ca !== undefined
      )

/** Binds the server and returns its port; port 0 selects a free one. */
export const bind = (server: Server, host: string, port: number, tls: ServerTls | undefined): Promise<number> =>
  new Promise((resolve, reject) => {
    const address = `${host.includes(":") ? `[${host}]` : host}:${port}`
    server.bindAsync(address, credentials(tls), (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })

/** Waits for calls in progress, at most {@link DRAIN_MS}, then cancels them. */
export const stop = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown()
      resolve()
    }, DRAIN_MS)
    server.tryShutdown(() => {
      clearTimeout(timer)
      resolve()
    })
  })
