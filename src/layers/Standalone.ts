/**
 * The stack for one machine: SQLite in DATA_DIR, limits in memory or in Redis, and a backend, by default the embedded one
 * in a worker thread of this process, else over gRPC. No other module of the gateway imports the embedded backend.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { Duration, Effect, Layer, Predicate } from "effect"
import * as Embedded from "../backend/Embedded.ts"
import { JOURNAL_OF_EMBEDDED, rows, sharedSettings } from "../backend/Settings.ts"
import { warnOfMisspelt } from "../domain/Setting.ts"
import { CurrentMetricsRegistry } from "../services/operations/MetricsRegistry.ts"
import * as Backends from "./Backends.ts"
import * as NodePorts from "./node/NodePorts.ts"
import { GATEWAY_LOCK, tryLock } from "../node/FileLock.ts"
import * as PrivateFiles from "../node/PrivateFiles.ts"
import * as RedisFleet from "./redis/RedisFleet.ts"
import { SettingUnusable, type Settings, table } from "./Settings.ts"
import * as NodeSqlite from "./sql/NodeSqlite.ts"
import * as SqliteCommits from "./sql/SqliteCommits.ts"
import * as SqlNonceStore from "./sql/SqlNonceStore.ts"
import * as SqlStores from "./sql/SqlStores.ts"

/** Settings that only the backend has; a start checks the names of the others in any case. */
const backendOnly = rows.filter(({ name }) => !Object.values(table).some((setting) => setting.name === name))

const embeddedBackend = (settings: Settings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      yield* warnOfMisspelt(backendOnly)
      if ((yield* sharedSettings).url !== undefined) {
        return yield* new SettingUnusable({ message: JOURNAL_OF_EMBEDDED })
      }
      const { metrics, open } = yield* Embedded.make
      const meter = yield* CurrentMetricsRegistry
      yield* Effect.acquireRelease(
        Effect.sync(() => meter.include(metrics)),
        (remove) => Effect.sync(remove)
      )
      return Backends.over(settings, { sequencer: { open }, referee: { open }, relays: true })
    })
  )

const ACCOUNTS = "accounts.sqlite"
const HISTORY = "history.sqlite"

/** The data directory, for this gateway alone: two of them would write one read model, and see half of its changes. */
const dataDir = (path: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        PrivateFiles.makeDirectory(path)
        PrivateFiles.directory(path)
        return tryLock(join(path, GATEWAY_LOCK))
      },
      catch: (cause) => new SettingUnusable({ message: `DATA_DIR: cannot use ${path}`, cause })
    }).pipe(
      Effect.filterOrFail(
        Predicate.isNotUndefined,
        () => new SettingUnusable({ message: `another gateway is using ${path}; stop it or set another DATA_DIR` })
      )
    ),
    (release) => Effect.sync(release)
  )

const isEmpty = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0

/** Nothing else shows the loss: bans and revocations are not in force, and no request fails. */
const warnOfLostAccounts = Effect.fnUntraced(function* (path: string) {
  const accounts = join(path, ACCOUNTS)
  if (!isEmpty(accounts) || isEmpty(join(path, HISTORY))) return
  yield* Effect.logWarning(
    `${accounts} is missing or empty, and is made anew: API keys, bans, revocations and used login nonces are lost. ` +
      `Copy it from a backup: docs/operations/backup.md, "Another damaged file"`
  )
})

/** Every port of the gateway on one machine. */
export const layer = (settings: Settings) => {
  const optionsOf = (name: string, synchronous: "FULL" | "NORMAL") => ({
    filename: join(settings.dataDir, name),
    synchronous
  })
  const database = (...options: Parameters<typeof optionsOf>) => NodeSqlite.layer(optionsOf(...options))
  const accountsDatabase = database(ACCOUNTS, "FULL")
  const retention = Duration.millis(2 * settings.apiKeyWindowMs)
  return Layer.unwrap(
    Effect.as(
      Effect.andThen(dataDir(settings.dataDir), warnOfLostAccounts(settings.dataDir)),
      Layer.mergeAll(
        SqlStores.history(settings).pipe(
          Layer.provide(SqliteCommits.layer(optionsOf(HISTORY, "NORMAL"))),
          Layer.provide(database(HISTORY, "NORMAL"))
        ),
        SqlStores.credentialChanges.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(accountsDatabase)),
        RedisFleet.orAlone(settings, {
          forever: SqlNonceStore.layer().pipe(Layer.provide(accountsDatabase)),
          // survives a crash of the process; a power loss may lose nonces, which expire after the window
          windowed: SqlNonceStore.layer({ retention }).pipe(Layer.provide(database("nonces.sqlite", "NORMAL")))
        }),
        NodePorts.layer(settings)
      ).pipe(
        // first: a start that it refuses makes no databases and no key in DATA_DIR
        Layer.provideMerge(settings.backend === "embedded" ? embeddedBackend(settings) : Backends.external(settings))
      )
    )
  )
}
