/**
 * Policy: authentication of the admin endpoints by HTTP Basic. Source: docs/contract/authentication.md#basic.
 *
 * A password check costs a tenth of a second of a core. So that it is not a denial-of-service vector, an address with
 * too many failures is refused before the check, one check runs at a time, and few are queued. A correct password is
 * cached for a minute as a keyed hash. A wrong username costs as much as a wrong password.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { Clock, Context, Duration, Effect, Layer, Redacted, Semaphore } from "effect"
import { type Administrator, type AdminUser, parsePasswordHash } from "../../domain/Administrator.ts"
import { networkOf } from "../../domain/Ip.ts"
import { sameSecret } from "../../domain/Secrets.ts"
import * as AuthAttemptLimiter from "./AuthAttemptLimiter.ts"
import * as AuthFailureMetrics from "./AuthFailureMetrics.ts"
import { type AuthError, AuthLimited, AuthRefused, AuthUnavailable } from "./AuthErrors.ts"
import { Ids } from "../operations/Ids.ts"
import { Lru } from "../operations/Lru.ts"
import { PasswordHashes } from "./PasswordHashes.ts"
import { RateLimiter } from "../operations/RateLimiter.ts"

/** Checks that wait for the running one; another one is answered 503. */
const WAITING_MAX = 32
/** Time for which a correct password is not hashed again. */
const CACHED_MS = Duration.toMillis("1 minute")
const CACHED_MAX = 256

export interface AdministratorsOptions {
  /** ADMIN_USERNAME and ADMIN_PASSWORD, whose role is `admin`. */
  readonly admin: { readonly username: string; readonly password: Redacted.Redacted<string> } | undefined
  /** Users of ADMIN_USERS_FILE. */
  readonly users: ReadonlyArray<AdminUser>
}

const badCredentials = new AuthRefused({ reason: "BadCredentials", details: {} })

export class Administrators extends Context.Service<
  Administrators,
  {
    readonly login: (
      username: string,
      password: string,
      client_ip: string
    ) => Effect.Effect<Administrator, AuthError<"BadCredentials">>
  }
>()("gateway/services/Administrators") {
  static readonly layer = (
    options: AdministratorsOptions
  ): Layer.Layer<Administrators, never, Ids | PasswordHashes | RateLimiter> =>
    Layer.effect(
      Administrators,
      Effect.gen(function* () {
        const hashes = yield* PasswordHashes
        const ids = yield* Ids
        const limiter = yield* RateLimiter
        const attempts = AuthAttemptLimiter.make()
        const counted = yield* AuthFailureMetrics.counting
        const users = new Map(options.users.map((user) => [user.username, user]))
        const one = Semaphore.makeUnsafe(1)
        let waiting = 0
        const secret = utf8ToBytes(yield* ids.uuid)
        /** Expiry time of each correct pair of username and password. */
        const verifiedUntil = new Lru<string, number>(CACHED_MAX)
        const keyOf = (username: string, password: string): string =>
          bytesToHex(sha256(concatBytes(secret, sha256(utf8ToBytes(username)), sha256(utf8ToBytes(password)))))

        const verified = (password: string, text: string): Effect.Effect<boolean, AuthUnavailable> =>
          Effect.suspend(() => {
            if (waiting >= WAITING_MAX)
              return Effect.fail(new AuthUnavailable({ cause: "too many queued password checks" }))
            waiting++
            return one
              .withPermits(1)(hashes.verify(password, parsePasswordHash(text)!))
              .pipe(Effect.ensuring(Effect.sync(() => waiting--)))
          })

        const check = Effect.fnUntraced(function* (username: string, password: string) {
          const { admin } = options
          if (admin !== undefined) {
            // compare both, so that the time does not depend on the first
            const name = sameSecret(username, admin.username)
            const word = sameSecret(password, Redacted.value(admin.password))
            if (name && word) return { username, role: "admin" } as const
          }
          const user = users.get(username)
          const key = keyOf(username, password)
          const now = yield* Clock.currentTimeMillis
          if (user !== undefined && (verifiedUntil.get(key) ?? 0) > now) return { username, role: user.role }
          // check some hash for an unknown name too, so that the response takes as long
          const hash = (user ?? options.users[0])?.password_hash
          const right = hash !== undefined && (yield* verified(password, hash))
          if (user === undefined || !right) return yield* badCredentials
          verifiedUntil.set(key, now + CACHED_MS)
          return { username, role: user.role }
        })

        return Administrators.of({
          login: (username, password, client_ip) =>
            counted(
              attempts.run(`basic-failures|${networkOf(client_ip)}`, {
                left: limiter.peek("basic-failures", client_ip),
                check: check(username, password),
                isFailure: (error) => error instanceof AuthRefused,
                count: limiter.take("basic-failures", client_ip),
                refuse: (rate) => new AuthLimited({ rate })
              })
            )
        })
      })
    )
}
