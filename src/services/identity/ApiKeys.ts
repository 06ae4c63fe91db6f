/**
 * Policy: the API keys of users: their creation, changes and lookup.
 *
 * The private key never reaches the service. A public key is registered only once in the whole service. A change is
 * effective when it is acknowledged, and within a second on other gateways that share the database: they receive it
 * through {@link InvalidationBus} and `CredentialChanges.ts`. A change that narrows a key ends its grant, and with it
 * every request and socket that the grant authorized.
 * Source: docs/contract/rest-user.md#api-keys, docs/contract/authentication.md#api-keys, #scopes.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Hex } from "effect/encoding"
import { isPublicKey } from "../../domain/Ed25519.ts"
import type { Grant } from "../../domain/Grant.ts"
import { bytesOfPublicKey } from "../../domain/Identity.ts"
import { type Cidr, contains, parseCidr, parseIp } from "../../domain/Ip.ts"
import type { Reason } from "../../domain/Reason.ts"
import type { ApiKey, Caller } from "../../domain/User.ts"
import { type ApiKeyPatch, type ApiKeyRecord, Accounts, type AccountsUnavailable, type User } from "./Accounts.ts"
import {
  type ApiKeyChange,
  type ApiKeyFieldReason,
  type ApiKeyRefused,
  checked,
  hasEnded,
  type NewApiKey,
  refuse
} from "./ApiKeyRules.ts"
import type { ChangedKey } from "./CredentialChangeStore.ts"
import { Grants } from "./Grants.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { type ReadError, Sequencer } from "../Sequencer.ts"
import { Ids } from "../operations/Ids.ts"
import { Lru } from "../operations/Lru.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { currentMonotonicMillis, monotonicMillis } from "../operations/Monotonic.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"

export type ApiKeysError<R extends Reason> = ApiKeyRefused<R> | AccountsUnavailable | HistoryUnavailable | ReadError

/** A valid key. */
export interface ActiveKey {
  readonly caller: Caller
  readonly require_body_hash: boolean
  /** Whether the key may be used from this address. */
  readonly allows: (client_ip: string) => boolean
}

export interface ApiKeysOptions {
  /** Most keys per user. Default 50. */
  readonly keys_max?: number
  /** Most keys in the cache. Default 10 000. */
  readonly cache_max?: number
  /** Time for which a cached key is valid. Default 1 second. */
  readonly cache_for?: Duration.Input
  /** How often times of last use are written. Default 10 seconds. */
  readonly touch_every?: Duration.Input
}

/** Most keys whose time of last use waits to be written; further keys of the interval are not recorded. */
const TOUCHED_MAX = 10_000

const recordOf = (key: ApiKeyRecord): ApiKey => ({
  api_key_id: key.api_key_id,
  public_key: `0x${key.public_key}`,
  label: key.label,
  scopes: key.scopes,
  ...(key.sub_account_addresses === undefined ? {} : { sub_account_addresses: key.sub_account_addresses }),
  ip_allowlist: key.ip_allowlist,
  ...(key.expires_time === undefined ? {} : { expires_time: key.expires_time }),
  require_body_hash: key.require_body_hash,
  created_time: key.created_time,
  ...(key.last_used_time === undefined ? {} : { last_used_time: key.last_used_time })
})

/** A cached key. */
interface CachedKey {
  readonly key: ActiveKey
  /** Valid until, Unix ms. */
  readonly until: number
}

/** A read in progress; a concurrent change of the key makes it stale. */
interface Reading {
  isStale: boolean
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Keys of a user, newest first, without revoked ones. */
    readonly list: (user_id: string) => Effect.Effect<ReadonlyArray<ApiKey>, AccountsUnavailable>
    readonly create: (
      user_id: string,
      key: NewApiKey
    ) => Effect.Effect<
      ApiKey,
      ApiKeysError<ApiKeyFieldReason | "KeyAlreadyRegistered" | "LimitReached"> | ApiKeyRefused<"InvalidPublicKey">
    >
    readonly update: (
      user_id: string,
      api_key_id: string,
      change: ApiKeyChange
    ) => Effect.Effect<ApiKey, ApiKeysError<ApiKeyFieldReason | "ApiKeyNotFound">>
    readonly revoke: (user_id: string, api_key_id: string) => Effect.Effect<void, ApiKeysError<"ApiKeyNotFound">>
    /** The key with these raw bytes (hex), unless it is revoked. An expired key is returned. */
    readonly find: (public_key: string) => Effect.Effect<ActiveKey | undefined, AccountsUnavailable>
    /** Records that a key was used; written later. */
    readonly touch: (api_key_id: string, at_ms: number) => void
    /** Applies a change that was read from the store. */
    readonly apply: (change: ChangedKey) => void
  }
