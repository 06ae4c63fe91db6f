/**
 * The stack for a fleet: gateways that share a PostgreSQL in front of external backends. Gateways can start and stop at
 * any time; one at a time writes the read model.
 */
import { Duration, Effect, Layer, type Redacted } from "effect"
import * as CredentialLease from "../services/identity/CredentialLease.ts"
import * as Backends from "./Backends.ts"
import * as NodePorts from "./node/NodePorts.ts"
import * as RedisFleet from "./redis/RedisFleet.ts"
import { SettingUnusable, type Settings } from "./Settings.ts"
import * as CommitPort from "./sql/CommitPort.ts"
import * as NodePostgres from "./sql/NodePostgres.ts"
import * as PostgresLeadership from "./sql/PostgresLeadership.ts"
import * as SqlNonceStore from "./sql/SqlNonceStore.ts"
import * as SqlStores from "./sql/SqlStores.ts"

const unusable = (message: string) => Effect.fail(new SettingUnusable({ message }))

/** Settings that every gateway of a fleet must share. */
const check = (settings: Settings): Effect.Effect<Redacted.Redacted<string>, SettingUnusable> => {
  const { backend, databaseUrl, jwtSigningKey } = settings
  if (databaseUrl === undefined) return unusable("a fleet requires DATABASE_URL, such as postgres://user@host/gateway")
  if (backend === "embedded")
    return unusable("DATABASE_URL requires BACKEND=grpc: gateways that share a database share a backend")
  if (jwtSigningKey === undefined) {
    return unusable("DATABASE_URL requires JWT_SIGNING_KEY, 64 hex digits: gateways accept each other's tokens")
  }
  return Effect.succeed(databaseUrl)
}

/** Every port of the gateway. State that gateways must share is in PostgreSQL and Redis. */
export const layer = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(check(settings), (url) => {
      const database = NodePostgres.layer({ url })
      const nonces = SqlNonceStore.layer({ retention: Duration.millis(2 * settings.apiKeyWindowMs) })
      return Layer.mergeAll(
        Backends.external(settings),
        PostgresLeadership.layer({ url }),
        CredentialLease.layer,
        Layer.mergeAll(
          SqlStores.history(settings).pipe(
            Layer.provide(CommitPort.layer.pipe(Layer.provide(NodePostgres.layer({ url, connections: 1 }))))
          ),
          // the reads that renew the lease do not queue behind other statements
          SqlStores.credentialChanges.pipe(
            Layer.provide(NodePostgres.layer({ url, connections: 1 })),
            Layer.provideMerge(SqlStores.layer)
          ),
          RedisFleet.orAlone(settings, { forever: nonces, windowed: nonces })
        ).pipe(Layer.provide(database)),
        NodePorts.layer(settings)
      )
    })
  )
