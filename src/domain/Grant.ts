/** The validity of a checked credential: one object shared by everything that the credential authorized. */
import type { Details } from "./Reason.ts"

/** Why a grant ended. `changed`: the API key has fewer permissions now, and is accepted again after a new check. */
export type GrantEnd = "revoked" | "changed" | "banned"

/** The error for a caller whose grant has ended. Source: docs/contract/rest-user.md. */
export interface GrantRefusal {
  readonly reason: "RevokedToken"
  /** `undefined`: the text of the catalogue. */
  readonly message: string | undefined
  readonly details: Details
}
const messages: { readonly [E in GrantEnd]: string | undefined } = {
  revoked: undefined,
  changed: "the API key was changed while the request was under way; sign the request again",
  banned: "this wallet is banned; a new login does not help; ask the operator of the exchange"
}
export const refusalOf = (why: GrantEnd): GrantRefusal => ({
  reason: "RevokedToken",
  message: messages[why],
  details: { cause: why }
})

/**
 * Whether this gateway knows the recent changes of credentials, those by other gateways included. It uses a credential
 * only while it does. Source: docs/contract/authentication.md#fresh-gateways.
 */
export interface Lease {
  readonly isCurrent: () => boolean
  /** Time in which a command that is submitted now must be sequenced, in ms; Infinity: no limit. */
  readonly effect_ms: () => number
  /** Calls back at the next renewal, once. The returned function removes the callback. */
  readonly onRenewal: (resume: () => void) => () => void
}
/** The lease of a gateway that makes all changes itself. */
export const unlimited: Lease = { isCurrent: () => true, effect_ms: () => Infinity, onRenewal: () => () => {} }

/**
 * The state of one credential on this gateway. All its requests and sockets share it, so one call of {@link end}
 * stops them all, without a search.
 *
 * Code with an effect checks the grant in the same turn of the event loop as the effect, and holds it until the
 * outcome is known. A change of the credential ends the grant, waits until nothing holds it, and is then
 * acknowledged.
 * Source: docs/contract/authentication.md#revocation.
 */
export class Grant {
  readonly credential: string
  readonly user_id: string
  readonly lease: Lease
  /** When its token was issued, Unix ms; undefined for an API key. */
  readonly issued_ms: number | undefined
  private endedBy: GrantEnd | undefined = undefined
  private holds = 0
  private readonly endings = new Set<() => void>()
  private idle: Array<() => void> = []

  constructor(credential: string, user_id: string, lease: Lease = unlimited, issued_ms?: number) {
    this.credential = credential
    this.user_id = user_id
    this.lease = lease
    this.issued_ms = issued_ms
  }

  /** Why the grant ended; `undefined` while it is valid. */
  get ended(): GrantEnd | undefined {
    return this.endedBy
  }
  /** Whether an effect is in progress. */
  get isHeld(): boolean {
    return this.holds > 0
  }

  /**
   * Begins an effect. False: the grant has ended and the effect must not happen. Each true needs one {@link release}.
   */
  hold(): boolean {
    if (this.endedBy !== undefined) return false
    this.holds++
    return true
  }
  release(): void {
    if (--this.holds > 0) return
    const idle = this.idle
    this.idle = []
    for (const resume of idle) resume()
  }

  /** Ends the grant for good. */
  end(why: GrantEnd): void {
    if (this.endedBy !== undefined) return
    this.endedBy = why
    const endings = [...this.endings]
    this.endings.clear()
    for (const ending of endings) ending()
  }
  /** Calls back once, in the turn in which the grant ends. The returned function removes the callback. */
  onEnd(ending: () => void): () => void {
    this.endings.add(ending)
    return () => void this.endings.delete(ending)
  }
  /** Calls back when nothing holds the grant. The returned function removes the callback. */
  whenIdle(resume: () => void): () => void {
    if (this.holds === 0) {
      resume()
      return () => {}
    }
    this.idle.push(resume)
    return () => {
      this.idle = this.idle.filter((one) => one !== resume)
    }
  }
}
