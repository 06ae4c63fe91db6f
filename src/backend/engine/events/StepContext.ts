/**
 * The context of one step: its input and everything that it has caused so far.
 *
 * A handler checks first and changes the state afterwards, so that a refusal has no effect. An event gets its seq when
 * it is emitted.
 */
import type { Command, Event } from "../../../proto/gateway/v1/sequencer.ts"
import type { Trade } from "../../../proto/gateway/v1/types.ts"
import type { Account, MarketPosition, MarketState, State, Order } from "../state/State.ts"

export interface StepContext {
  readonly state: State
  /** engine time */
  readonly at: number
  readonly commandId: string | undefined
  readonly step: number
  /** head seq before the step */
  readonly headBefore: number
  /** events are counted but not built, because no subscriber can request them */
  readonly silent: boolean
  readonly events: Array<Event>
  /** markets whose book may have changed */
  readonly changedMarkets: Set<MarketState>
  /** markets whose mark moved or whose positions paid funding: their positions need a liquidation check */
  readonly repricedMarkets: Set<MarketState>
  /** markets whose prices this step has published */
  readonly sampledMarkets: Array<MarketState>
  /** positions that changed: their reduce-only orders may exceed them */
  readonly changedPositions: Set<MarketPosition>
  /** take-profit and stop-loss orders of positions that were closed or reversed */
  readonly endedExits: Set<Order>
  /** orders with a take-profit or stop-loss whose fills opened lots */
  readonly exitAttachments: Set<Order>
  /** positions whose take-profit or stop-loss changed */
  readonly changedExits: Set<MarketPosition>
  /** accounts whose margins changed without a fill, with the id of the order that caused it, if any */
  readonly changedMargins: Map<Account, string | undefined>
  /** trades of each taker order */
  readonly prints: Array<{ readonly market: MarketState; readonly trades: Array<Trade> }>
}

export const begin = (state: State, at: number, command: Command | undefined, silent = false): StepContext => ({
  state,
  at,
  commandId: command?.command_id,
  step: state.step + 1,
  headBefore: state.seq,
  silent,
  events: [],
  changedMarkets: new Set(),
  repricedMarkets: new Set(),
  sampledMarkets: [],
  changedPositions: new Set(),
  endedExits: new Set(),
  exitAttachments: new Set(),
  changedExits: new Set(),
  changedMargins: new Map(),
  prints: []
})

type Payload = NonNullable<Event["event"]>

/** Whether the step has emitted an event. */
export const hasEvents = ({ headBefore, state }: StepContext): boolean => state.seq > headBefore

/** Emits an event and returns its seq. `event` builds it without side effects; a silent step does not call it. */
export const emit = (
  ctx: StepContext,
  account: Account | undefined,
  market: MarketState | undefined,
  event: () => Payload
): number => {
  const seq = ++ctx.state.seq
  if (ctx.silent) return seq
  ctx.events.push({
    seq,
    ts_ms: ctx.at,
    step: ctx.step,
    command_id: ctx.commandId,
    user_id: account?.userId,
    sub_account_address: account?.address,
    symbol: market?.market.symbol,
    event: event()
  })
  return seq
}
