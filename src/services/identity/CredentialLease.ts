/**
 * The lease of a gateway of a fleet on the credentials of its callers: it uses them only while its last complete read of
 * their changes began less than {@link LEASE_MS} ago. A change that another gateway has answered thus has no effect here
 * after that time, also where this process or its database is slow.
 *
 * A stack of gateways that share a database provides {@link layer}. The default, of a gateway by itself, never ends.
 * Source: docs/contract/authentication.md#fresh-gateways.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type Lease, unlimited } from "../../domain/Grant.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { AccountsUnavailable } from "./Accounts.ts"

/** Longest age of the last complete read of changes, from its begin, in ms. */
export const LEASE_MS = 600
/** Greatest age of that read at which a command is sequenced, in ms: within one second by the sequencer's clock too. */
export const EFFECT_MS = 950
/** Longest wait of a request or socket for the next complete read. */
export const LEASE_WAIT = "1500 millis"

/** The lease of a gateway of a fleet. */
export interface LimitedLease extends Lease {
  /** Records a complete read that began at this monotonic time, in ms. */
  readonly renew: (began_ms: number) => void
  /** Time since the lease ended, in ms; 0 while it is current. */
  readonly overdue_ms: () => number
}

export const CredentialLease = Context.Reference<LimitedLease>("gateway/services/CredentialLease", {
  defaultValue: () => ({ ...unlimited, renew: () => {}, overdue_ms: () => 0 })
})

/** Whether the gateway shares its credentials with others. */
export const isLimited = (lease: LimitedLease): boolean => lease.isCurrent !== unlimited.isCurrent

/** Completes when the lease is current; fails after {@link LEASE_WAIT}. */
export const current = (lease: Lease): Effect.Effect<void, AccountsUnavailable> =>
  Effect.suspend(() =>
    lease.isCurrent()
      ? Effect.void
      : Effect.callback<void>((resume) => {
          const remove = lease.onRenewal(() => resume(Effect.void))
          return Effect.sync(remove)
        }).pipe(
          // the renewal may itself be old
          Effect.repeat({ until: () => lease.isCurrent() }),
          Effect.timeoutOrElse({ duration: LEASE_WAIT, orElse: () => Effect.fail(new AccountsUnavailable({})) })
        )
  )

export const layer: Layer.Layer<never> = Layer.effect(
  CredentialLease,
  Effect.map(Clock.Clock, (clock): LimitedLease => {
    let ends_ms = monotonicMillis(clock)
    const waiting = new Set<() => void>()
    const overdue_ms = () => Math.max(0, monotonicMillis(clock) - ends_ms)
    return {
      isCurrent: () => monotonicMillis(clock) < ends_ms,
      effect_ms: () => ends_ms - LEASE_MS + EFFECT_MS - monotonicMillis(clock),
      overdue_ms,
      onRenewal: (resume) => {
        waiting.add(resume)
        return () => void waiting.delete(resume)
      },
      renew: (began_ms) => {
        ends_ms = Math.max(ends_ms, began_ms + LEASE_MS)
        const resumed = [...waiting]
        waiting.clear()
        for (const resume of resumed) resume()
      }
    }
  })
)
