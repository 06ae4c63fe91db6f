/**
 * A request failed because of a rule; nothing changed. Such errors are frequent and expected, so they carry no stack.
 */
import { Schema } from "effect"
import { Details, Reason } from "../domain/Reason.ts"
import { fieldText } from "../domain/InputText.ts"

/**
 * A failure of a service. Its type lists the reasons that the caller may receive, so an endpoint that does not declare one of
 * them does not compile.
 */
export interface Failure<out R extends Reason = Reason> {
  readonly _tag: string
  readonly reason: R
}

export class DomainError<out R extends Reason = Reason>
  extends Schema.TaggedClass<DomainError>()("Refused", {
    reason: Reason,
    details: Details,
    /**
     * Replaces the text of the catalogue. For an invalid field it is `expected` and a noun phrase; HTTP adds the name
     * of the field and the given value.
     */
    message: Schema.optionalKey(Schema.String)
  })
  implements Failure<R>
{
  declare readonly reason: R
  constructor(reason: R, details: Details = {}, message?: string) {
    super({ reason, details, ...(message !== undefined && { message }) })
  }
}

/** An invalid field; the text states the given and the accepted value. */
export const invalidField = (field: string, given: string, accepted: string): DomainError<"InvalidField"> =>
  new DomainError("InvalidField", { field }, fieldText(field, accepted, given))
