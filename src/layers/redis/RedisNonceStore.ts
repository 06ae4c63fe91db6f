/**
 * Nonces of API keys in Redis, shared by all gateways. Permanent nonces, of logins and activations, belong to the database:
 * see `NonceStore.routed`.
 *
 * The claims of one turn of the event loop share a script, and so a round trip. The script reads a marker key. If the marker
 * is missing, or Redis restarted and did not sync each write to an append-only file all the time before, nonces may be lost
 * whose signatures are still valid. Then every claim fails as unavailable until older signatures have expired. The same holds
 * while the clock of Redis is behind a time that it showed before: nonces that expired by that time are deleted, but would
 * count again. A time that no gateway's clock agreed with does not count as shown; after it, claims fail for one window.
 *
 * Signatures carry the time of a gateway's clock, and nonces expire by the clock of Redis. Claims fail as unavailable where
 * the two differ by more than the retention allows: a nonce might expire before its signature.
 */
import { Cause, Clock, Duration, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { Hex } from "effect/encoding"
import { Redis } from "effect/persistence"
import { nonceDigest } from "../../domain/Secrets.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import * as Daemon from "../../services/operations/Daemon.ts"
import { NonceReused, NonceStore, NonceStoreUnavailable } from "../../services/identity/NonceStore.ts"
import { RedisLink, type Server } from "./RedisLink.ts"
import { NOW } from "./Script.ts"

export interface Options {
  /** Retention: twice the window of API keys, plus twice `apart` where clocks may differ. Default 60 seconds. */
  readonly retention?: Duration.Input
  /** Largest difference between the clocks of a gateway and of Redis. Default {@link APART_MS}. */
  readonly apart?: Duration.Input
}

/** Clocks of gateways may differ by {@link CLOCKS_APART_MS}, half of it each way; plus 5 s for the way of a claim. */
export const APART_MS = CLOCKS_APART_MS / 2 + 5_000

/** Claims per script. */
const BATCH_MAX = 256
/** Time that Redis holds a nonce beyond its window, in ms: how far its clock may be set back unnoticed. */
const SLACK_MS = 1_000
/** Interval of reading the marker without claims, so that a loss is detected early. */
const MARKER_CHECK = "1 second"
// the braces put all keys into one hash slot
const MARKER = "{gateway:nonces}"

/** The input of the script. */
interface ClaimInput {
  readonly retention_ms: number
  readonly apart_ms: number
  readonly server: Server
  /** By the gateway's clock, Unix ms. */
  readonly now_ms: number
  readonly nonces: ReadonlyArray<string>
}

/**
 * Returns the milliseconds until claims are accepted, then 1 for each claim that won. Where the clocks differ too much: their
 * difference, as a negative number. The value of a nonce is the last ms in which it counts; its key expires a little later,
 * by a clock that may be coarser.
 *
 * Fields of the marker: `since`, when nonces may have been lost; `run` of the server, and whether it was `durable` all the
 * time (an earlier version did not write it, and judged by the current setting); `seen`, the latest time of a call; `apart`,
 * the latest time of a call at which the clocks differed too much. A call that is earlier than `apart` shows that the clock
 * of Redis was ahead meanwhile, and that it dropped nonces by that clock.
 */
const claimScript = Redis.script(
  ({ apart_ms, nonces, now_ms, retention_ms, server }: ClaimInput) => [
    MARKER,
    ...nonces.map((nonce) => `${MARKER}:${nonce}`),
    retention_ms,
    server.run_id,
    server.isDurable ? 1 : 0,
    now_ms,
    apart_ms,
    server.wasDurable ? 1 : 0
  ],
  {
    numberOfKeys: ({ nonces }) => nonces.length + 1,
    lua: `${NOW}
local retention = tonumber(ARGV[1])
local marker = redis.call("HMGET", KEYS[1], "since", "run", "seen", "durable", "apart")
local last_apart = tonumber(marker[5]) or 0
local apart = math.abs(tonumber(ARGV[4]) - now)
if apart > tonumber(ARGV[5]) then
  if now > last_apart then redis.call("HSET", KEYS[1], "apart", now) end
  return { -apart }
end
local since = tonumber(marker[1])
local isNew = marker[2] ~= ARGV[2]
local isLost = isNew and ((marker[4] or ARGV[3]) ~= "1" or ARGV[6] == "0")
if not since or isLost or now < last_apart - ${SLACK_MS} then
  since = now
  redis.call("HSET", KEYS[1], "since", since)
end
if last_apart > 0 then redis.call("HDEL", KEYS[1], "apart") end
if isNew then
  redis.call("HSET", KEYS[1], "run", ARGV[2], "durable", ARGV[3])
elseif not marker[4] or ARGV[3] == "0" then
  redis.call("HSET", KEYS[1], "durable", ARGV[3])
end
local seen = tonumber(marker[3]) or now
if now >= seen then redis.call("HSET", KEYS[1], "seen", now) end
local answers = { math.max(0, since + retention + 1 - now, seen - ${SLACK_MS} - now) }
if answers[1] > 0 then return answers end
for i = 2, #KEYS do
  local last = tonumber(redis.call("GET", KEYS[i]))
  if last and now <= last then
    answers[i] = 0
  else
    redis.call("SET", KEYS[i], now + retention, "PX", retention + ${SLACK_MS})
    answers[i] = 1
  end
end
return answers
`
  }
).withReturnType<readonly [wait_ms: number, ...won: ReadonlyArray<number>]>()

class Claim extends Request.Class<{ readonly name: string }, void, NonceReused | NonceStoreUnavailable> {}

export const layer = (options: Options = {}): Layer.Layer<NonceStore, never, Redis.Redis | RedisLink> =>
  Layer.effect(
    NonceStore,
    Effect.gen(function* () {
      const link = yield* RedisLink
      const run = (yield* Redis.Redis).eval(claimScript)
      const apart_ms = Duration.toMillis(options.apart ?? APART_MS)
      const retention_ms = Duration.toMillis(options.retention ?? "60 seconds")
      const clock = yield* Clock.Clock

      let state: "accepted" | "lost" | "apart" = "accepted"
      const report = (wait_ms: number) => {
        const now = wait_ms === 0 ? "accepted" : wait_ms > 0 ? "lost" : "apart"
        if (now === state) return Effect.void
        state = now
        switch (now) {
          case "accepted":
            return Effect.logInfo("API keys are accepted again")
          case "lost":
            return Effect.logWarning(
              "nonces may be lost: API keys are refused until older signatures have expired"
            ).pipe(Effect.annotateLogs({ wait_ms }))
          case "apart":
            return Effect.logWarning(
              "the clocks of this gateway and of Redis are too far apart: API keys are refused"
            ).pipe(Effect.annotateLogs({ apart_ms: -wait_ms }))
        }
      }
      const claimAll = (nonces: ReadonlyArray<string>) =>
        Effect.suspend(() => {
          const server = link.server()
          const now_ms = clock.currentTimeMillisUnsafe()
          return server === undefined ? Effect.undefined : run({ retention_ms, apart_ms, server, now_ms, nonces })
        }).pipe(Effect.tap((answers) => (answers === undefined ? Effect.void : report(answers[0]))))

      const unavailable = (cause?: unknown) =>
        Exit.fail(new NonceStoreUnavailable(cause === undefined ? {} : { cause }))
      const resolver = RequestResolver.make<Claim>((claims) =>
        Effect.matchCause(claimAll(claims.map(({ request }) => request.name)), {
          // a defect must complete the claims too
          onFailure: (cause) => {
            for (const claim of claims) claim.completeUnsafe(unavailable(Cause.squash(cause)))
          },
          onSuccess: (answers) => {
            const wait_ms = answers?.[0] ?? 1
            for (const [i, claim] of claims.entries()) {
              claim.completeUnsafe(
                wait_ms !== 0 ? unavailable() : answers?.[i + 1] === 1 ? Exit.void : Exit.fail(new NonceReused())
              )
            }
          }
        })
      ).pipe(RequestResolver.batchN(BATCH_MAX))

      yield* link.check.pipe(
        Effect.andThen(claimAll([])),
        Effect.catch(() => Effect.void),
        Effect.andThen(Effect.sleep(MARKER_CHECK)),
        Daemon.repeat("marker of the nonces")
      )
      return NonceStore.of({
        claim: (space, owner, nonce) =>
          space === "login" || space === "activation"
            ? Effect.die(new Error(`nonces of the space ${space} are permanent and do not belong in Redis`))
            : Effect.request(new Claim({ name: `${space}:${Hex.encode(nonceDigest(owner, nonce))}` }), resolver)
      })
    })
  )