>()("gateway/services/ApiKeys") {
  static readonly layer = (
    options: ApiKeysOptions = {}
  ): Layer.Layer<ApiKeys, never, Accounts | Grants | History | Ids | Sequencer> =>
    Layer.effect(
      ApiKeys,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const grants = yield* Grants
        const history = yield* History
        const ids = yield* Ids
        const sequencer = yield* Sequencer
        const invalidations = yield* InvalidationBus

        const keysMax = options.keys_max ?? 50
        const cacheFor = Duration.toMillis(options.cache_for ?? "1 second")
        const cache = new Lru<string, CachedKey>(options.cache_max ?? 10_000)
        const lookups = (yield* CurrentMetricsRegistry).cache("api_keys")
        /** The record for which each grant was issued. */
        const issuedFor = new WeakMap<Grant, ApiKeyRecord>()
        const readings = new Map<string, Set<Reading>>()
        /** Time of the last applied change, by key: a change is read many times. */
        const applied = new Lru<string, number>(options.cache_max ?? 10_000)

        const touched = new Map<string, number>()
        const writeTouched = Effect.suspend(() =>
          Effect.forEach(
            [...touched],
            ([id, at]) =>
              // what is not written waits for the next interval
              Effect.map(accounts.touchApiKey(id, at), () => touched.get(id) === at && touched.delete(id)),
            { discard: true }
          )
        ).pipe(Effect.catch((error) => Effect.logWarning("time of last use not written", error)))
        yield* Effect.addFinalizer(() => writeTouched)
        yield* writeTouched.pipe(Effect.delay(options.touch_every ?? "10 seconds"), Effect.forever, Effect.forkScoped)

        const validated = (user_id: string, change: ApiKeyChange) =>
          checked(user_id, change).pipe(
            Effect.provideService(History, history),
            Effect.provideService(Sequencer, sequencer)
          )
        const own = Effect.fnUntraced(function* (user_id: string, api_key_id: string) {
          const record = (yield* accounts.apiKeys(user_id)).find((key) => key.api_key_id === api_key_id)
          return record ?? (yield* refuse("ApiKeyNotFound"))
        })

        /** Removes a key from the cache and marks its reads as stale. */
        const forget = (public_key: string) => {
          cache.delete(public_key)
          for (const reading of readings.get(public_key) ?? []) reading.isStale = true
        }
        /** Ends the grant of a key, unless the key still has all permissions of the grant. */
        const compare = (now: ApiKeyRecord) => {
          const grant = grants.inForce(now.api_key_id)
          const before = grant && issuedFor.get(grant)
          if (before === undefined || !hasEnded(before, now)) return
          grants.end(now.api_key_id, now.revoked ? "revoked" : "changed")
        }
        const changed = (now: ApiKeyRecord) => {
          forget(now.public_key)
          compare(now)
        }

        /** Writes a change. Completes when nothing that only the previous key allowed can still have an effect. */
        const store = (before: ApiKeyRecord, patch: ApiKeyPatch) =>
          Effect.uninterruptible(
            Effect.gen(function* () {
              const { api_key_id, public_key } = before
              const after = yield* accounts.changeApiKey(api_key_id, patch)
              // revoked concurrently
              if (after === undefined) return yield* refuse("ApiKeyNotFound")
              changed(after)
              yield* invalidations.publish({ type: "api_key", api_key_id, public_key, ended: hasEnded(before, after) })
              return after
            })
          ).pipe(Effect.tap(() => grants.settled(before.user_id, before.api_key_id)))

        yield* invalidations.listen((invalidation) =>
          Effect.sync(() => {
            if (invalidation.type !== "api_key") return
            forget(invalidation.public_key)
            if (invalidation.ended) grants.end(invalidation.api_key_id, "changed")
          })
        )

        const withLastUse = (record: ApiKeyRecord): ApiKeyRecord => {
          const at = touched.get(record.api_key_id)
          return at === undefined ? record : { ...record, last_used_time: at }
        }

        const activeKey = (record: ApiKeyRecord, user: User): ActiveKey => {
          const { api_key_id, user_id } = record
          const blocks = record.ip_allowlist.map(parseCidr).filter((block): block is Cidr => block !== undefined)
          // another gateway may have narrowed the key, and its invalidation may not have arrived yet
          compare(record)
          const grant = grants.issue(api_key_id, user_id)
          issuedFor.set(grant, record)
          return {
            caller: {
              user_id,
              root_address: user.root_address,
              rail: user.rail,
              via: "api-key",
              credential: api_key_id,
              scopes: new Set(record.scopes),
              bound_to: record.sub_account_addresses === undefined ? undefined : new Set(record.sub_account_addresses),
              expires_at_ms: record.expires_time,
              grant
            },
            require_body_hash: record.require_body_hash,
            allows:
              record.ip_allowlist.length === 0
                ? () => true
                : (client_ip) => {
                    const ip = parseIp(client_ip)
                    return ip !== undefined && blocks.some((block) => contains(block, ip))
                  }
          }
        }

        /** Reads a key, and repeats the read if the key changes meanwhile. */
        const load = (public_key: string): Effect.Effect<ActiveKey | undefined, AccountsUnavailable> =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              const reading: Reading = { isStale: false }
              const all = readings.get(public_key)
              if (all === undefined) readings.set(public_key, new Set([reading]))
              else all.add(reading)
              return reading
            }),
            (reading) =>
              Effect.gen(function* () {
                for (;;) {
                  reading.isStale = false
                  const now = yield* currentMonotonicMillis
                  const record = yield* accounts.apiKeyOf(public_key)
                  const user = record === undefined || record.revoked ? undefined : yield* accounts.user(record.user_id)
                  if (reading.isStale) continue
                  if (record?.revoked === true) compare(record)
                  if (record === undefined || user === undefined) return undefined
                  const key = activeKey(record, user)
                  cache.set(public_key, { key, until: now + cacheFor })
                  return key
                }
              }),
            (reading) =>
              Effect.sync(() => {
                const all = readings.get(public_key)!
                if (all.delete(reading) && all.size === 0) readings.delete(public_key)
              })
          )

        return ApiKeys.of({
          list: (user_id) =>
            Effect.map(accounts.apiKeys(user_id), (keys) =>
              keys
                .map((key) => recordOf(withLastUse(key)))
                .sort((a, b) => b.created_time - a.created_time || (a.api_key_id < b.api_key_id ? 1 : -1))
            ),
          create: Effect.fnUntraced(function* (user_id, key) {
            const publicKey = bytesOfPublicKey(key.public_key)
            if (publicKey === undefined || !isPublicKey(publicKey)) {
              return yield* refuse("InvalidPublicKey", { field: "public_key" })
            }
            const blank: ApiKeyRecord = {
              api_key_id: yield* ids.uuid,
              user_id,
              public_key: Hex.encode(publicKey),
              label: "",
              scopes: [],
              sub_account_addresses: undefined,
              ip_allowlist: [],
              expires_time: undefined,
              require_body_hash: false,
              created_time: yield* Clock.currentTimeMillis,
              last_used_time: undefined,
              revoked: false
            }
            const record = { ...blank, ...(yield* validated(user_id, key)) }
            yield* accounts.createApiKey(record, keysMax).pipe(
              Effect.catchTags({
                KeyRegistered: () => Effect.fail(refuse("KeyAlreadyRegistered")),
                TooManyKeys: ({ max }) => Effect.fail(refuse("LimitReached", { max }))
              })
            )
            return recordOf(record)
          }),
          update: Effect.fnUntraced(function* (user_id, api_key_id, change) {
            const before = yield* own(user_id, api_key_id)
            const after = yield* store(before, yield* validated(user_id, change))
            return recordOf(withLastUse(after))
          }),
          revoke: Effect.fnUntraced(function* (user_id, api_key_id) {
            const before = yield* own(user_id, api_key_id)
            yield* store(before, { revoked: true })
          }),
          find: (public_key) =>
            Effect.clockWith((clock) => {
              const now = monotonicMillis(clock)
              const known = cache.get(public_key)
              if (known !== undefined && now < known.until && known.key.caller.grant.ended === undefined) {
                lookups.hit.add()
                return Effect.succeed(known.key)
              }
              lookups.miss.add()
              return load(public_key)
            }),
          touch: (api_key_id, at_ms) => {
            if (touched.size < TOUCHED_MAX || touched.has(api_key_id)) touched.set(api_key_id, at_ms)
          },
          apply: ({ changed_time, key }) => {
            if (applied.get(key.api_key_id) === changed_time) return
            applied.set(key.api_key_id, changed_time)
            changed(key)
          }
        })
      })
    )
}
