/** The data of the feeds as the order form and the dialogs need it. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { DraftContext } from "./OrderDraft.ts"
import { type AccountState, tiersOf } from "./OrderPreview.ts"
import type { Market } from "./Market.ts"
import type { Session } from "./Session.ts"

/** The account in one market; `undefined`: signed out, or not loaded yet. */
export const accountState = (market: Market, session: Session, symbol = market.symbol): AccountState | undefined => {
  const [balance, ticker] = [session.balance(), market.tickers.value.get(symbol)]
  const setting = session.settings.value.get(symbol)
  if (balance === undefined || ticker === undefined || setting === undefined) return undefined
  return {
    available: Decimal.parse(balance.available_balance),
    wallet: Decimal.parse(balance.wallet_balance),
    positions: session.own(session.account.value.positions),
    orders: session.own(session.account.value.orders),
    leverage: Decimal.parse(setting.leverage),
    mode: setting.margin_mode,
    mark: Decimal.parse(ticker.mark_price)
  }
}

/** Market and account of the order form. */
export const draftContext = (market: Market, session: Session): DraftContext => ({
  instrument: market.instrument.value,
  tiers: tiersOf(market.tiers.filter(({ symbol }) => symbol === market.symbol)),
  bids: market.book.value?.bids() ?? [],
  asks: market.book.value?.asks() ?? [],
  ticker: market.ticker,
  account: accountState(market, session)
})
