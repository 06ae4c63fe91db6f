/** Checks whether a fill-or-kill order can be filled as a whole, before the match begins. */
import * as Decimal from "../../../domain/Decimal.ts"
import { CancelType, RejectReason, Side, SmpType } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { feeOf } from "../accounts/Fees.ts"
import { NONE as NO_ORDER, opposite } from "../book/OrderBook.ts"
import type { StepContext } from "../events/StepContext.ts"
import { units } from "../state/MarketPosition.ts"
import type { Account, Order } from "../state/State.ts"
import { CANNOT_AFFORD, isSelfTrade } from "./Fills.ts"

type SimulatedAccount = Accounts.AccountState & { readonly wallet: Decimal.Scaled }

export interface KillReason {
  readonly cancelType: CancelType
  readonly reason: RejectReason
  readonly message: string
}

/**
 * Simulates the match of a fill-or-kill order on copies of the affected positions. `undefined`: the whole quantity
 * would be filled.
 */
export const checkFillOrKill = ({ state }: StepContext, taker: Order): KillReason | undefined => {
  const { market } = taker.holding
  const { book } = market
  const simulated = new Map<Account, SimulatedAccount>()
  const simulatedOf = ({ account, holding }: Order): SimulatedAccount =>
    simulated.get(account) ?? {
      wallet: account.wallet,
      lots: holding.lots,
      entryValue: holding.entryValue,
      openFee: holding.openFee,
      isolatedMargin: holding.isolatedMargin,
      buyLots: holding.buyLots,
      buyUnits: holding.buyUnits,
      sellLots: holding.sellLots,
      sellUnits: holding.sellUnits
    }
  /** Takes lots of an order out of the open orders: they decide the tier, and so the margin that a fill locks. */
  const release = (order: Order, account: SimulatedAccount, lots: number): void => {
    if (!order.reduceOnly) Accounts.addReserved(account, order.side, order.ticks, -lots)
    simulated.set(order.account, account)
  }
  const notEnough: KillReason = {
    cancelType: CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
    reason: RejectReason.REJECT_REASON_EC_NO_ENOUGH_QTY_TO_FILL,
    message: "the book cannot fill the whole quantity"
  }
  /** The account after a fill; `undefined` if it could not afford the fill. */
  const after = (order: Order, ticks: number, lots: number, isMaker: boolean): SimulatedAccount | undefined => {
    const current = simulatedOf(order)
    const value = units(ticks, lots) * market.rules.unit
    const fee = feeOf(market, value, isMaker)
    const settlement = Accounts.settleFill(order.holding, current, order.side, lots, value, fee)
    const wallet = current.wallet + settlement.wallet
    if (!Accounts.coversMaintenance(order.holding, wallet, fee, settlement)) return undefined
    const { position, entryValue, openFee, isolatedMargin } = settlement.entry
    return { ...current, wallet, lots: Number(position), entryValue, openFee, isolatedMargin }
  }
  let leaves = taker.leaves
  for (let slot = book.first(opposite(taker.side)); slot !== NO_ORDER; slot = book.after(slot)) {
    const maker = state.orders.at(slot)
    const { ticks } = maker
    if (taker.side === Side.SIDE_BUY ? ticks > taker.ticks : ticks < taker.ticks) break
    if (isSelfTrade(taker, maker)) {
      if (taker.smp !== SmpType.SMP_TYPE_CANCEL_MAKER) return notEnough
      release(maker, simulatedOf(maker), maker.leaves)
      continue
    }
    let lots = Math.min(leaves, maker.leaves)
    if (maker.reduceOnly) lots = Math.min(lots, Accounts.closableLots(simulatedOf(maker).lots, maker.side))
    if (lots === 0) continue
    if (taker.reduceOnly && Accounts.closableLots(simulatedOf(taker).lots, taker.side) < lots) return notEnough
    const makerAfter = after(maker, ticks, lots, true)
    if (makerAfter === undefined) {
      release(maker, simulatedOf(maker), maker.leaves)
      continue
    }
    const takerAfter = after(taker, ticks, lots, false)
    if (takerAfter === undefined)
      return {
        cancelType: CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST,
        reason: RejectReason.REJECT_REASON_EC_NO_ERROR,
        message: CANNOT_AFFORD
      }
    release(maker, makerAfter, lots)
    release(taker, takerAfter, lots)
    leaves -= lots
    if (leaves === 0) return undefined
  }
  return notEnough
}
