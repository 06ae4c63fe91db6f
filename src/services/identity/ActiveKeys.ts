/**
 * The API keys that may be used, by public key, cached for a short time. A change of a key ends its grant where the key no
 * longer has all permissions of the grant.
 * Source: docs/contract/authentication.md#api-keys.
 */
import { Effect } from "effect"
import type { Grant } from "../../domain/Grant.ts"
import { type Cidr, contains, parseCidr, parseIp } from "../../domain/Ip.ts"
import type { Caller } from "../../domain/User.ts"
import { Lru } from "../operations/Lru.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { currentMonotonicMillis, monotonicMillis } from "../operations/Monotonic.ts"
import { type ApiKeyRecord, Accounts, type AccountsUnavailable, type User } from "./Accounts.ts"
import { hasEnded } from "./ApiKeyRules.ts"
import { Grants } from "./Grants.ts"

/** A valid key. */
export interface ActiveKey {
  readonly caller: Caller
  readonly require_body_hash: boolean
  /** Whether the key may be used from this address. */
  readonly allows: (client_ip: string) => boolean
}

/** A cached key. */
interface CachedKey {
  readonly key: ActiveKey
  /** Valid until, monotonic, in ms. */
  readonly until: number
}

/** A read in progress; a concurrent change of the key makes it stale. */
interface Reading {
  isStale: boolean
}

const allowing = (ip_allowlist: ReadonlyArray<string>): ActiveKey["allows"] => {
  if (ip_allowlist.length === 0) return () => true
  const blocks = ip_allowlist.map(parseCidr).filter((block): block is Cidr => block !== undefined)
  return (client_ip) => {
    const ip = parseIp(client_ip)
    return ip !== undefined && blocks.some((block) => contains(block, ip))
  }
}

export interface ActiveKeysOptions {
  /** Most keys in the cache. */
  readonly cache_max: number
  /** Time for which a cached key is valid. */
  readonly cache_for_ms: number
}

/** The lookup of keys, with an empty cache. */
export const make = Effect.fnUntraced(function* ({ cache_for_ms, cache_max }: ActiveKeysOptions) {
  const accounts = yield* Accounts
  const grants = yield* Grants
  const lookups = (yield* CurrentMetricsRegistry).cache("api_keys")
  const cache = new Lru<string, CachedKey>(cache_max)
  /** The record for which each grant was issued. */
  const issuedFor = new WeakMap<Grant, ApiKeyRecord>()
  const readings = new Map<string, Set<Reading>>()

  /** Removes a key from the cache and marks its reads as stale. */
  const forget = (public_key: string): void => {
    cache.delete(public_key)
    for (const reading of readings.get(public_key) ?? []) reading.isStale = true
  }
  /** Ends the grant of a key, unless the key still has all permissions of the grant. */
  const compare = (now: ApiKeyRecord): void => {
    const grant = grants.inForce(now.api_key_id)
    const before = grant && issuedFor.get(grant)
    if (before === undefined || !hasEnded(before, now)) return
    grants.end(now.api_key_id, now.revoked ? "revoked" : "changed")
  }

  const activeKey = (record: ApiKeyRecord, user: User): ActiveKey => {
    const { api_key_id, sub_account_addresses, user_id } = record
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
        bound_to: sub_account_addresses === undefined ? undefined : new Set(sub_account_addresses),
        expires_at_ms: record.expires_time,
        grant
      },
      require_body_hash: record.require_body_hash,
      allows: allowing(record.ip_allowlist)
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
            cache.set(public_key, { key, until: now + cache_for_ms })
            return key
          }
        }),
      (reading) =>
        Effect.sync(() => {
          const all = readings.get(public_key)!
          if (all.delete(reading) && all.size === 0) readings.delete(public_key)
        })
    )

  return {
    /** Drops a cached key, because another gateway has changed it. */
    forget,
    /** A key has changed. */
    changed: (now: ApiKeyRecord): void => {
      forget(now.public_key)
      compare(now)
    },
    /** The key with these raw bytes (hex), unless it is revoked. An expired key is returned. */
    find: (public_key: string): Effect.Effect<ActiveKey | undefined, AccountsUnavailable> =>
      Effect.clockWith((clock) => {
        const now = monotonicMillis(clock)
        const known = cache.get(public_key)
        if (known !== undefined && now < known.until && known.key.caller.grant.ended === undefined) {
          lookups.hit.add()
          return Effect.succeed(known.key)
        }
        lookups.miss.add()
        return load(public_key)
      })
  }
})
