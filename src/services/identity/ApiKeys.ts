/**
 * Policy: the API keys of users: who may hold which, and whom a key stands for.
 *
 * The private key never reaches the service. A public key is registered once, service-wide, for ever. A change is
 * effective when it is answered, and on other gateways that share the database within a second: they learn of it through
 * `Notices`, and read it from the database every {@link ApiKeysOptions.refresh}. A key that may do less than before ends
 * its grant, and with it every request and socket that was let in by it.
 * Source: docs/contract/rest-user.md#api-keys, docs/contract/authentication.md#api-keys, #scopes.
 */
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { Hex } from "effect/encoding"
import { parseAddress } from "../../domain/Address.ts"
import { isPublicKey } from "../../domain/Ed25519.ts"
import type { Scope } from "../../domain/Enumerations.ts"
import type { Grant } from "../../domain/Grant.ts"
import { bytesOfPublicKey } from "../../domain/Identity.ts"
import { type Cidr, contains, parseCidr, parseIp, printCidr } from "../../domain/Ip.ts"
import { type Details, Reason } from "../../domain/Reason.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import { allScopes, type ApiKey, type Caller } from "../../domain/User.ts"
import { type ApiKeyPatch, type ApiKeyRecord, Accounts, type AccountsUnavailable, type User } from "./Accounts.ts"
import { Grants } from "./Grants.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { Ids } from "../operations/Ids.ts"
import { Lru } from "../operations/Lru.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"

/** A rule of the keys refused the request; nothing changed. `details` name the field or limit. */
export class ApiKeyRefused extends Schema.TaggedError<ApiKeyRefused>()("ApiKeyRefused", {
  reason: Reason,
  /** What the field accepts, as `expected` and a noun phrase; `""`: the reason says it. */
  message: Schema.String,
  details: Schema.Record(Schema.String, Schema.Unknown)
}) {
  get facts(): Details {
    return this.details as Details
  }
}
export type ApiKeysError = ApiKeyRefused | AccountsUnavailable | HistoryUnavailable

/** What a user says of a key; `undefined`: the default on creation, no change later. */
export interface ApiKeyChange {
  readonly label: string | undefined
  readonly scopes: ReadonlyArray<Scope> | undefined
  readonly sub_account_addresses: ReadonlyArray<string> | undefined
  readonly ip_allowlist: ReadonlyArray<string> | undefined
  /** Unix ms. */
  readonly expires_time: number | undefined
  readonly require_body_hash: boolean | undefined
}
export interface NewApiKey extends ApiKeyChange {
  /** Any form of docs/contract/authentication.md#signatures. */
  readonly public_key: string
  readonly scopes: ReadonlyArray<Scope>
}

/** A key in use. */
export interface ActiveKey {
  readonly caller: Caller
  readonly require_body_hash: boolean
  /** Whether the key may be used from this address. */
  readonly allows: (client_ip: string) => boolean
}

export interface ApiKeysOptions {
  /** Keys a user may hold. Default 50. */
  readonly keys_max?: number
  /** Keys in use kept in memory. Default 10 000. */
  readonly cache_max?: number
  /** How long a key in memory is valid before it is read again. Default 1 second. */
  readonly cache_for?: Duration.Input
  /** How often changes by other gateways are read. Default: never, where there is no other gateway. */
  readonly refresh?: Duration.Input
  /** How often times of last use are written. Default 10 seconds. */
  readonly touch_every?: Duration.Input
}

const LABEL_CHARS_MAX = 64
const BLOCKS_MAX = 20
/** Keys whose time of last use waits to be written; later ones of the interval are not noted. */
const TOUCHED_MAX = 10_000

const refuse = (reason: Reason, details: Details = {}, message = "") => new ApiKeyRefused({ reason, details, message })
const invalid = (field: string, accepted: string) => refuse("InvalidField", { field }, `expected ${accepted}`)

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

const sameMembers = (a: ReadonlyArray<string> | undefined, b: ReadonlyArray<string> | undefined): boolean =>
  a?.length === b?.length && (a?.every((one) => b!.includes(one)) ?? true)

/** Whether a key may do less than before, or sees other sub-accounts: what it let in must not go on. */
const isNarrower = (before: ApiKeyRecord, after: ApiKeyRecord): boolean =>
  before.scopes.some((scope) => !after.scopes.includes(scope)) ||
  !sameMembers(before.sub_account_addresses, after.sub_account_addresses) ||
  (after.ip_allowlist.length > 0 && after.ip_allowlist.join() !== before.ip_allowlist.join()) ||
  (after.expires_time !== undefined && after.expires_time < (before.expires_time ?? Infinity)) ||
  (after.require_body_hash && !before.require_body_hash)

