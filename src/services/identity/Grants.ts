/**
 * Policy: the valid grants of this gateway, by credential and by user, so that a change ends every use of a
 * credential.
 *
 * The registry holds grants weakly: caches, requests and sockets keep them alive, and an unused grant needs no end.
 * Source: docs/contract/authentication.md#revocation.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { Grant, type GrantEnd } from "../../domain/Grant.ts"
import { CredentialLease } from "./CredentialLease.ts"

/**
 * Longest wait of a change for effects in progress. It exceeds the deadline of a command and the timeouts of the
 * stores, so it expires only after a fault.
 */
const SETTLE_MAX = Duration.seconds(10)

export class Grants extends Context.Service<
  Grants,
  {
    /** The grant of a credential that was verified in this turn of the event loop. `issued_ms`: of a token, Unix ms. */
    readonly issue: (credential: string, user_id: string, issued_ms?: number) => Grant
    /** The valid grant of a credential, if this gateway uses one. */
    readonly inForce: (credential: string) => Grant | undefined
    /** Ends the grant of a credential. */
    readonly end: (credential: string, why: GrantEnd) => void
    /** Ends all grants of a user. */
    readonly endUser: (user_id: string, why: GrantEnd) => void
    /** Ends the grants of all tokens issued up to a time, Unix ms. */
    readonly endIssued: (until_ms: number, why: GrantEnd) => void
    /**
     * Waits until no effect of an ended grant of the user is in progress; `credential`: of this credential only. A
     * change is acknowledged after this wait. A change requested with a token does not wait for tokens, in particular
     * not for its own.
     */
    readonly settled: (user_id: string, credential?: string) => Effect.Effect<void>
  }
>()("gateway/services/Grants") {
  static readonly layer: Layer.Layer<Grants> = Layer.effect(
    Grants,
    Effect.map(CredentialLease, (lease) => {
      const grants = new Map<string, WeakRef<Grant>>()
      const byUser = new Map<string, Set<string>>()
      /** Ended grants with effects in progress. */
      const ending = new Set<Grant>()

      const forget = (credential: string, user_id: string) => {
        grants.delete(credential)
        const credentials = byUser.get(user_id)
        if (credentials?.delete(credential) === true && credentials.size === 0) byUser.delete(user_id)
      }
      const unused = new FinalizationRegistry<{ readonly credential: string; readonly user_id: string }>(
        ({ credential, user_id }) => {
          // another grant of the credential may have been issued since
          if (grants.get(credential)?.deref() === undefined) forget(credential, user_id)
        }
      )
      const inForce = (credential: string) => grants.get(credential)?.deref()

      const end = (credential: string, why: GrantEnd) => {
        const grant = inForce(credential)
        if (grant === undefined) return
        forget(credential, grant.user_id)
        grant.end(why)
        ending.add(grant)
        grant.whenIdle(() => ending.delete(grant))
      }

      return Grants.of({
        inForce,
        issue: (credential, user_id, issued_ms) => {
          const known = inForce(credential)
          if (known !== undefined) return known
          const grant = new Grant(credential, user_id, lease, issued_ms)
          grants.set(credential, new WeakRef(grant))
          const credentials = byUser.get(user_id)
          if (credentials === undefined) byUser.set(user_id, new Set([credential]))
          else credentials.add(credential)
          unused.register(grant, { credential, user_id })
          return grant
        },
        end,
        endUser: (user_id, why) => {
          for (const credential of byUser.get(user_id) ?? []) end(credential, why)
        },
        endIssued: (until_ms, why) => {
          for (const credential of grants.keys()) {
            const issued_ms = inForce(credential)?.issued_ms
            if (issued_ms !== undefined && issued_ms <= until_ms) end(credential, why)
          }
        },
        settled: (user_id, credential) =>
          Effect.suspend(() => {
            const held = [...ending].filter(
              (grant) => grant.user_id === user_id && (credential === undefined || grant.credential === credential)
            )
            if (held.length === 0) return Effect.void
            const idle = (grant: Grant) =>
              Effect.callback<void>((resume) => {
                const leave = grant.whenIdle(() => resume(Effect.void))
                return Effect.sync(leave)
              })
            return Effect.forEach(held, idle, { concurrency: "unbounded", discard: true }).pipe(
              Effect.timeoutOrElse({
                duration: SETTLE_MAX,
                orElse: () => Effect.logWarning("a request of an ended credential is still in progress")
              })
            )
          })
      })
    })
  )
}
