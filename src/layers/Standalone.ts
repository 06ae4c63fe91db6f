/**
 * The stack for one machine: SQLite in DATA_DIR, limits in memory or in a Redis, and a backend over gRPC, by default the
 * embedded one in a worker thread of this process. It is the one place that knows the embedded backend.
 */
import { readFile } from "node:fs/promises"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Duration, Effect, Layer, Schema } from "effect"
import * as Embedded from "../backend/Embedded.ts"
import { NonceStore } from "../services/NonceStore.ts"
import type { ClientTls, Endpoint } from "./grpc/Channel.ts"
import * as GrpcFeed from "./grpc/GrpcFeed.ts"
import * as GrpcPriceFeed from "./grpc/GrpcPriceFeed.ts"
import * as GrpcReferee from "./grpc/GrpcReferee.ts"
import * as GrpcSequencer from "./grpc/GrpcSequencer.ts"
import * as NatsFeed from "./nats/NatsFeed.ts"
import * as NatsRelay from "./nats/NatsRelay.ts"
import * as NatsStream from "./nats/NatsStream.ts"
import * as NodeIds from "./node/NodeIds.ts"
import * as NodeSignatures from "./node/NodeSignatures.ts"
import * as NodeSigningKeys from "./node/NodeSigningKeys.ts"
import * as RedisFleet from "./redis/RedisFleet.ts"
import * as RedisLink from "./redis/RedisLink.ts"
import * as RedisNonceStore from "./redis/RedisNonceStore.ts"
import type { Settings } from "./Settings.ts"
import * as NodeSqlite from "./sql/NodeSqlite.ts"
import * as SqlAccessCodes from "./sql/SqlAccessCodes.ts"
import * as SqlAccounts from "./sql/SqlAccounts.ts"
import * as SqlBanStore from "./sql/SqlBanStore.ts"
import * as SqlCompetitionStore from "./sql/SqlCompetitionStore.ts"
import * as SqlHistory from "./sql/SqlHistory.ts"
import * as SqlNonceStore from "./sql/SqlNonceStore.ts"
import * as SqlReferralStore from "./sql/SqlReferralStore.ts"
import * as SqlRewardStore from "./sql/SqlRewardStore.ts"
import * as SqlSwitchStore from "./sql/SqlSwitchStore.ts"

/** A setting names something that cannot be used. */
export class SettingUnusable extends Schema.TaggedError<SettingUnusable>()("SettingUnusable", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

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

/** The event stream: the sequencer's own, or a copy on top of it, which `relays` fills. */
const events = (settings: Settings, sequencer: Endpoint, relays: boolean) => {
  const own = GrpcFeed.layer(sequencer)
  if (settings.natsUrl === undefined) return own
  const stream = NatsStream.layer({ url: settings.natsUrl })
  const copy = NatsFeed.layer().pipe(Layer.provide(own), Layer.provide(stream))
  return relays ? Layer.merge(copy, NatsRelay.layer(sequencer).pipe(Layer.provide(stream))) : copy
}

/** Sequencer and referee, over one link each. */
const backend = (settings: Settings, sequencer: Endpoint, referee: Endpoint, relays: boolean) =>
  Layer.mergeAll(
    GrpcSequencer.layer(sequencer),
    events(settings, sequencer, relays),
    GrpcReferee.layer(referee),
    GrpcPriceFeed.layer(referee)
  )

const embeddedBackend = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(Embedded.make, ({ address, secret }) => {
      const endpoint: Endpoint = { address, secret, tls: undefined }
      return backend(settings, endpoint, endpoint, true)
    })
  )

/** Where the backends are that run elsewhere. */
export const endpointsOf = Effect.fnUntraced(function* (settings: Settings) {
  const { backendSecret: secret, refereeUrl, sequencerUrl } = settings
  if (sequencerUrl === undefined) {
    return yield* new SettingUnusable({ message: "BACKEND=grpc needs SEQUENCER_URL, such as 127.0.0.1:3011" })
  }
  const tls = yield* tlsOf(settings)
  const sequencer: Endpoint = { address: sequencerUrl, secret, tls }
  const referee: Endpoint = { address: refereeUrl ?? sequencerUrl, secret, tls }
  return { sequencer, referee }
})

const externalBackend = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(endpointsOf(settings), ({ referee, sequencer }) => backend(settings, sequencer, referee, false))
  )

const dataDir = (path: string) =>
  Effect.try({
    try: () => mkdirSync(path, { recursive: true, mode: 0o700 }),
    catch: (cause) => new SettingUnusable({ message: `DATA_DIR: cannot create ${path}`, cause })
  })

/** Every port of the gateway, kept by one machine. */
export const layer = (settings: Settings) => {
  const database = (name: string, synchronous: "FULL" | "NORMAL") =>
    NodeSqlite.layer({ filename: join(settings.dataDir, name), synchronous })
  const accountsDatabase = database("accounts.sqlite", "FULL")
  // one connection, so that one transaction uses a code and admits a wallet
  const accounts = Layer.mergeAll(
    SqlAccessCodes.layer,
    SqlBanStore.layer,
    SqlCompetitionStore.layer,
    SqlReferralStore.layer,
    SqlRewardStore.layer
  ).pipe(Layer.provideMerge(SqlAccounts.layer), Layer.provide(accountsDatabase))
  const retention = Duration.millis(2 * settings.apiKeyWindowMs)
  const redis = settings.redisUrl === undefined ? undefined : RedisLink.layer({ url: settings.redisUrl })
  return Layer.unwrap(
    Effect.as(
      dataDir(settings.dataDir),
      Layer.mergeAll(
        settings.backend === "embedded" ? embeddedBackend(settings) : externalBackend(settings),
        SqlHistory.layer.pipe(Layer.provide(database("history.sqlite", "NORMAL"))),
        accounts,
        SqlSwitchStore.layer.pipe(Layer.provide(accountsDatabase)),
        NonceStore.routed({
          forever: SqlNonceStore.layer().pipe(Layer.provide(accountsDatabase)),
          windowed:
            redis === undefined
              ? // survives the end of the process; of a power loss the window is the limit
                SqlNonceStore.layer({ retention }).pipe(Layer.provide(database("nonces.sqlite", "NORMAL")))
              : RedisNonceStore.layer({ retention }).pipe(Layer.provide(redis))
        }),
        redis === undefined ? RedisFleet.alone : RedisFleet.layer(redis),
        NodeSignatures.layer(),
        NodeSigningKeys.layer({
          seed: settings.jwtSigningKey,
          verifyKeys: settings.jwtVerifyKeys?.split(",").map((key) => key.trim()) ?? [],
          dataDir: settings.dataDir
        }),
        NodeIds.layer
      )
    )
  )
}