const hasEnded = (before: ApiKeyRecord, after: ApiKeyRecord): boolean => after.revoked || isNarrower(before, after)

/** A key in memory. */
interface Kept {
  readonly key: ActiveKey
  /** Believed until then, Unix ms. */
  readonly until: number
}

/** A read of a key that is under way; a change of the key meanwhile makes it stale. */
interface Reading {
  isStale: boolean
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Keys of a user, newest first; revoked ones are gone. */
    readonly list: (user_id: string) => Effect.Effect<ReadonlyArray<ApiKey>, AccountsUnavailable>
    readonly create: (user_id: string, key: NewApiKey) => Effect.Effect<ApiKey, ApiKeysError>
    readonly update: (user_id: string, api_key_id: string, change: ApiKeyChange) => Effect.Effect<ApiKey, ApiKeysError>
    readonly revoke: (user_id: string, api_key_id: string) => Effect.Effect<void, ApiKeysError>
    /** The key with these raw bytes (hex), unless it is revoked; an expired one is answered as it is. */
    readonly find: (public_key: string) => Effect.Effect<ActiveKey | undefined, AccountsUnavailable>
    /** Notes that a key was used; written later. */
    readonly touch: (api_key_id: string, at_ms: number) => void
  }
>()("gateway/services/ApiKeys") {
  static readonly layer = (
    options: ApiKeysOptions = {}
  ): Layer.Layer<ApiKeys, never, Accounts | Grants | History | Ids> =>
    Layer.effect(
      ApiKeys,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const grants = yield* Grants
        const history = yield* History
        const ids = yield* Ids
        const notices = yield* InvalidationBus

        const keysMax = options.keys_max ?? 50
        const cacheFor = Duration.toMillis(options.cache_for ?? "1 second")
        const cache = new Lru<string, Kept>(options.cache_max ?? 10_000)
        const lookups = (yield* CurrentMetricsRegistry).cache("api_keys")
        /** What each grant in force was issued for. */
        const issuedFor = new WeakMap<Grant, ApiKeyRecord>()
        const readings = new Map<string, Set<Reading>>()

        const touched = new Map<string, number>()
        const writeTouched = Effect.suspend(() => {
          const some = [...touched]
          touched.clear()
          return Effect.forEach(some, ([id, at]) => accounts.touchApiKey(id, at), { discard: true })
        }).pipe(Effect.catch((error) => Effect.logWarning("time of last use not written", error)))
        yield* Effect.addFinalizer(() => writeTouched)
        yield* writeTouched.pipe(Effect.delay(options.touch_every ?? "10 seconds"), Effect.forever, Effect.forkScoped)

        const label = (text: string) =>
          text.length <= LABEL_CHARS_MAX
            ? Effect.succeed(text)
            : Effect.fail(invalid("label", `text of at most ${LABEL_CHARS_MAX} characters`))
        const scopesOf = (some: ReadonlyArray<Scope>) =>
          some.length === 0 || some.some((scope) => !allScopes.includes(scope))
            ? Effect.fail(invalid("scopes", `some of ${allScopes.join(", ")}`))
            : Effect.succeed(allScopes.filter((scope) => some.includes(scope)))
        const blocksOf = (texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, ApiKeyRefused> => {
          if (texts.length > BLOCKS_MAX)
            return Effect.fail(
              refuse("LimitReached", { field: "ip_allowlist", max: BLOCKS_MAX }, `expected at most ${BLOCKS_MAX} items`)
            )
          const blocks = new Set<string>()
          for (const [i, text] of texts.entries()) {
            const block = parseCidr(text)
            if (block === undefined)
              return Effect.fail(invalid(`ip_allowlist.${i}`, "an IP address or a CIDR block, such as 203.0.113.0/24"))
            blocks.add(printCidr(block))
          }
          return Effect.succeed([...blocks])
        }
        const expiryOf = Effect.fnUntraced(function* (expires_time: number) {
          const now = yield* Clock.currentTimeMillis
          if (expires_time <= now)
            return yield* refuse("OutOfRange", { field: "expires_time", min: now }, "expected a time in the future")
          return expires_time
        })
        const ownSubAccounts = Effect.fnUntraced(function* (user_id: string, texts: ReadonlyArray<string>) {
          if (texts.length === 0) return yield* invalid("sub_account_addresses", "addresses of own sub-accounts")
          const addresses: Array<string> = []
          for (const [i, text] of texts.entries()) {
            const address = parseAddress(text)
            if (address === undefined) return yield* invalid(`sub_account_addresses.${i}`, "an address")
            if (!addresses.includes(address)) addresses.push(address)
          }
          const own = yield* history.subAccounts(user_id)
          for (const address of addresses) {
            if (!own.some((some) => some.sub_account_address === address && !some.deleted)) {
              return yield* refuse(
                "SubAccountNotFound",
                { field: "sub_account_addresses" },
                "expected addresses of own sub-accounts"
              )
            }
          }
          return addresses
        })

        /** The fields of a change in their canonical forms, every rule checked. */
        const checked = Effect.fnUntraced(function* (user_id: string, change: ApiKeyChange) {
          const patch: ApiKeyPatch = {
            ...(change.label === undefined ? {} : { label: yield* label(change.label) }),
            ...(change.scopes === undefined ? {} : { scopes: yield* scopesOf(change.scopes) }),
            ...(change.ip_allowlist === undefined ? {} : { ip_allowlist: yield* blocksOf(change.ip_allowlist) }),
            ...(change.expires_time === undefined ? {} : { expires_time: yield* expiryOf(change.expires_time) }),
            ...(change.require_body_hash === undefined ? {} : { require_body_hash: change.require_body_hash }),
            ...(change.sub_account_addresses === undefined
              ? {}
              : { sub_account_addresses: yield* ownSubAccounts(user_id, change.sub_account_addresses) })
          }
          return patch
        })

        const own = Effect.fnUntraced(function* (user_id: string, api_key_id: string) {
          const record = (yield* accounts.apiKeys(user_id)).find((key) => key.api_key_id === api_key_id)
          return record ?? (yield* refuse("ApiKeyNotFound"))
        })

        /** What is remembered or being read of a key is old from now on. */
        const forget = (public_key: string) => {
          cache.delete(public_key)
          for (const reading of readings.get(public_key) ?? []) reading.isStale = true
        }
        /** Ends the grant of a key, unless the key still may do all that the grant was issued for. */
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

        /** Writes a change; answers when nothing that the key let in before, and may not do now, has an effect any more. */
        const store = (before: ApiKeyRecord, patch: ApiKeyPatch) =>
          Effect.uninterruptible(
            Effect.gen(function* () {
              const { api_key_id, public_key } = before
              const after = yield* accounts.changeApiKey(api_key_id, patch)
              // revoked meanwhile
              if (after === undefined) return yield* refuse("ApiKeyNotFound")
              changed(after)
              yield* notices.publish({ type: "api_key", api_key_id, public_key, ended: hasEnded(before, after) })
              return after
            })
          ).pipe(Effect.tap(() => grants.settled(before.user_id, before.api_key_id)))

        /** Up to when changes by other gateways are known. */
        let read_ms = yield* Clock.currentTimeMillis
        const refresh = Effect.gen(function* () {
          const now_ms = yield* Clock.currentTimeMillis
          for (const key of yield* accounts.changedApiKeys(read_ms - CLOCKS_APART_MS)) changed(key)
          read_ms = now_ms
        }).pipe(Effect.tapError((error) => Effect.logWarning("changed API keys not read", error)))
        if (options.refresh !== undefined) {
          yield* Effect.ignore(refresh).pipe(Effect.delay(options.refresh), Effect.forever, Effect.forkScoped)
        }
        yield* notices.listen((notice) =>
          Effect.suspend(() => {
            // one that fails is repeated by the next regular one
            const again = Effect.ignore(refresh)
            if (notice.type === "missed") return again
            if (notice.type !== "api_key") return Effect.void
            forget(notice.public_key)
            if (notice.ended) grants.end(notice.api_key_id, "changed")
            // narrower than what this gateway issued a grant for, perhaps, though not narrower than just before
            return grants.inForce(notice.api_key_id) === undefined ? Effect.void : again
          })
        )

        const withLastUse = (record: ApiKeyRecord): ApiKeyRecord => {
          const at = touched.get(record.api_key_id)
          return at === undefined ? record : { ...record, last_used_time: at }
        }

        const activeKey = (record: ApiKeyRecord, user: User): ActiveKey => {
          const { api_key_id, user_id } = record
          const blocks = record.ip_allowlist.map(parseCidr).filter((block): block is Cidr => block !== undefined)
          // narrowed by another gateway of which nothing was heard yet
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

        /** Reads a key, and once more where it was changed while it was being read. */
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
                  const now = yield* Clock.currentTimeMillis
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
            const record = { ...blank, ...(yield* checked(user_id, key)) }
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
            const after = yield* store(before, yield* checked(user_id, change))
            return recordOf(withLastUse(after))
          }),
          revoke: Effect.fnUntraced(function* (user_id, api_key_id) {
            const before = yield* own(user_id, api_key_id)
            yield* store(before, { revoked: true })
          }),
          find: (public_key) =>
            Effect.clockWith((clock) => {
              const now = clock.currentTimeMillisUnsafe()
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
          }
        })
      })
    )
}
