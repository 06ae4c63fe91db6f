/**
 * Nonces of API keys in Redis, shared by all gateways. It keeps nothing for ever: logins and activations belong to the
 * database, through `NonceStore.routed`.
 *
 * The claims of a turn of the event loop are one script, so one round trip. The script finds a marker beside the nonces;
 * where the marker is gone, or Redis was started anew without a file that keeps what it acknowledged, nonces may be
 * forgotten that could still be used. Then every claim fails as unavailable until what was signed before is stale. So it is
 * while the clock of Redis stands before a time that it has shown already: what it has forgotten by then could be used again.
 *
 * Signatures are dated by the clock of a gateway and nonces forgotten by that of Redis. A claim of a gateway whose clock is
 * further from that of Redis than the retention allows for is unavailable too: whichever of them was set, a nonce might be
 * forgotten before its signature is stale.
 */
import { Cause, Clock, Duration, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { Hex } from "effect/encoding"
import { Redis } from "effect/persistence"
import { nonceDigest } from "../../domain/Secrets.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import { NonceReused, NonceStore, NonceStoreUnavailable } from "../../services/identity/NonceStore.ts"
import { RedisLink, type Server } from "./RedisLink.ts"
import { NOW } from "./Script.ts"

export interface Options {
  /** How long nonces are kept: twice the window of API keys, and twice `apart` where clocks may differ. Default 60 seconds. */
  readonly retention?: Duration.Input
  /** How far the clock of a gateway may be from that of Redis. Default {@link APART_MS}. */
  readonly apart?: Duration.Input
}

/** Gateways may be {@link CLOCKS_APART_MS} apart, half of it each way; and what a claim may take on its way. */
export const APART_MS = CLOCKS_APART_MS / 2 + 5_000

/** Claims that one script takes; more of a turn take several. */
const BATCH_MAX = 256
/** How much longer than its window Redis holds a nonce, in ms: as far its clock may be set back without notice. */
const SLACK_MS = 1_000
/** How often the marker is looked for while nobody claims, so that a loss is found before a claim is. */
const LOOK_EVERY = "1 second"
// the braces keep all keys in one slot
const MARKER = "{gateway:nonces}"

/** What a gateway says with its claims. */
interface Said {
  readonly retention_ms: number
  readonly apart_ms: number
  readonly server: Server
  /** By the gateway's clock, Unix ms. */
  readonly now_ms: number
  readonly nonces: ReadonlyArray<string>
}

/**
 * Answers the milliseconds to wait until claims are taken again, then 1 for each that was won; of clocks that are too far apart
 * the difference, as a negative number. A nonce holds the last moment in which it is taken; Redis forgets it a little later, by
 * a clock that need not be as fine.
 */
const claimScript = Redis.script(
  ({ apart_ms, nonces, now_ms, retention_ms, server }: Said) => [
    MARKER,
    ...nonces.map((nonce) => `${MARKER}:${nonce}`),
    retention_ms,
    server.run_id,
    server.keeps ? 1 : 0,
    now_ms,
    apart_ms
  ],
  {
    numberOfKeys: ({ nonces }) => nonces.length + 1,
    lua: `${NOW}
local retention = tonumber(ARGV[1])
local marker = redis.call("HMGET", KEYS[1], "since", "run", "seen")
local since = tonumber(marker[1])
if not since or (marker[2] ~= ARGV[2] and ARGV[3] == "0") then
  since = now
  redis.call("HSET", KEYS[1], "since", since)
end
if marker[2] ~= ARGV[2] then redis.call("HSET", KEYS[1], "run", ARGV[2]) end
local seen = tonumber(marker[3]) or now
if now >= seen then redis.call("HSET", KEYS[1], "seen", now) end
local apart = math.abs(tonumber(ARGV[4]) - now)
if apart > tonumber(ARGV[5]) then return { -apart } end
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

      let told: "taken" | "lost" | "apart" = "taken"
      const tell = (wait_ms: number) => {
        const now = wait_ms === 0 ? "taken" : wait_ms > 0 ? "lost" : "apart"
        if (now === told) return Effect.void
        told = now
        switch (now) {
          case "taken":
            return Effect.logInfo("API keys are taken again")
          case "lost":
            return Effect.logWarning("nonces may be lost: API keys are refused until old signatures are stale").pipe(
              Effect.annotateLogs({ wait_ms })
            )
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
                wait_ms !== 0 ? unavailable() : answers?.[i + 1] === 1 ? Exit.void : Exit.fail(new NonceReused())
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
