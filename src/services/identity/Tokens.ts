/**
 * Policy: issues and verifies bearer tokens: JWTs signed with EdDSA only.
 *
 * A token is verified once and then cached by its whole text. Its time and grant are checked on every use. Only valid
 * tokens are cached. Revocations by other gateways arrive through {@link InvalidationBus} and `CredentialChanges.ts`.
 * Source: docs/contract/authentication.md#tokens.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Base64Url } from "effect/encoding"
import type { Rail } from "../../domain/Identity.ts"
import { TOKEN_VALIDITY_MS } from "../../domain/Time.ts"
import { allScopes, type Caller } from "../../domain/User.ts"
import { Accounts, type AccountsUnavailable } from "./Accounts.ts"
import { BanList } from "./BanList.ts"
import type { RevokedToken } from "./CredentialChangeStore.ts"
import { Grants } from "./Grants.ts"
import { Ids } from "../operations/Ids.ts"
import { Lru } from "../operations/Lru.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"
import { Signatures } from "./Signatures.ts"
import { SigningKeys } from "../operations/SigningKeys.ts"
import {
  audienceOf,
  type Claims,
  kidOf,
  parseClaims,
  parseToken,
  printHeader,
  printPayload,
  printSignature
} from "./TokenFormat.ts"

/** Why a token is refused. */
export type TokenFault = "InvalidToken" | "ExpiredToken" | "RevokedToken" | "BannedUser"

export interface TokensOptions {
  /** Part of the audience: `trading-gateway:<environment>`. */
  readonly environment: string
  /** Default 7 days. Source: docs/contract/authentication.md#tokens. */
  readonly validity?: Duration.Input
  /** Verified tokens in the cache. Default 10 000. */
  readonly known_max?: number
}

/** Number of revoked tokens from which long expired ones are removed. */
const SWEEP_AT_LEAST = 1024

/** The caller of a verified token, and its claims. */
interface Holder {
  readonly claims: Claims
  readonly caller: Caller
}

const scopes = new Set(allScopes)
const utf8 = new TextEncoder()

/** Why a token is outside its period of validity. */
const untimely = ({ expires_ms, from_ms }: Claims, now_ms: number): TokenFault | undefined =>
  now_ms < from_ms ? "InvalidToken" : expires_ms <= now_ms ? "ExpiredToken" : undefined

export class Tokens extends Context.Service<
  Tokens,
  {
    readonly issue: (user: {
      readonly user_id: string
      readonly root_address: string
      readonly rail: Rail
    }) => Effect.Effect<{ readonly token: string; readonly expires_at_ms: number }>
    /** The caller of a cached token, or why it is refused now; `undefined` if it is not cached. */
    readonly known: (token: string, now_ms: number) => Caller | TokenFault | undefined
    /** Verifies a token. A refusal is a value, because unauthenticated clients can cause any number of them. */
    readonly verify: (token: string) => Effect.Effect<Caller | TokenFault>
    /** Revokes a token permanently. Completes when nothing that it authorized can still have an effect. */
    readonly revoke: (token: {
      readonly jti: string
      readonly user_id: string
      readonly expires_at_ms: number
    }) => Effect.Effect<void, AccountsUnavailable>
    /** Applies a revocation that was read from the store. */
    readonly apply: (token: RevokedToken) => void
    /** Revokes all tokens issued up to a time, Unix ms. */
    readonly distrust: (until_ms: number) => void
    /** Tokens issued up to this time are revoked, Unix ms. */
    readonly untrustedUntil: () => number
    /** Public keys that verify tokens, as a JSON Web Key Set. */
    readonly jwks: { readonly keys: ReadonlyArray<Record<string, string>> }
  }
