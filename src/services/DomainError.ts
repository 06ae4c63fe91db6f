/** A rule refused the request; nothing changed. Frequent and expected, so it carries no stack. */
import type { Details, Reason } from "../domain/Reason.ts"
import { fieldText } from "../domain/InputText.ts"

export class DomainError {
  readonly _tag = "Refused"
  readonly reason: Reason
  readonly facts: Details
  /**
   * In place of the text of the catalogue. Of a refused field it is `expected` and a noun phrase; HTTP adds the name of the
   * field and the given value.
   */
  readonly message: string | undefined
  constructor(reason: Reason, facts: Details = {}, message?: string) {
    this.reason = reason
    this.facts = facts
    this.message = message
  }
}

/** A field whose value is not accepted; the text says what was given and what is accepted. */
export const invalidField = (field: string, given: string, accepted: string): DomainError =>
  new DomainError("InvalidField", { field }, fieldText(field, accepted, given))
