/** The ports that backends keep, over gRPC: sequencer and referee, with the two streams that they tell. */
import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import type { ClientTls, Endpoint } from "./grpc/Channel.ts"
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
  if (backendTlsCa === undefined) return undefined
  if ((backendTlsCert === undefined) !== (backendTlsKey === undefined)) {
    return yield* new SettingUnusable({ message: "BACKEND_TLS_CERT and BACKEND_TLS_KEY belong together" })
  }
  return {
    ca: yield* pem("BACKEND_TLS_CA", backendTlsCa),
    cert: backendTlsCert === undefined ? undefined : yield* pem("BACKEND_TLS_CERT", backendTlsCert),
    key: backendTlsKey === undefined ? undefined : yield* pem("BACKEND_TLS_KEY", backendTlsKey)
  }
})

/** Sequencer and referee, over one link each. */
export const over = (sequencer: Endpoint, referee: Endpoint) =>
  Layer.mergeAll(
    GrpcSequencer.layer(sequencer),
    GrpcFeed.layer(sequencer),
    GrpcReferee.layer(referee),
    GrpcPriceFeed.layer(referee)
  )

/** Backends that run elsewhere, as the settings name them. */
export const external = (settings: Settings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { backendSecret: secret, refereeUrl, sequencerUrl } = settings
      if (sequencerUrl === undefined) {
        return yield* new SettingUnusable({ message: "BACKEND=grpc needs SEQUENCER_URL, such as 127.0.0.1:3011" })
      }
      const tls = yield* tlsOf(settings)
      return over({ address: sequencerUrl, secret, tls }, { address: refereeUrl ?? sequencerUrl, secret, tls })
    })
  )
