/** Results of commands: acknowledgements and refusals. */
import type { Violation } from "../../../domain/OrderRules.ts"
import type { Command, CommandAck, CommandResult, CommandStatus } from "../../../proto/gateway/v1/sequencer.ts"
import type { OrderRef } from "../../../proto/gateway/v1/types.ts"
import type { StepContext } from "./StepContext.ts"

/** Values of google.rpc.Code that the engine uses. Source: docs/contract/boundary.md#errors. */
export const Code = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12
} as const

/** Refuses a command that has changed nothing. */
export const refuse = (
  command: Command,
  code: number,
  reason: string,
  message: string,
  metadata: Record<string, string> = {}
): CommandResult => ({
  outcome: { $case: "status", value: { command_id: command.command_id, code, message, reason, metadata } }
})

/** Refuses an invalid field. */
export const invalidField = (command: Command, field: string, message: string): CommandResult =>
  refuse(command, Code.INVALID_ARGUMENT, "InvalidField", message, { field })

/** Refuses an order that violates a rule of its instrument. */
export const invalid = (command: Command, violation: Violation): CommandResult => {
  const metadata: Record<string, string> = { field: violation.field }
  if (violation.min !== undefined) metadata["min"] = String(violation.min)
  if (violation.max !== undefined) metadata["max"] = String(violation.max)
  if (violation.step !== undefined) metadata["step"] = violation.step
  return refuse(command, Code.INVALID_ARGUMENT, violation.reason, violation.message, metadata)
}

/** Acknowledges a command that was executed. The end of the step sets `seq`. */
export const acknowledge = (
  ctx: StepContext,
  command: Command,
  orders: Array<OrderRef>,
  more?: {
    readonly version?: number
    readonly refusal?: CommandStatus
    readonly result?: NonNullable<CommandAck["result"]>
  }
): CommandResult => ({
  outcome: {
    $case: "ack",
    value: {
      command_id: command.command_id,
      seq: 0,
      accepted_at_ms: ctx.at,
      orders,
      duplicate: false,
      version: more?.version,
      refusal: more?.refusal,
      result: more?.result
    }
  }
})
