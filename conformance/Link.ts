/** The wire to one backend: calls with a deadline, and streams. */
import {
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  Metadata,
  status
} from "@grpc/grpc-js"
import { Effect, Schema, type Scope } from "effect"
import { Broken } from "./Expect.ts"

/** A backend may send a large step in one message. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** Address and credentials of the backend, as in the gateway's settings. */
export interface Endpoint {
  /** `host:port`. */
  readonly address: string
  readonly secret: string | undefined
  readonly tls: { readonly ca: Buffer; readonly cert: Buffer | undefined; readonly key: Buffer | undefined } | undefined
}

/** An rpc of a generated service definition. */
export interface Rpc<Req, Res> {
  readonly path: string
  readonly requestSerialize: (value: Req) => Buffer
  readonly responseDeserialize: (value: Buffer) => Res
}

/** A call that failed with a status. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  rpc: Schema.String,
  code: Schema.Number,
  details: Schema.String,
  /** Trailing metadata: text as it is, binary values as Buffers. */
  trailing: Schema.Record(Schema.String, Schema.Unknown)
}) {}

export const statusName = (code: number): string => status[code] ?? `status ${code}`

/** An unexpected refusal. */
export const unasked = ({ rpc, code, details }: Refusal): Broken =>
  new Broken({ message: `${rpc.split("/").at(-1)} answered ${statusName(code)}: ${details}` })

export interface Link {
  readonly ask: <Req, Res>(rpc: Rpc<Req, Res>, request: Req) => Effect.Effect<Res, Refusal>
  readonly read: <Req, Res>(rpc: Rpc<Req, Res>, request: Req) => ClientReadableStream<Res>
  readonly duplex: <Req, Res>(rpc: Rpc<Req, Res>) => ClientDuplexStream<Req, Res>
}

/** Opens a channel for the life of the scope; `patience_ms` is the deadline of each call. */
export const connect = Effect.fnUntraced(function* (
  { address, secret, tls }: Endpoint,
  patience_ms: number
): Effect.fn.Return<Link, never, Scope.Scope> {
  const credentials =
    tls === undefined
      ? ChannelCredentials.createInsecure()
      : ChannelCredentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null)
  const options = { "grpc.max_receive_message_length": MESSAGE_BYTES_MAX, "grpc.use_local_subchannel_pool": 1 }
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new Client(address, credentials, options)),
    (client) => Effect.sync(() => client.close())
  )
  const metadata = () => {
    const metadata = new Metadata()
    if (secret !== undefined) metadata.set("authorization", `Bearer ${secret}`)
    return metadata
  }
  return {
    ask: <Req, Res>(rpc: Rpc<Req, Res>, request: Req) =>
      Effect.callback<Res, Refusal>((resume) => {
        const call = client.makeUnaryRequest(
          rpc.path,
          rpc.requestSerialize,
          rpc.responseDeserialize,
          request,
          metadata(),
          { deadline: Date.now() + patience_ms },
          (error, value) => {
            if (error === null) return resume(Effect.succeed(value as Res))
            const { code, details } = error
            resume(Effect.fail(new Refusal({ rpc: rpc.path, code, details, trailing: error.metadata.getMap() })))
          }
        )
        return Effect.sync(() => call.cancel())
      }),
    read: (rpc, request) =>
      client.makeServerStreamRequest(rpc.path, rpc.requestSerialize, rpc.responseDeserialize, request, metadata()),
    duplex: (rpc) => client.makeBidiStreamRequest(rpc.path, rpc.requestSerialize, rpc.responseDeserialize, metadata())
  }
})

/** Ends a call and ignores its errors. */
export const abandon = (call: ClientReadableStream<unknown> | ClientDuplexStream<never, unknown>): void => {
  call.removeAllListeners("error")
  call.on("error", () => {})
  call.cancel()
}
