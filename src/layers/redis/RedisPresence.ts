/**
 * Presence over a fleet: each gateway keeps the set of its users in Redis, under a lease that it renews, and a copy of the
 * other gateways' sets. The users of a gateway that was killed are gone when its lease expires.
 *
 * A round renews the lease, writes local changes, and reads which other gateways are alive and whether their sets changed;
 * only changed sets are read again. Decisions from the copies are made after a successful round. After an outage of Redis,
 * or a loss of its data, every gateway writes its whole set within one lease; until then no user is reported as gone.
 */
import { Deferred, Duration, Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import * as Daemon from "../../services/operations/Daemon.ts"
import { Ids } from "../../services/operations/Ids.ts"
import { currentMonotonicMillis } from "../../services/operations/Monotonic.ts"
import { Presence, Tally, watchers } from "../../services/operations/Presence.ts"
import { NOW } from "./Script.ts"

export interface Options {
  /** How long a gateway counts as alive without renewing its lease. Default 5 seconds. */
  readonly lease?: Duration.Input
  /** Pause between rounds. Default 500 ms. */
  readonly round_every?: Duration.Input
}

// the braces put all keys into one hash slot
const GATEWAYS = "{gateway:presence}"
const VERSIONS = `${GATEWAYS}:versions`
const setOf = (gateway: string) => `${GATEWAYS}:${gateway}`

/** The input of a round. */
interface RoundInput {
  readonly gateway: string
  readonly lease_ms: number
  /** Changes with the set. */
  readonly version: number
  /** Whether `added` is the whole set. */
  readonly whole: boolean
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
}

/** Returns 0 where the whole set is needed; else 1, followed by id and version of each other gateway that is alive. */
const roundScript = Redis.script(
  ({ gateway, lease_ms, version, whole, added, removed }: RoundInput) => [
    GATEWAYS,
    VERSIONS,
    setOf(gateway),
    gateway,
    lease_ms,
    version,
    whole ? 1 : 0,
    added.length,
    ...added,
    ...removed
  ],
  {
    numberOfKeys: 3,
    lua: `${NOW}
local gateways, versions, set = KEYS[1], KEYS[2], KEYS[3]
local id, lease = ARGV[1], tonumber(ARGV[2])
local dead = redis.call("ZRANGEBYSCORE", gateways, "-inf", now - lease)
for _, one in ipairs(dead) do
  redis.call("ZREM", gateways, one)
  redis.call("HDEL", versions, one)
end
if ARGV[4] == "1" then
  redis.call("DEL", set)
elseif not redis.call("ZSCORE", gateways, id) then
  return { 0 }
end
local last = 5 + tonumber(ARGV[5])
for i = 6, last do redis.call("SADD", set, ARGV[i]) end
for i = last + 1, #ARGV do redis.call("SREM", set, ARGV[i]) end
redis.call("PEXPIRE", set, 2 * lease)
redis.call("ZADD", gateways, now, id)
redis.call("HSET", versions, id, ARGV[3])
local answer = { 1 }
for _, one in ipairs(redis.call("ZRANGE", gateways, 0, -1)) do
  if one ~= id then
    answer[#answer + 1] = one
    answer[#answer + 1] = redis.call("HGET", versions, one) or ""
  end
end
return answer
`
  }
).withReturnType<readonly [isKnown: number, ...others: ReadonlyArray<string>]>()

/** The copy of another gateway's set. */
interface Copy {
  version: string
  users: ReadonlySet<string>
  /** When the gateway was last known to be alive, monotonic, in ms. */
  seen_ms: number
}

export const layer = (options: Options = {}): Layer.Layer<Presence, never, Ids | Redis.Redis> =>
  Layer.effect(
    Presence,
    Effect.gen(function* () {
      const redis = yield* Redis.Redis
      const round = redis.eval(roundScript)
      const gateway = yield* (yield* Ids).uuid
      const lease_ms = Duration.toMillis(options.lease ?? "5 seconds")

      const own = new Tally()
      const others = new Map<string, Copy>()
      /** Users who connected or disconnected here since the last round. */
      let changed = new Set<string>()
      /** Users whose presence is decided when the round succeeds. */
      const touched = new Set<string>()
      /** Users last reported as present. */
      const present = new Set<string>()
      const { notify, watch } = watchers()

      const isPresent = (user_id: string): boolean => {
        if (own.has(user_id)) return true
        for (const { users } of others.values()) if (users.has(user_id)) return true
        return false
      }
      /** Reports a change of a user's presence. False: the user seems gone, but that cannot be decided yet. */
      const decide = (user_id: string, mayBeGone: boolean): boolean => {
        const is = isPresent(user_id)
        if (is === present.has(user_id)) return true
        if (!is && !mayBeGone) return false
        if (is) present.add(user_id)
        else present.delete(user_id)
        notify(user_id, is)
        return true
      }
      const touch = (users: Iterable<string>) => {
        for (const user_id of users) touched.add(user_id)
      }

      let version = 0
      let isWritten = false
      let isConnected = true
      /** When every gateway that is alive has had time to write its set, monotonic, in ms; 0 at start, which needs no wait. */
      let complete_ms = 0
      let after = Deferred.makeUnsafe<void>()

      const write = Effect.fnUntraced(function* (changes: ReadonlyArray<string>) {
        const whole = !isWritten
        if (whole || changes.length > 0) version++
        const answer = yield* round({
          gateway,
          lease_ms,
          version,
          whole,
          added: whole ? [...own.users] : changes.filter((user_id) => own.has(user_id)),
          removed: whole ? [] : changes.filter((user_id) => !own.has(user_id))
        })
        isWritten = answer[0] === 1
        return answer
      })
      type Found = Pick<Copy, "version" | "users"> | undefined
      /** The users of another gateway; `undefined` where Redis has lost them since the round, and the gateway writes them again. */
      const readSet = (id: string, version: string): Effect.Effect<Found, Redis.RedisError> =>
        Effect.gen(function* () {
          const users = new Set(yield* redis.send<ReadonlyArray<string>>("SMEMBERS", setOf(id)))
          const after = yield* redis.send<string | null>("HGET", VERSIONS, id)
          if (after === version) return { version, users }
          return after === null ? undefined : yield* readSet(id, after)
        })
      const read = Effect.fnUntraced(function* (living: ReadonlyArray<string>) {
        const now = yield* currentMonotonicMillis
        // while this gateway could not write, others may not have been able to renew either
        if (!isConnected) for (const copy of others.values()) copy.seen_ms = now
        for (let i = 0; i < living.length; i += 2) {
          const [id, version] = [living[i]!, living[i + 1]!]
          const copy = others.get(id)
          if (copy?.version === version) {
            copy.seen_ms = now
            continue
          }
          const found = yield* readSet(id, version)
          if (found === undefined) continue
          touch(copy?.users ?? [])
          touch(found.users)
          others.set(id, { ...found, seen_ms: now })
        }
        for (const [id, copy] of others) {
          if (now - copy.seen_ms <= lease_ms) continue
          touch(copy.users)
          others.delete(id)
        }
      })
      const oneRound = Effect.gen(function* () {
        const changes = [...changed]
        changed = new Set()
        touch(changes)
        let answer = yield* write(changes)
        if (!isWritten) answer = yield* write(changes)
        yield* read(answer.slice(1).map(String))
        const now = yield* currentMonotonicMillis
        if (!isConnected) complete_ms = now + lease_ms
        isConnected = true
        const isComplete = now >= complete_ms
        for (const user_id of touched) if (decide(user_id, isComplete)) touched.delete(user_id)
        if (!isComplete) return
        const done = after
        after = Deferred.makeUnsafe()
        yield* Deferred.succeed(done, undefined)
      }).pipe(
        Effect.catch((error) =>
          Effect.suspend(() => {
            const isNew = isConnected
            isWritten = false
            isConnected = false
            return isNew
              ? Effect.logWarning(
                  "the presence of other gateways' users is unknown; no user is reported as gone",
                  error
                )
              : Effect.void
          })
        )
      )
      yield* oneRound
      yield* oneRound.pipe(Effect.delay(options.round_every ?? "500 millis"), Daemon.repeat("presence"))

      const next = Effect.suspend(() => Deferred.await(after))
      return Presence.of({
        connected: (user_id) => {
          if (!own.connected(user_id)) return
          changed.add(user_id)
          decide(user_id, false)
        },
        disconnected: (user_id) => {
          if (own.disconnected(user_id)) changed.add(user_id)
        },
        isPresent: (user_id) => present.has(user_id),
        watch,
        // the current round may have read the sets already, so wait for the one after it
        settled: Effect.andThen(next, next)
      })
    })
  )
