/** A connection over gRPC: credentials, keepalive, the shared secret. */
import { randomUUID } from "node:crypto"
import { ChannelCredentials, Client, type ClientOptions, Metadata } from "@grpc/grpc-js"
import { Effect, Redacted, type Scope } from "effect"
import { type CallOptions, type Connection, RECONNECT_MS_MAX, RECONNECT_MS_MIN } from "./Connection.ts"

/** PEM texts. With `cert` and `key` the gateway presents a client certificate. */
export interface ClientTls {
  readonly ca: Buffer
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
}

export interface Credentials {
  readonly secret: Redacted.Redacted<string> | undefined
  readonly tls: ClientTls | undefined
}

/** Largest message: a backend may send a large step in one frame. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

const options: ClientOptions = {
  "grpc.keepalive_time_ms": 5000,
  "grpc.keepalive_timeout_ms": 5000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.initial_reconnect_backoff_ms": RECONNECT_MS_MIN,
  "grpc.min_reconnect_backoff_ms": RECONNECT_MS_MIN,
  "grpc.max_reconnect_backoff_ms": RECONNECT_MS_MAX,
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc.enable_retries": 0,
  // A separate connection for each channel: the loss of one does not affect the others.
  "grpc.use_local_subchannel_pool": 1
}

const credentialsOf = (tls: ClientTls | undefined): ChannelCredentials =>
  tls === undefined
    ? ChannelCredentials.createInsecure()
    : ChannelCredentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)

/** Connects to `host:port` at once, and again after every loss, until the scope closes. */
export const make = Effect.fnUntraced(function* (
  address: string,
  { secret, tls }: Credentials
): Effect.fn.Return<Connection, never, Scope.Scope> {
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new Client(address, credentialsOf(tls), options)),
    (client) => Effect.sync(() => client.close())
  )
  client.getChannel().getConnectivityState(true)
  const authorization = secret === undefined ? undefined : `Bearer ${Redacted.value(secret)}`
  const metadataOf = ({ request_id = randomUUID(), traceparent }: CallOptions = {}): Metadata => {
    const metadata = new Metadata()
    metadata.set("x-request-id", request_id)
    if (authorization !== undefined) metadata.set("authorization", authorization)
    if (traceparent !== undefined) metadata.set("traceparent", traceparent)
    return metadata
  }
  return {
    unary: (rpc, request, options, done) => {
      const { deadline_ms } = options
      const call = client.makeUnaryRequest(
        rpc.path,
        rpc.requestSerialize,
        rpc.responseDeserialize,
        request,
        metadataOf(options),
        // grpc-js turns a time of the system clock into a duration at once, so a later step of that clock has no effect
        deadline_ms === undefined ? {} : { deadline: Date.now() + deadline_ms },
        done
      )
      return () => call.cancel()
    },
    responses: (rpc, request) =>
      client.makeServerStreamRequest(rpc.path, rpc.requestSerialize, rpc.responseDeserialize, request, metadataOf()),
    calls: (rpc) => client.makeBidiStreamRequest(rpc.path, rpc.requestSerialize, rpc.responseDeserialize, metadataOf()),
    whenReady: (within_ms, done) => client.waitForReady(Date.now() + within_ms, done)
  }
})
