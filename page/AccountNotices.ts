/** Shows the notices of the account, and warnings on the way to a liquidation. */
import { alert } from "./Alerts.ts"
import { accountView } from "./AccountView.ts"
import { drawn } from "./Frame.ts"
import type { Market } from "./Market.ts"
import { ENDED, type Notice, Notices } from "./Notices.ts"
import { RiskWarnings } from "./RiskWarnings.ts"
import type { Session } from "./Session.ts"
import { dismiss, notify } from "./Toasts.ts"

export const mount = (market: Market, session: Session): void => {
  const view = accountView(market, session)
  const notices = new Notices(view)
  const warnings = new RiskWarnings(view)
  const show = (notice: Notice): void => {
    notify(notice)
    alert(notice)
  }
  session.listen((event) => {
    for (const notice of notices.of(event)) show(notice)
  })
  drawn([session.account, session.user, market.tickers], () => {
    const { begun, over } = warnings.of(session.own(session.account.value.positions), view.markOf)
    for (const key of over) dismiss(key)
    for (const notice of begun) show(notice)
  })
  drawn([session.user], () => {
    if (session.user.value !== undefined) dismiss(ENDED)
  })
}
