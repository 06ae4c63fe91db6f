/**
 * Nonces of API keys in Redis, shared by all gateways. It keeps nothing for ever: logins and activations belong to the
 * database, through `NonceStore.routed`.
 *
 * The claims of a turn of the event loop are one script, so one round trip. The script finds a marker beside the nonces;
 * where the marker is gone, or Redis was started anew without a file that keeps what it acknowledged, nonces may be
 * forgotten that could still be used. Then every claim fails as unavailable until what was signed before is stale.
 */
import { Cause, Duration, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { Hex } from "effect/encoding"
import { Redis } from "effect/persistence"
import { nonceDigest } from "../../domain/Secrets.ts"
import { NonceReused, NonceStore, NonceStoreUnavailable } from "../../services/NonceStore.ts"
import { RedisLink, type Server } from "./RedisLink.ts"
import { NOW } from "./Script.ts"

export interface Options {
  /** How long nonces are kept: twice the window of API keys. Default 60 seconds. */
  readonly retention?: Duration.Input
}

/** Claims that one script takes; more of a turn take several. */
const BATCH_MAX = 256
/** How often the marker is looked for while nobody claims, so that a loss is found before a claim is. */
const LOOK_EVERY = "1 second"
// the braces keep all keys in one slot
const MARKER = "{gateway:nonces}"

/**
 * Answers the milliseconds to wait until claims are taken again, then 1 for each that was won. A nonce holds the last
 * moment in which it is taken; Redis forgets it a little later, by a clock that need not be as fine.
 */
const claimScript = Redis.script(
  (retention_ms: number, server: Server, nonces: ReadonlyArray<string>) => [
    MARKER,
    ...nonces.map((nonce) => `${MARKER}:${nonce}`),
    retention_ms,
    server.run_id,
    server.keeps ? 1 : 0
  ],
  {
    numberOfKeys: (_, __, nonces) => nonces.length + 1,
    lua: `${NOW}
local retention = tonumber(ARGV[1])
local marker = redis.call("HMGET", KEYS[1], "since", "run")
local since = tonumber(marker[1])
if not since or (marker[2] ~= ARGV[2] and ARGV[3] == "0") then
  since = now
  redis.call("HSET", KEYS[1], "since", since)
end
if marker[2] ~= ARGV[2] then redis.call("HSET", KEYS[1], "run", ARGV[2]) end
local answers = { math.max(0, since + retention + 1 - now) }
if answers[1] > 0 then return answers end
for i = 2, #KEYS do
  local last = tonumber(redis.call("GET", KEYS[i]))
  if last and now <= last then
    answers[i] = 0
  else
    redis.call("SET", KEYS[i], now + retention, "PX", retention + 1000)
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
      const retention_ms = Duration.toMillis(options.retention ?? "60 seconds")

      let isWaiting = false
      const tell = (wait_ms: number) => {
        if (wait_ms > 0 === isWaiting) return Effect.void
        isWaiting = wait_ms > 0
        return isWaiting
          ? Effect.logWarning("nonces may be lost: API keys are refused until old signatures are stale").pipe(
              Effect.annotateLogs({ wait_ms })
            )
          : Effect.logInfo("API keys are taken again")
      }
      const claimAll = (names: ReadonlyArray<string>) =>
        Effect.suspend(() => {
          const server = link.server()
          return server === undefined ? Effect.undefined : run(retention_ms, server, names)
        }).pipe(Effect.tap((answers) => (answers === undefined ? Effect.void : tell(answers[0]))))

      const unavailable = (cause?: unknown) =>
        Exit.fail(new NonceStoreUnavailable(cause === undefined ? {} : { cause }))
      const resolver = RequestResolver.make<Claim>((claims) =>
        Effect.matchCause(claimAll(claims.map(({ request }) => request.name)), {
          // a defect too must not leave a caller waiting
          onFailure: (cause) => {
            for (const claim of claims) claim.completeUnsafe(unavailable(Cause.squash(cause)))
          },
          onSuccess: (answers) => {
            const wait_ms = answers?.[0] ?? 1
            for (const [i, claim] of claims.entries()) {
              claim.completeUnsafe(
                wait_ms > 0 ? unavailable() : answers?.[i + 1] === 1 ? Exit.void : Exit.fail(new NonceReused())
              )
            }
          }
        })
      ).pipe(RequestResolver.batchN(BATCH_MAX))

      yield* claimAll([]).pipe(
        Effect.catch(() => Effect.void),
        Effect.andThen(Effect.sleep(LOOK_EVERY)),
        Effect.forever,
        Effect.forkScoped
      )
      return NonceStore.of({
        claim: (space, owner, nonce) =>
          space === "login" || space === "activation"
            ? Effect.die(new Error(`nonces of the space ${space} are kept for ever, not in Redis`))
            : Effect.request(new Claim({ name: `${space}:${Hex.encode(nonceDigest(owner, nonce))}` }), resolver)
      })
    })
  )
