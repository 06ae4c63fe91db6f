/**
 * Presence over a fleet: each gateway keeps the set of its users in Redis, under a lease that it renews, and a copy of the
 * sets of the others. A gateway that was killed loses its users when its lease is over.
 *
 * A round renews the lease, writes what changed here, and asks which other gateways live and whether
 * their sets have changed; only those are read again. What is decided from the copy is decided after a round that
 * succeeded. After an outage of Redis, or a loss of its data, every gateway writes its set anew, and has a lease's time
 * to do so: until then nobody is told to be gone.
 */
import { Clock, Deferred, Duration, Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import { Ids } from "../../services/operations/Ids.ts"
import { Presence, Tally, watchers } from "../../services/operations/Presence.ts"
import { NOW } from "./Script.ts"

export interface Options {
  /** How long a gateway that does not renew its lease counts as alive. Default 5 seconds. */
  readonly lease?: Duration.Input
  /** Default 500 ms. */
  readonly round_every?: Duration.Input
}

// the braces keep all keys in one slot
const GATEWAYS = "{gateway:presence}"
const setOf = (gateway: string) => `${GATEWAYS}:${gateway}`

/** What a gateway has to say in a round. */
interface Said {
  readonly gateway: string
  readonly lease_ms: number
  /** Another one whenever the set changes. */
  readonly version: number
  /** `came` is the whole set. */
  readonly whole: boolean
  readonly came: ReadonlyArray<string>
  readonly went: ReadonlyArray<string>
}

/** Answers 0 where the whole set is wanted; else 1, and then id and version of each other gateway that lives. */
const roundScript = Redis.script(
  ({ gateway, lease_ms, version, whole, came, went }: Said) => [
    GATEWAYS,
    `${GATEWAYS}:versions`,
    setOf(gateway),
    gateway,
    lease_ms,
    version,
    whole ? 1 : 0,
    came.length,
    ...came,
    ...went
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
  /** When it was last known to live, Unix ms. */
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
      /** Users who came to this gateway or left it, to be written by the next round. */
      let changed = new Set<string>()
      /** Users to be judged when the round succeeds. */
      const touched = new Set<string>()
      /** Users who were told to be here. */
      const here = new Set<string>()
      const { tell, watch } = watchers()

      const isHere = (user_id: string): boolean => {
        if (own.has(user_id)) return true
        for (const { users } of others.values()) if (users.has(user_id)) return true
        return false
      }
      /** Whether the verdict stands; of who seems gone it may have to wait. */
      const judge = (user_id: string, mayBeGone: boolean): boolean => {
        const is = isHere(user_id)
        if (is === here.has(user_id)) return true
        if (!is && !mayBeGone) return false
        if (is) here.add(user_id)
        else here.delete(user_id)
        tell(user_id, is)
        return true
      }
      const touch = (users: Iterable<string>) => {
        for (const user_id of users) touched.add(user_id)
      }

      let version = 0
      let isWritten = false
      let isHeard = true
      /** When every gateway that lives has had the time to write its set, Unix ms; a start waits for nobody. */
      let complete_ms = 0
      let after = Deferred.makeUnsafe<void>()

      const write = Effect.fnUntraced(function* (some: ReadonlyArray<string>) {
        const whole = !isWritten
        if (whole || some.length > 0) version++
        const answer = yield* round({
          gateway,
          lease_ms,
          version,
          whole,
          came: whole ? [...own.users] : some.filter((user_id) => own.has(user_id)),
          went: whole ? [] : some.filter((user_id) => !own.has(user_id))
        })
        isWritten = answer[0] === 1
        return answer
      })
      const read = Effect.fnUntraced(function* (living: ReadonlyArray<string>) {
        const now = yield* Clock.currentTimeMillis
        // who could not write either had no chance to be seen
        if (!isHeard) for (const copy of others.values()) copy.seen_ms = now
        for (let i = 0; i < living.length; i += 2) {
          const [id, version] = [living[i]!, living[i + 1]!]
          const copy = others.get(id)
          if (copy?.version === version) {
            copy.seen_ms = now
            continue
          }
          const users = new Set(yield* redis.send<ReadonlyArray<string>>("SMEMBERS", setOf(id)))
          touch(copy?.users ?? [])
          touch(users)
          others.set(id, { version, users, seen_ms: now })
        }
        for (const [id, copy] of others) {
          if (now - copy.seen_ms <= lease_ms) continue
          touch(copy.users)
          others.delete(id)
        }
      })
      const oneRound = Effect.gen(function* () {
        const some = [...changed]
        changed = new Set()
        touch(some)
        let answer = yield* write(some)
        if (!isWritten) answer = yield* write(some)
        yield* read(answer.slice(1).map(String))
        const now = yield* Clock.currentTimeMillis
        if (!isHeard) complete_ms = now + lease_ms
        isHeard = true
        const isComplete = now >= complete_ms
        for (const user_id of touched) if (judge(user_id, isComplete)) touched.delete(user_id)
        if (!isComplete) return
        const done = after
        after = Deferred.makeUnsafe()
        yield* Deferred.succeed(done, undefined)
      }).pipe(
        Effect.catch((error) =>
          Effect.suspend(() => {
            const isNew = isHeard
            isWritten = false
            isHeard = false
            return isNew
              ? Effect.logWarning("other gateways' users are not known; nobody is taken for gone", error)
              : Effect.void
          })
        )
      )
      yield* oneRound
      yield* oneRound.pipe(Effect.delay(options.round_every ?? "500 millis"), Effect.forever, Effect.forkScoped)

      const next = Effect.suspend(() => Deferred.await(after))
      return Presence.of({
        came: (user_id) => {
          if (!own.came(user_id)) return
          changed.add(user_id)
          judge(user_id, false)
        },
        went: (user_id) => {
          if (own.went(user_id)) changed.add(user_id)
        },
        isHere: (user_id) => here.has(user_id),
        watch,
        // the round that is under way may have asked already
        settled: Effect.andThen(next, next)
      })
    })
  )
