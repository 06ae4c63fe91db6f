/**
 * The commands for leverage, margin mode and the margin of Isolated positions. Source:
 * docs/contract/rest-trading.md#positions, docs/contract/exchange.md#margin.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import type {
  AddMargin,
  Command,
  CommandResult,
  SetLeverage,
  SetMarginMode
} from "../../../proto/gateway/v1/sequencer.ts"
import { BalanceReason, MarginMode } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { acknowledge, Code, invalidField, refuse } from "../events/CommandResults.ts"
import { emitBalance, emitPosition } from "../events/PositionEvents.ts"
import * as Records from "../events/Records.ts"
import type { StepContext } from "../events/StepContext.ts"
import { noAccount, noSymbol, ownAccount } from "../sequencer/Lookup.ts"
import { positionOf } from "../state/MarketPosition.ts"
import type { Account, MarketPosition, MarketState } from "../state/State.ts"

const LEVERAGE = /^(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,2}0{0,16})?$/u
/** Parses a leverage of 1 or more with at most two decimal places. */
export const readLeverage = (text: string): Decimal.Scaled | undefined => {
  const leverage = LEVERAGE.test(text) ? Decimal.parse(text) : undefined
  return leverage === undefined || leverage < Decimal.ONE ? undefined : leverage
}

const AMOUNT = /^-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u

interface Found {
  readonly account: Account
  readonly market: MarketState
  /** absent where the account has never used the market; a refusal must not create it */
  readonly holding: MarketPosition | undefined
}

const find = (ctx: StepContext, command: Command, symbol: string): Found | CommandResult => {
  const market = ctx.state.marketOf.get(symbol)
  if (market === undefined) return noSymbol(command, symbol)
  const account = ownAccount(ctx.state, command)
  if (account === undefined) return noAccount(command)
  return { account, market, holding: account.holdings[market.index] }
}

const isRefusal = (value: object): value is CommandResult => "outcome" in value

/** Emits position and margins after a change, and acknowledges with the position. */
const announce = (
  ctx: StepContext,
  command: Command,
  holding: MarketPosition,
  amount: Decimal.Scaled
): CommandResult => {
  const { account } = holding
  const totals = Accounts.lazyTotals(account)
  emitPosition(ctx, holding, totals)
  emitBalance(
    ctx,
    account,
    undefined,
    () => ({ reason: BalanceReason.BALANCE_REASON_MARGIN, amount: Decimal.format(amount) }),
    totals
  )
  return unchanged(ctx, command, holding)
}

const unchanged = (ctx: StepContext, command: Command, holding: MarketPosition): CommandResult =>
  acknowledge(ctx, command, [], {
    result: { $case: "position", value: Records.position(holding, Accounts.totalsOf(holding.account)) }
  })

const insufficient = (command: Command, message: string, max?: Decimal.Scaled): CommandResult =>
  refuse(
    command,
    Code.FAILED_PRECONDITION,
    "InsufficientBalance",
    message,
    max === undefined ? {} : { max: Decimal.format(max) }
  )

/** Parses a leverage within the limits of the market and of the exposure's risk tier. */
const leverageOf = (command: Command, { holding, market }: Found, text: string): Decimal.Scaled | CommandResult => {
  if (!LEVERAGE.test(text)) return invalidField(command, "leverage", "leverage is a decimal with at most two places")
  const leverage = Decimal.parse(text)
  const tier = market.tiers[holding === undefined ? 0 : Accounts.figuresOf(holding).exposureTier]!
  const max = Decimal.min(Decimal.parse(market.market.max_leverage), Decimal.div(Decimal.ONE, tier.initialRate, "down"))
  if (leverage >= Decimal.ONE && leverage <= max) return leverage
  return refuse(
    command,
    Code.INVALID_ARGUMENT,
    "OutOfRange",
    `leverage must lie between 1 and ${Decimal.format(max)}`,
    {
      field: "leverage",
      min: "1",
      max: Decimal.format(max)
    }
  )
}

