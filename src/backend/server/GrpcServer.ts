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

/** PEM texts. With `ca` a client must show a certificate that it signed. */
export interface ServerTls {
  readonly ca: Buffer | undefined
  readonly cert: Buffer
  readonly key: Buffer
}

/** Largest message taken: a full batch of commands is far below it. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
/** A peer that does not answer pings for so long is gone. */
export const KEEPALIVE_MS = 10_000
/** How long calls in flight may take while the server stops. */
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

/** Lets a call through only with `authorization: Bearer <secret>`. Without a secret every call passes. */
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

/** What a read answers when there is nothing to answer. */
export interface NotFound {
  readonly notFound: string
}

/** What a read answers when it is asked what cannot be. */
export interface Invalid {
  readonly invalid: string
}

export interface ReadOptions {
  /** Whether the state is that of the journal; if not, nothing is told of it. */
  readonly sound: () => boolean
  /** `request_id`: that of the request for which the gateway reads. */
  readonly onDefect: (cause: unknown, request_id: string) => void
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/u
/** Whatever a peer sends must not break a log line. */
const requestIdOf = (metadata: Metadata): string => {
  const sent = String(metadata.get("x-request-id")[0] ?? "")
  return REQUEST_ID.test(sent) ? sent : "none"
}

/** A read as a handler: a value, NOT_FOUND, INVALID_ARGUMENT, or INTERNAL without its text. */
export const read =
  <Req, Res extends object>(answer: (request: Req) => Res | NotFound | Invalid, { sound, onDefect }: ReadOptions) =>
  (call: ServerUnaryCall<Req, Res>, callback: sendUnaryData<Res>): void => {
    if (!sound()) return callback({ code: status.UNAVAILABLE, details: "the backend is stopping" })
    try {
      const value = answer(call.request)
      if ("notFound" in value) callback({ code: status.NOT_FOUND, details: value.notFound })
      else if ("invalid" in value) callback({ code: status.INVALID_ARGUMENT, details: value.invalid })
      else callback(null, value)
    } catch (cause) {
      onDefect(cause, requestIdOf(call.metadata))
      callback({ code: status.INTERNAL, details: "internal error" })
    }
  }

/** Adds a service; rpcs without a handler answer UNIMPLEMENTED. */
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

/** Binds and tells the port; port 0 takes a free one. */
export const bind = (server: Server, host: string, port: number, tls: ServerTls | undefined): Promise<number> =>
  new Promise((resolve, reject) => {
    const address = `${host.includes(":") ? `[${host}]` : host}:${port}`
    server.bindAsync(address, credentials(tls), (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })

/** Waits for the calls in flight, then ends them. */
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
