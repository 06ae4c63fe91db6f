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

/** A field, its value, and the values of its enum. */
type Field = readonly [name: string, value: number, values: Readonly<Record<string, number>>]

const fieldsOf = ({ mode, stop_loss, take_profit }: Tpsl): ReadonlyArray<Field> => [
  ["tpsl.mode", mode, TpslMode],
  ["tpsl.take_profit.market.trigger_by", take_profit?.trigger_by ?? 0, TriggerBy],
  ["tpsl.stop_loss.market.trigger_by", stop_loss?.trigger_by ?? 0, TriggerBy]
]

/** The enums that no handler compares with each of their values. */
const enumsOf = (body: Command["command"]): ReadonlyArray<Field> => {
  switch (body?.$case) {
    case "place_order": {
      const { smp_type, tpsl, trigger } = body.value
      return [
        ["smp_type", smp_type, SmpType],
        ["trigger.trigger_by", trigger?.trigger_by ?? 0, TriggerBy],
        ["trigger.trigger_direction", trigger?.trigger_direction ?? 0, TriggerDirection],
        ...(tpsl === undefined ? [] : fieldsOf(tpsl))
      ]
    }
    case "amend_order":
    case "set_trading_stop":
      return body.value.tpsl === undefined ? [] : fieldsOf(body.value.tpsl)
    case "cancel_all": {
      const { cancel_type, order_filter, side } = body.value
      return [
        ["side", side, Side],
        ["order_filter", order_filter, OrderFilter],
        ["cancel_type", cancel_type, CancelType]
      ]
    }
    default:
      return []
  }
}

/** Refuses a command with a value that its enum does not have. */
export const refuseUnknownEnum = (command: Command): CommandResult | undefined => {
  for (const [name, value, values] of enumsOf(command.command))
    // UNRECOGNIZED is below 0
    if (value < 0 || !Object.values(values).includes(value))
      return invalidField(command, name, `${name} ${value} is unknown`)
  return undefined
}
