/**
 * A request failed because of a rule; nothing changed. Such errors are frequent and expected, so they carry no stack.
 */
import type { Details, Reason } from "../domain/Reason.ts"
import { fieldText } from "../domain/InputText.ts"

export class DomainError {
  readonly _tag = "Refused"
  readonly reason: Reason
  readonly facts: Details
  /**
   * Replaces the text of the catalogue. For an invalid field it is `expected` and a noun phrase; HTTP adds the name
   * of the field and the given value.
   */
  readonly message: string | undefined
  constructor(reason: Reason, facts: Details = {}, message?: string) {
    this.reason = reason
    this.facts = facts
    this.message = message
  }
}

/** An invalid field; the text states the given and the accepted value. */
export const invalidField = (field: string, given: string, accepted: string): DomainError =>
  new DomainError("InvalidField", { field }, fieldText(field, accepted, given))
