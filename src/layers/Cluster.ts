/**
 * The stack for a fleet: gateways that share a PostgreSQL in front of external backends. Gateways can start and stop at
 * any time; one at a time writes the read model.
 */
import { Duration, Effect, Layer } from "effect"
import * as CredentialLease from "../services/identity/CredentialLease.ts"
import * as Backends from "./Backends.ts"
import * as NodePorts from "./node/NodePorts.ts"
import * as RedisFleet from "./redis/RedisFleet.ts"
import { consistent, SettingUnusable, type Settings } from "./Settings.ts"
import * as CommitPort from "./sql/CommitPort.ts"
import * as NodePostgres from "./sql/NodePostgres.ts"
import * as PostgresLeadership from "./sql/PostgresLeadership.ts"
import * as SqlNonceStore from "./sql/SqlNonceStore.ts"
import * as SqlStores from "./sql/SqlStores.ts"

/** The address of the database, which a fleet requires. */
const databaseOf = Effect.fnUntraced(function* (settings: Settings) {
  const { databaseUrl } = yield* consistent(settings)
  if (databaseUrl !== undefined) return databaseUrl
  return yield* new SettingUnusable({ message: "a fleet requires DATABASE_URL, such as postgres://user@host/gateway" })
})

/** Every port of the gateway. State that gateways must share is in PostgreSQL and Redis. */
export const layer = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(databaseOf(settings), (url) => {
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
