/**
 * One step in the making: what an input has caused so far.
 *
 * A handler checks first and changes afterwards, so that a refusal leaves no trace. Events carry their seq from the moment
 * they are made.
 */
import type { Command, CommandAck, CommandResult, CommandStatus, Event } from "../../proto/gateway/v1/sequencer.ts"
import type { OrderRef, Trade } from "../../proto/gateway/v1/types.ts"
import type { Violation } from "../../domain/OrderRules.ts"
import type { Order } from "./sequencer/Order.ts"
import type { Account, MarketPosition, MarketState, State } from "./State.ts"

export interface StepContext {
  readonly state: State
  /** engine time */
  readonly at: number
  readonly commandId: string | undefined
  readonly step: number
  /** seq of the last event before the step */
  readonly before: number
  /** nobody can ask for its events: they are counted and not made */
  readonly silent: boolean
  readonly events: Array<Event>
  /** markets whose book may have changed */
  readonly markets: Set<MarketState>
  /** markets whose mark moved or whose positions paid funding: all their holders are judged anew */
  readonly moved: Set<MarketState>
  /** markets whose prices this step has told */
  readonly sampled: Array<MarketState>
  /** holdings whose reduce-only orders may exceed the position */
  readonly holdings: Set<MarketPosition>
  /** holdings whose position was closed or changed its side */
  readonly ended: Set<MarketPosition>
  /** orders whose fills opened something that exits guard, and holdings whose exits changed */
  readonly attach: Set<Order>
  readonly exits: Set<MarketPosition>
  /** accounts whose margins moved without a fill, with the order that did it where it is one */
  readonly margins: Map<Account, string | undefined>
  /** fills by taker execution */
  readonly prints: Array<{ readonly market: MarketState; readonly trades: Array<Trade> }>
}

export const begin = (state: State, at: number, command: Command | undefined, silent = false): StepContext => ({
  state,
  at,
  commandId: command?.command_id,
  step: state.step + 1,
  before: state.seq,
  silent,
  events: [],
  markets: new Set(),
  moved: new Set(),
  sampled: [],
  holdings: new Set(),
  ended: new Set(),
  attach: new Set(),
  exits: new Set(),
  margins: new Map(),
  prints: []
})

type Payload = NonNullable<Event["event"]>

/** Whether the step has caused anything so far. */
export const hasEvents = ({ before, state }: StepContext): boolean => state.seq > before

/** Appends an event and returns its seq. `event` makes it, and changes nothing: in a silent turn it is not called. */
export const emit = (
  turn: StepContext,
  account: Account | undefined,
  market: MarketState | undefined,
  event: () => Payload
): number => {
  const seq = ++turn.state.seq
  if (turn.silent) return seq
  turn.events.push({
    seq,
    ts_ms: turn.at,
    step: turn.step,
    command_id: turn.commandId,
    user_id: account?.userId,
    sub_account_address: account?.address,
    symbol: market?.market.symbol,
    event: event()
  })
  return seq
}

/** google.rpc.Code of the refusals that the engine gives. Source: docs/contract/boundary.md#errors. */
export const Code = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12
} as const

/** A refusal: nothing changed. */
export const refuse = (
  command: Command,
  code: number,
  reason: string,
  message: string,
  metadata: Record<string, string> = {}
): CommandResult => ({
  outcome: { $case: "status", value: { command_id: command.command_id, code, message, reason, metadata } }
})

/** A refusal of a field whose form or value cannot be. */
export const invalidField = (command: Command, field: string, message: string): CommandResult =>
  refuse(command, Code.INVALID_ARGUMENT, "InvalidField", message, { field })

/** A refusal of an order that breaks a rule of its instrument. */
export const invalid = (command: Command, violation: Violation): CommandResult => {
  const metadata: Record<string, string> = { field: violation.field }
  if (violation.min !== undefined) metadata["min"] = String(violation.min)
  if (violation.max !== undefined) metadata["max"] = String(violation.max)
  if (violation.step !== undefined) metadata["step"] = violation.step
  return refuse(command, Code.INVALID_ARGUMENT, violation.reason, violation.message, metadata)
}

/** An acknowledgement: the command had its turn. `seq` is filled in when the step ends. */
export const acknowledge = (
  turn: StepContext,
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
      accepted_at_ms: turn.at,
      orders,
      duplicate: false,
      version: more?.version,
      refusal: more?.refusal,
      result: more?.result
    }
  }
})