export const setLeverage = (ctx: StepContext, command: Command, request: SetLeverage): CommandResult => {
  const found = find(ctx, command, request.symbol)
  if (isRefusal(found)) return found
  const leverage = leverageOf(command, found, request.leverage)
  if (typeof leverage !== "bigint") return leverage
  const { account, market } = found
  const before = found.holding?.leverage ?? market.defaultLeverage
  if (leverage === before)
    return refuse(command, Code.FAILED_PRECONDITION, "LeverageUnchanged", "the leverage is set to this value already")
  const { free } = Accounts.totalsOf(account)
  const holding = positionOf(account, market)
  const set = (value: Decimal.Scaled) => {
    holding.leverage = value
    holding.figures = undefined
  }
  set(leverage)
  const left = Accounts.totalsOf(account).free
  const short = left < 0n && left < free
  if (short || (holding.isolated && holding.lots !== 0 && Accounts.excessMarginOf(holding) < 0n)) {
    set(before)
    return insufficient(command, "the margin does not cover the position at this leverage")
  }
  return announce(ctx, command, holding, 0n)
}

export const setMarginMode = (ctx: StepContext, command: Command, request: SetMarginMode): CommandResult => {
  const found = find(ctx, command, request.symbol)
  if (isRefusal(found)) return found
  const mode = request.margin_mode
  if (mode !== MarginMode.MARGIN_MODE_CROSS && mode !== MarginMode.MARGIN_MODE_ISOLATED)
    return invalidField(command, "margin_mode", "margin_mode is Cross or Isolated")
  const { account, market } = found
  const before = found.holding?.leverage ?? market.defaultLeverage
  const leverage = request.leverage === undefined ? before : leverageOf(command, found, request.leverage)
  if (typeof leverage !== "bigint") return leverage
  const isolated = mode === MarginMode.MARGIN_MODE_ISOLATED
  const same = isolated === (found.holding?.isolated ?? false) && leverage === before
  if (!same && found.holding !== undefined) {
    const { conditional, lots, orders } = found.holding
    if (lots !== 0) return refuse(command, Code.FAILED_PRECONDITION, "PositionExists", "close the position first")
    if (orders.size > 0 || conditional.size > 0)
      return refuse(command, Code.FAILED_PRECONDITION, "OpenOrdersExist", "cancel the open orders first")
  }
  // an unchanged mode does not create a position
  if (same) return unchanged(ctx, command, found.holding ?? positionOf({ ...account, holdings: [] }, market))
  const holding = positionOf(account, market)
  holding.isolated = isolated
  holding.leverage = leverage
  holding.figures = undefined
  return announce(ctx, command, holding, 0n)
}

/** Adds margin to an Isolated position, or (negative) removes it down to the initial margin. */
export const addMargin = (ctx: StepContext, command: Command, request: AddMargin): CommandResult => {
  const found = find(ctx, command, request.symbol)
  if (isRefusal(found)) return found
  const { account, holding } = found
  if (!AMOUNT.test(request.margin))
    return refuse(command, Code.INVALID_ARGUMENT, "InvalidDecimal", "margin is not a decimal string", {
      field: "margin"
    })
  const amount = request.margin.startsWith("-")
    ? -Decimal.parse(request.margin.slice(1))
    : Decimal.parse(request.margin)
  if (amount === 0n)
    return refuse(command, Code.INVALID_ARGUMENT, "OutOfRange", "margin must not be 0", { field: "margin" })
  if (holding === undefined || holding.lots === 0)
    return refuse(command, Code.NOT_FOUND, "PositionNotFound", "there is no position")
  if (!holding.isolated) return refuse(command, Code.FAILED_PRECONDITION, "NotIsolated", "the position is not isolated")
  const most = amount > 0n ? Accounts.withdrawableOf(account) : Decimal.max(0n, Accounts.excessMarginOf(holding))
  if (Decimal.abs(amount) > most) return insufficient(command, `only ${Decimal.format(most)} can be moved`, most)
  Accounts.credit(ctx.state, account, -amount)
  Accounts.creditIsolated(ctx.state, holding, amount)
  return announce(ctx, command, holding, -amount)
}
