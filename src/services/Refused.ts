/** A rule refused the request; nothing changed. Frequent and expected, so it carries no stack. */
import type { Details, Reason } from "../domain/Reason.ts"

export class Refused {
  readonly _tag = "Refused"
  readonly reason: Reason
  readonly facts: Details
  /** In place of the text of the catalogue. */
  readonly message: string | undefined
  constructor(reason: Reason, facts: Details = {}, message?: string) {
    this.reason = reason
    this.facts = facts
    this.message = message
  }
}
