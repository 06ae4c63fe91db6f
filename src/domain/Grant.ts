/** What a checked credential is worth until it ends: one object for everything that was let in by it. */
import type { Details, Reason } from "./Reason.ts"

/** Why a grant ended. `changed`: the API key may do less now, and still works when it is checked again. */
export type GrantEnd = "revoked" | "changed" | "banned"

/** What a caller whose grant has ended is answered. Source: docs/contract/rest-user.md. */
export interface GrantRefusal {
  readonly reason: Reason
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
 * The state of one credential on this gateway. All requests and sockets of the credential share it, so one call of
 * {@link end} stops them all, without a search.
 *
 * Whatever has an effect looks at it in the turn of the event loop in which the effect happens, and holds it until the
 * outcome is known. A change of the credential ends the grant, then waits until nothing holds it, then is answered.
 * Source: docs/contract/authentication.md#revocation.
 */
export class Grant {
  readonly credential: string
  readonly user_id: string
  private endedBy: GrantEnd | undefined = undefined
  private holds = 0
  private readonly endings = new Set<() => void>()
  private idle: Array<() => void> = []

  constructor(credential: string, user_id: string) {
    this.credential = credential
    this.user_id = user_id
  }

  /** Why the credential is refused; `undefined`: it is in force. */
  get ended(): GrantEnd | undefined {
    return this.endedBy
  }
  /** Whether an effect is under way. */
  get isHeld(): boolean {
    return this.holds > 0
  }

  /** Begins an effect; false: the grant has ended and the effect must not happen. Each true needs one {@link release}. */
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
  /** Calls back once, in the turn in which the grant ends. The returned function takes the callback away. */
  onEnd(ending: () => void): () => void {
    this.endings.add(ending)
    return () => void this.endings.delete(ending)
  }
  /** Calls back when nothing holds the grant. The returned function takes the callback away. */
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
