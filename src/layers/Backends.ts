/** The ports that backends implement over gRPC: sequencer and referee, with the event stream and the price stream. */
import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import * as TlsFiles from "../node/TlsFiles.ts"
import type { Endpoint, RemoteEndpoint } from "./grpc/Channel.ts"
import type { ClientTls } from "./grpc/GrpcConnection.ts"
import * as GrpcFeed from "./grpc/GrpcFeed.ts"
import * as GrpcPriceFeed from "./grpc/GrpcPriceFeed.ts"
import * as GrpcReferee from "./grpc/GrpcReferee.ts"
import * as GrpcSequencer from "./grpc/GrpcSequencer.ts"
import { SettingUnusable, type Settings } from "./Settings.ts"

const pem = (variable: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (cause) => new SettingUnusable({ message: `${variable}: cannot read ${path}`, cause })
  })

const tlsOf = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<ClientTls | undefined, SettingUnusable> {
  const { backendTlsCa, backendTlsCert, backendTlsKey } = settings
  if ((backendTlsCert === undefined) !== (backendTlsKey === undefined)) {
    return yield* new SettingUnusable({ message: "set both BACKEND_TLS_CERT and BACKEND_TLS_KEY, or neither" })
  }
  if (backendTlsCa === undefined) {
    if (backendTlsCert === undefined) return undefined
    return yield* new SettingUnusable({ message: "BACKEND_TLS_CERT requires BACKEND_TLS_CA, which enables TLS" })
  }
  const tls = {
    ca: yield* pem("BACKEND_TLS_CA", backendTlsCa),
    cert: backendTlsCert === undefined ? undefined : yield* pem("BACKEND_TLS_CERT", backendTlsCert),
    key: backendTlsKey === undefined ? undefined : yield* pem("BACKEND_TLS_KEY", backendTlsKey)
  }
  const fault = TlsFiles.faultOf(tls)
  if (fault !== undefined) return yield* new SettingUnusable({ message: fault })
  return tls
})

export interface Links {
  readonly sequencer: Endpoint
  readonly referee: Endpoint
  /** Whether this gateway copies the event stream to the server of NATS_URL. */
  readonly relays: boolean
}

/** The event stream: the sequencer's own, or its copy in JetStream with the sequencer's stream as the fallback. */
const events = ({ natsUrl }: Settings, { relays, sequencer }: Links) => {
  const own = GrpcFeed.layer(sequencer)
  if (natsUrl === undefined) return own
  // loaded only when configured, since module loading is most of the start time
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./nats/NatsCopy.ts")),
      ({ layer }) => layer(natsUrl, own, relays ? sequencer : undefined)
    )
  )
}

/** Sequencer and referee, with one channel each. */
export const over = (settings: Settings, links: Links) =>
  Layer.mergeAll(
    GrpcSequencer.layer(links.sequencer),
    events(settings, links),
    GrpcReferee.layer(links.referee),
    GrpcPriceFeed.layer(links.referee)
  )

/** The addresses of external backends, from the settings. */
export const endpointsOf = Effect.fnUntraced(function* (settings: Settings) {
  const { backendSecret: secret, refereeUrl, sequencerUrl } = settings
  if (sequencerUrl === undefined) {
    return yield* new SettingUnusable({ message: "BACKEND=grpc requires SEQUENCER_URL, such as 127.0.0.1:3011" })
  }
  const tls = yield* tlsOf(settings)
  const sequencer: RemoteEndpoint = { address: sequencerUrl, secret, tls }
  const referee: RemoteEndpoint = { address: refereeUrl ?? sequencerUrl, secret, tls }
  return { sequencer, referee }
})

/** Backends that run outside of this process. */
export const external = (settings: Settings) =>
  Layer.unwrap(Effect.map(endpointsOf(settings), (endpoints) => over(settings, { ...endpoints, relays: false })))
