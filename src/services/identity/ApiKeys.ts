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
import { bytesOfPublicKey } from "../../domain/Identity.ts"
import type { Reason } from "../../domain/Reason.ts"
import type { ApiKey } from "../../domain/User.ts"
import { type ApiKeyPatch, type ApiKeyRecord, Accounts, type AccountsUnavailable } from "./Accounts.ts"
import * as ActiveKeys from "./ActiveKeys.ts"
import type { ActiveKey } from "./ActiveKeys.ts"
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
import * as LastUses from "./LastUses.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { type ReadError, Sequencer } from "../Sequencer.ts"
import { Ids } from "../operations/Ids.ts"
import { Lru } from "../operations/Lru.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"

export type ApiKeysError<R extends Reason> = ApiKeyRefused<R> | AccountsUnavailable | HistoryUnavailable | ReadError

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
        const cache_max = options.cache_max ?? 10_000
        const cache_for_ms = Duration.toMillis(options.cache_for ?? "1 second")
        const active = yield* ActiveKeys.make({ cache_max, cache_for_ms })
        const lastUses = yield* LastUses.make(options.touch_every ?? "10 seconds")
        /** Time of the last applied change, by key: a change is read many times. */
        const applied = new Lru<string, number>(cache_max)

        const validated = (user_id: string, change: ApiKeyChange) =>
          checked(user_id, change).pipe(
            Effect.provideService(History, history),
            Effect.provideService(Sequencer, sequencer)
          )
        const own = Effect.fnUntraced(function* (user_id: string, api_key_id: string) {
          const record = (yield* accounts.apiKeys(user_id)).find((key) => key.api_key_id === api_key_id)
          return record ?? (yield* refuse("ApiKeyNotFound"))
        })

        /** Writes a change. Completes when nothing that only the previous key allowed can still have an effect. */
        const store = (before: ApiKeyRecord, patch: ApiKeyPatch) =>
          Effect.uninterruptible(
            Effect.gen(function* () {
              const { api_key_id, public_key } = before
              const after = yield* accounts.changeApiKey(api_key_id, patch)
              // revoked concurrently
              if (after === undefined) return yield* refuse("ApiKeyNotFound")
              active.changed(after)
              yield* invalidations.publish({ type: "api_key", api_key_id, public_key, ended: hasEnded(before, after) })
              return after
            })
          ).pipe(Effect.tap(() => grants.settled(before.user_id, before.api_key_id)))

        yield* invalidations.listen((invalidation) =>
          Effect.sync(() => {
            if (invalidation.type !== "api_key") return
            active.forget(invalidation.public_key)
            if (invalidation.ended) grants.end(invalidation.api_key_id, "changed")
          })
        )

        return ApiKeys.of({
          list: (user_id) =>
            Effect.map(accounts.apiKeys(user_id), (keys) =>
              keys
                .map((key) => recordOf(lastUses.over(key)))
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
            return recordOf(lastUses.over(after))
          }),
          revoke: Effect.fnUntraced(function* (user_id, api_key_id) {
            const before = yield* own(user_id, api_key_id)
            yield* store(before, { revoked: true })
          }),
          find: active.find,
          touch: lastUses.touch,
          apply: ({ changed_time, key }) => {
            if (applied.get(key.api_key_id) === changed_time) return
            applied.set(key.api_key_id, changed_time)
            active.changed(key)
          }
        })
      })
    )
}
