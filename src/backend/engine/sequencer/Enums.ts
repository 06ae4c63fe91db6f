/**
 * Checks the enums of commands. The enums of proto3 are open: a client can send any number, and decoding keeps it. A stored
 * one would reach every subscriber in an event that none can decode.
 */
import type { Command, CommandResult } from "../../../proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  OrderFilter,
  Side,
  SmpType,
  type Tpsl,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../../proto/gateway/v1/types.ts"
import { invalidField } from "../events/CommandResults.ts"

/** The numbers of an enum. */
const numbersOf = (values: Readonly<Record<string, number>>): ReadonlySet<number> =>
  // UNRECOGNIZED is below 0
  new Set(Object.values(values).filter((value) => value >= 0))

const cancelTypes = numbersOf(CancelType)
const directions = numbersOf(TriggerDirection)
const filters = numbersOf(OrderFilter)
const modes = numbersOf(TpslMode)
const sides = numbersOf(Side)
const smpTypes = numbersOf(SmpType)
const triggersBy = numbersOf(TriggerBy)

interface Unknown {
  readonly name: string
  readonly value: number
}
const unknown = (name: string, value: number, known: ReadonlySet<number>): Unknown | undefined =>
  known.has(value) ? undefined : { name, value }

const inTpsl = (tpsl: Tpsl | undefined): Unknown | undefined =>
  tpsl &&
  (unknown("tpsl.mode", tpsl.mode, modes) ??
    unknown("tpsl.take_profit.market.trigger_by", tpsl.take_profit?.trigger_by ?? 0, triggersBy) ??
    unknown("tpsl.stop_loss.market.trigger_by", tpsl.stop_loss?.trigger_by ?? 0, triggersBy))

/** The first unknown number of the enums that no handler compares with each of their values. */
const inBody = (body: Command["command"]): Unknown | undefined => {
  switch (body?.$case) {
    case "place_order": {
      const { smp_type, tpsl, trigger } = body.value
      return (
        unknown("smp_type", smp_type, smpTypes) ??
        unknown("trigger.trigger_by", trigger?.trigger_by ?? 0, triggersBy) ??
        unknown("trigger.trigger_direction", trigger?.trigger_direction ?? 0, directions) ??
        inTpsl(tpsl)
      )
    }
    case "amend_order":
    case "set_trading_stop":
      return inTpsl(body.value.tpsl)
    case "cancel_all": {
      const { cancel_type, order_filter, side } = body.value
      return (
        unknown("side", side, sides) ??
        unknown("order_filter", order_filter, filters) ??
        unknown("cancel_type", cancel_type, cancelTypes)
      )
    }
    default:
      return undefined
  }
}

/** Refuses a command with a value that its enum does not have. */
export const refuseUnknownEnum = (command: Command): CommandResult | undefined => {
  const found = inBody(command.command)
  return found && invalidField(command, found.name, `${found.name} ${found.value} is unknown`)
}