>()("gateway/services/Tokens") {
  static readonly layer = (
    options: TokensOptions
  ): Layer.Layer<Tokens, never, Accounts | BanList | Grants | Ids | Signatures | SigningKeys> =>
    Layer.effect(
      Tokens,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const accounts = yield* Accounts
        const bans = yield* BanList
        const grants = yield* Grants
        const ids = yield* Ids
        const signatures = yield* Signatures
        const keys = yield* SigningKeys
        const invalidations = yield* InvalidationBus

        const audience = audienceOf(options.environment)
        const validity_s = Math.floor(Duration.toSeconds(options.validity ?? TOKEN_VALIDITY_MS))
        const header = printHeader(keys.current.kid)
        const ring = new Map(keys.ring.map((key) => [key.kid, key.publicKey]))
        const verified = new Lru<string, Holder>(options.known_max ?? 10_000)
        const lookups = (yield* CurrentMetricsRegistry).cache("tokens")

        const revoked = new Map<string, number>()
        let sweepAt = SWEEP_AT_LEAST
        const sweep = () => {
          if (revoked.size < sweepAt) return
          // much later: while the clock is ahead for some time, a token that is still valid may look expired
          const expired_ms = clock.currentTimeMillisUnsafe() - validity_s * 1000
          for (const [jti, expires_at_ms] of revoked) if (expires_at_ms <= expired_ms) revoked.delete(jti)
          sweepAt = Math.max(SWEEP_AT_LEAST, 2 * revoked.size)
        }
        const apply = ({ jti, expires_at_ms }: RevokedToken) => {
          if (revoked.has(jti)) return
          sweep()
          revoked.set(jti, expires_at_ms)
          grants.end(jti, "revoked")
        }
        let untrusted_until_ms = 0
        const distrust = (until_ms: number) => {
          if (until_ms <= untrusted_until_ms) return
          untrusted_until_ms = until_ms
          grants.endIssued(until_ms, "revoked")
        }
        yield* invalidations.listen((invalidation) =>
          invalidation.type === "token" ? Effect.sync(() => apply(invalidation)) : Effect.void
        )
        /** Why a token is not valid. A token issued before a ban was lifted remains revoked. */
        const ended = ({ issued_ms, jti, user_id }: Claims): TokenFault | undefined => {
          if (bans.isBanned(user_id)) return "BannedUser"
          const isOld = issued_ms <= Math.max(bans.refusedThrough(user_id), untrusted_until_ms)
          return isOld || revoked.has(jti) ? "RevokedToken" : undefined
        }
        /** The caller of valid claims. */
        const holderOf = (claims: Claims): Holder => {
          const { expires_ms, issued_ms, jti, rail, root_address, user_id } = claims
          const caller: Caller = {
            user_id,
            root_address,
            rail,
            via: "token",
            credential: jti,
            scopes,
            bound_to: undefined,
            expires_at_ms: expires_ms,
            grant: grants.issue(jti, user_id, issued_ms)
          }
          return { claims, caller }
        }

        const invalid = Effect.succeed<TokenFault>("InvalidToken")
        const verify = (token: string): Effect.Effect<Caller | TokenFault> => {
          const parts = parseToken(token)
          if (parts === undefined) return invalid
          const kid = parts.head === header ? keys.current.kid : kidOf(parts.head)
          const key = kid === undefined ? undefined : ring.get(kid)
          if (key === undefined) return invalid
          return Effect.flatMap(signatures.verify(key, utf8.encode(parts.signed), parts.signature), (matches) =>
            matches
              ? Effect.clockWith((clock): Effect.Effect<Caller | TokenFault> => {
                  const claims = parseClaims(parts.payload, audience)
                  if (claims === undefined) return invalid
                  const fault = untimely(claims, clock.currentTimeMillisUnsafe()) ?? ended(claims)
                  if (fault !== undefined) return Effect.succeed(fault)
                  // in the same turn: a later revocation or ban finds the grant
                  const holder = holderOf(claims)
                  verified.set(token, holder)
                  return Effect.succeed(holder.caller)
                })
              : invalid
          )
        }

        return Tokens.of({
          verify,
          known: (token, now_ms) => {
            const holder = verified.get(token)
            if (holder === undefined) {
              lookups.miss.add()
              return undefined
            }
            lookups.hit.add()
            const { caller, claims } = holder
            const isEnded = caller.grant.ended !== undefined
            const fault = untimely(claims, now_ms) ?? (isEnded ? ended(claims) : undefined)
            if (fault === undefined && !isEnded) return caller
            verified.delete(token)
            // without a fault, the token was issued after a ban and its lifting, which arrived together; it is
            // verified again
            return fault
          },
          issue: Effect.fnUntraced(function* (user) {
            const jti = yield* ids.uuid
            const now_ms = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
            const iat_ms = Math.max(now_ms, bans.refusedThrough(user.user_id) + 1, untrusted_until_ms + 1)
            const exp = Math.floor(iat_ms / 1000) + validity_s
            const signed = `${header}.${printPayload({ audience, ...user, iat_ms, exp, jti })}`
            return { token: `${signed}.${printSignature(keys.sign(utf8.encode(signed)))}`, expires_at_ms: exp * 1000 }
          }),
          revoke: ({ expires_at_ms, jti, user_id }) =>
            Effect.uninterruptible(
              Effect.gen(function* () {
                yield* accounts.revokeToken(jti, expires_at_ms)
                apply({ jti, expires_at_ms })
                yield* invalidations.publish({ type: "token", jti, expires_at_ms })
              })
            ).pipe(Effect.andThen(grants.settled(user_id, jti))),
          apply,
          distrust,
          untrustedUntil: () => untrusted_until_ms,
          jwks: {
            keys: keys.ring.map(({ kid, publicKey }) => ({
              kty: "OKP",
              crv: "Ed25519",
              x: Base64Url.encode(publicKey),
              kid,
              use: "sig",
              alg: "EdDSA"
            }))
          }
        })
      })
    )
}
