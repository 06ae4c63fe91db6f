/**
 * The command to set, replace or remove the take-profit and stop-loss of a position. Source:
 * docs/contract/rest-trading.md#positions, docs/contract/orders.md#take-profit-and-stop-loss.
 */
import * as OrderRules from "../../../domain/OrderRules.ts"
import type { Command, CommandResult, SetTradingStop } from "../../../proto/gateway/v1/sequencer.ts"
import { Side, StopOrderType, TpslMode } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { acknowledge, Code, invalid, refuse } from "../events/CommandResults.ts"
import * as Records from "../events/Records.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { Leg, Order } from "../state/State.ts"
import { frozen, noAccount, noSymbol, ownAccount } from "./Lookup.ts"
import * as TakeProfitStopLoss from "./TakeProfitStopLoss.ts"
import { checkSides, isRemoval, type Kind, KINDS, modeOf, OF_POSITION, readLeg, SIZES } from "./TpslLegs.ts"
import * as TpslPairs from "./TpslPairs.ts"

const { TPSL_MODE_PARTIAL: PARTIAL } = TpslMode

export const setTradingStop = (ctx: StepContext, command: Command, request: SetTradingStop): CommandResult => {
  const market = ctx.state.marketOf.get(request.symbol)
  if (market === undefined) return noSymbol(command, request.symbol)
  const account = ownAccount(ctx.state, command)
  if (account === undefined) return noAccount(command)
  const tpsl = request.tpsl
  const legs = { takeProfit: tpsl?.take_profit, stopLoss: tpsl?.stop_loss }
  if (legs.takeProfit === undefined && legs.stopLoss === undefined)
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "take_profit or stop_loss must be given", {
      field: "take_profit"
    })
  const holding = account.holdings[market.index]
  if (holding === undefined || holding.lots === 0)
    return refuse(command, Code.NOT_FOUND, "PositionNotFound", "there is no position")
  const mode = modeOf(tpsl!.mode)
  const wanted: { [K in Kind]?: Leg } = {}
  for (const kind of KINDS) {
    if (isRemoval(legs[kind])) continue
    const leg = readLeg(market, legs[kind], OF_POSITION[kind])
    if (leg !== undefined && "reason" in leg) return invalid(command, leg)
    if (leg !== undefined) wanted[kind] = leg
  }
  const { stopLoss, takeProfit } = wanted
  const setsAny = takeProfit !== undefined || stopLoss !== undefined
  // exits are orders: a frozen sub-account can remove them but not create them
  if (account.frozen && setsAny) return frozen(command)
  const opened = holding.lots > 0 ? Side.SIDE_BUY : Side.SIDE_SELL
  const wrong = checkSides({ stopLoss, takeProfit }, opened, market.markTicks, "the mark price", OF_POSITION)
  if (wrong !== undefined) return invalid(command, wrong)
  const sizes = { takeProfit: request.take_profit_size, stopLoss: request.stop_loss_size }
  const lots = { takeProfit: 0, stopLoss: 0 }
  if (mode === PARTIAL)
    for (const kind of KINDS) {
      const size = sizes[kind]
      const held = Math.abs(holding.lots)
      const counted = size === undefined ? held : OrderRules.checkQty(market.rules, size, false, false, SIZES[kind])
      if (typeof counted !== "number") return invalid(command, counted)
      if (counted > held)
        return invalid(command, {
          reason: "OutOfRange",
          field: SIZES[kind],
          message: "the size is above the position's"
        })
      lots[kind] = counted
    }
  // a new exit of mode Full replaces the previous one; a Partial one is added, and a price of 0 removes all of its kind
  const replaced = new Set<StopOrderType>(
    KINDS.filter((kind) => legs[kind] !== undefined && (mode !== PARTIAL || isRemoval(legs[kind]))).map((kind) =>
      TakeProfitStopLoss.stopType(mode, kind)
    )
  )
  if (setsAny) {
    const field = takeProfit === undefined ? OF_POSITION.stopLoss : OF_POSITION.takeProfit
    const others = ({ stopType }: Order) => !replaced.has(stopType)
    const full = TpslPairs.refuseExtraPair(command, field, holding, opened, mode, others)
    if (full !== undefined) return full
  }
  for (const older of TakeProfitStopLoss.exitsOf(holding, ({ stopType }) => replaced.has(stopType)))
    TakeProfitStopLoss.deactivate(ctx, older, TakeProfitStopLoss.CLEAR)
  const made = KINDS.flatMap((kind) =>
    wanted[kind] === undefined
      ? []
      : [TakeProfitStopLoss.createExit(ctx, holding, mode, kind, wanted[kind], lots[kind], undefined)]
  )
  TakeProfitStopLoss.linkSiblings(
    mode === PARTIAL ? made : [...TakeProfitStopLoss.exitsOf(holding, TakeProfitStopLoss.isFull), ...made]
  )
  for (const order of made) TakeProfitStopLoss.addConditional(ctx, order)
  ctx.changedExits.add(holding)
  return acknowledge(ctx, command, [], {
    result: { $case: "position", value: Records.position(holding, Accounts.totalsOf(account)) }
  })
}
