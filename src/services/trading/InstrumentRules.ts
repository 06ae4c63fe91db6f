/** The order rules of instruments, and the errors of their violations. */
import type { Instrument } from "../../domain/Market.ts"
import * as OrderRules from "../../domain/OrderRules.ts"
import { DomainError } from "../DomainError.ts"

const rulesOf = new WeakMap<Instrument, OrderRules.OrderRules>()
/** The rules of an instrument, cached. */
export const rules = (instrument: Instrument): OrderRules.OrderRules => {
  let made = rulesOf.get(instrument)
  if (made === undefined) {
    made = OrderRules.make({ ...instrument.price_filter, ...instrument.lot_size_filter })
    rulesOf.set(instrument, made)
  }
  return made
}

/** The error of a violation. */
export const violated = ({
  accepted,
  reason,
  field,
  message,
  min,
  max,
  nearest,
  step
}: OrderRules.Violation): DomainError<OrderRules.ViolationReason> =>
  new DomainError(
    reason,
    {
      field,
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(step === undefined ? {} : { step }),
      ...(nearest === undefined ? {} : { nearest })
    },
    accepted !== undefined
      ? `expected ${accepted}`
      : nearest === undefined
        ? message
        : `${message}; nearest: ${nearest.join(", ")}`
  )
