/** The account below the chart: positions, open orders and the histories, each on a tab. */
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import { accountView } from "./AccountView.ts"
import { check } from "./Controls.ts"
import { h, place, setAttribute, setText } from "./Dom.ts"
import { drawn, Live, onFrame } from "./Frame.ts"
import {
  closedPnlHistory,
  fillHistory,
  fundingHistory,
  type History,
  moneyHistory,
  orderHistory
} from "./HistoryTables.ts"
import type { Market } from "./Market.ts"
import { ordersTable, shownOrders } from "./OrdersTable.ts"
import { positionsTable } from "./PositionsTable.ts"
import { toast, whileBusy } from "./Toasts.ts"
import type { Session } from "./Session.ts"

const tabs = {
  Positions: "Positions",
  Orders: "Open orders",
  History: "Order history",
  Fills: "Fills",
  Closed: "Closed PnL",
  Funding: "Funding",
  Money: "Transactions"
} as const
type Tab = keyof typeof tabs
const names = Object.keys(tabs) as ReadonlyArray<Tab>

/** Pause between two refreshes of the history that is shown, in ms. */
const REFRESH_MS = 1_000

/** Whether an event of the private feed changes a history. */
const changes = (event: FeedEvent): boolean =>
  ((event.kind === "order" || event.kind === "execution" || event.kind === "account_balance") &&
    event.data.type === "update") ||
  (event.kind === "resume" && !event.recovered)

export const mount = (market: Market, session: Session): void => {
  const view = accountView(market, session)
  const tab = new Live<Tab>("Positions")
  const histories: Partial<Record<Tab, History>> = {
    History: orderHistory(view),
    Fills: fillHistory(view),
    Closed: closedPnlHistory(view),
    Funding: fundingHistory(view),
    Money: moneyHistory(view)
  }
  const lists = { Positions: positionsTable(view), Orders: ordersTable(view), ...histories }

  const heads = names.map((name) => {
    const count = h("span", { class: "count" })
    const head = h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": `panel-${name}`,
        onclick: () => tab.set(name)
      },
      tabs[name],
      " ",
      count
    )
    return { name, head, count }
  })
  const tablist = h(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Account" },
    ...heads.map(({ head }) => head)
  )
  tablist.addEventListener("keydown", ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key]
    if (step === undefined) return
    const next = heads[(names.indexOf(tab.value) + step + names.length) % names.length]!
    tab.set(next.name)
    next.head.focus()
  })
  const onlyHere = check("only-here", "", (is) => view.onlyHere.set(is))
  const onlyHereText = h("span")
  onlyHere.element.append(onlyHereText)
  /** The market of all shown orders; `undefined`: they are of several. */
  const marketOfAll = (): string | undefined => {
    const symbols = new Set(shownOrders(view).map(({ symbol }) => symbol))
    return symbols.size === 1 ? [...symbols][0] : undefined
  }
  const cancelAll = h("button", { type: "button", class: "quiet", onclick: () => whileBusy(cancelAll, cancel) })
  const cancel = async (): Promise<void> => {
    const { user } = session
    const symbol = marketOfAll()
    if (user.value === undefined) return
    const { list } = await session
      .api()
      .cancelAll({ sub_account_address: user.value.address, ...(symbol === undefined ? {} : { symbol }) })
    const count = list.length === 1 ? "1 order" : `${list.length} orders`
    toast("plain", `Canceling ${count} of ${symbol ?? "all markets"}`)
  }
  const tools = h("div", { class: "tools" }, onlyHere.element, cancelAll)
  const panels = names.map((name) =>
    h(
      "div",
      { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" },
      lists[name]!.element
    )
  )
  place("account-tables").append(h("div", { class: "bar" }, tablist, tools), ...panels)

  drawn([tab], () => {
    for (const [i, { head, name }] of heads.entries()) {
      setAttribute(head, "aria-selected", String(name === tab.value))
      head.tabIndex = name === tab.value ? 0 : -1
      panels[i]!.hidden = name !== tab.value
    }
    histories[tab.value]?.refresh()
  })
  drawn([session.account, session.fills, session.user, market.instrument, view.onlyHere, tab], () => {
    const { orders, positions } = session.account.value
    const lengths = {
      Positions: session.own(positions).length,
      Orders: session.own(orders).length,
      Fills: session.fills.value.length
    }
    for (const { count, name } of heads) {
      const length = name in lengths ? lengths[name as keyof typeof lengths] : 0
      setText(count, length === 0 ? "" : String(length))
    }
    setText(onlyHereText, `Only ${market.symbol}`)
    onlyHere.element.hidden = tab.value !== "Positions" && tab.value !== "Orders"
    const shown = shownOrders(view).length
    cancelAll.hidden = tab.value !== "Orders" || shown < 2
    setText(cancelAll, `Cancel all ${shown} of ${marketOfAll() ?? "all markets"}`)
  })

  // the histories of another user are not shown, not even for a moment
  drawn([session.user], () => {
    for (const history of Object.values(histories)) history.reset()
    histories[tab.value]?.refresh()
  })
  let isDue = false
  session.listen((event) => {
    if (!changes(event) || isDue) return
    isDue = true
    setTimeout(() => {
      isDue = false
      onFrame(() => histories[tab.value]?.refresh())
    }, REFRESH_MS)
  })
}
