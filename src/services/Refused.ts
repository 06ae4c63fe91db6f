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

/** Characters of a given value that an error text repeats. */
const GIVEN_MAX = 80

/** A field whose value is not accepted; the text says what was given and what is accepted. */
export const invalidField = (field: string, given: string, accepted: string): Refused => {
  const shown = given.length > GIVEN_MAX ? `${given.slice(0, GIVEN_MAX)}…` : given
  return new Refused("InvalidField", { field }, `${field}: expected ${accepted}, got ${JSON.stringify(shown)}`)
}
