/** The user's positions, open orders and fills, live, with buttons to close and to cancel. */
import { HashMap } from "effect"
import type { Execution } from "../src/domain/Execution.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"
import { keyOf } from "../src/client/Account.ts"
import { h, place, type Row, rows, setAttribute, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import type { Market } from "./Market.ts"
import { whileBusy, toast } from "./Toasts.ts"
import type { Session } from "./Session.ts"

const tabs = ["Positions", "Orders", "Fills"] as const
type Tab = (typeof tabs)[number]

/** A column: its heading, the text of a record and its colour. */
interface Column<A> {
  readonly head: string
  readonly of: (record: A) => string
  readonly tone?: (record: A) => "up" | "down" | undefined
}

const bySide = ({ side }: { readonly side: string }): "up" | "down" => (side === "Buy" ? "up" : "down")
const byGain = (text: string): "up" | "down" | undefined =>
  /^-?0?(?:\.0*)?$/u.test(text) ? undefined : Format.isNegative(text) ? "down" : "up"

/** A table of records; each row ends with its action. */
const table = <A>(
  columns: ReadonlyArray<Column<A>>,
  key: (record: A) => string,
  action: ((record: () => A) => HTMLElement) | undefined,
  none: string
) => {
  const body = h("tbody")
  const empty = h("p", { class: "empty" }, none)
  const heads = [...columns.map(({ head }) => head), ...(action === undefined ? [] : [""])]
  const element = h(
    "div",
    { class: "scroll" },
    h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))), body),
    empty
  )
  const make = (first: A): Row<A> => {
    let record = first
    const cells = columns.map(({ head }) => h("td", { "data-head": head }))
    const row = h(
      "tr",
      {},
      ...cells,
      ...(action === undefined
        ? []
        : [
            h(
              "td",
              { class: "act" },
              action(() => record)
            )
          ])
    )
    const show = (next: A): void => {
      record = next
      for (const [i, { of, tone }] of columns.entries()) {
        setText(cells[i]!, of(record))
        const is = tone?.(record)
        setClass(cells[i]!, "up", is === "up")
        setClass(cells[i]!, "down", is === "down")
      }
    }
    return { element: row, show }
  }
  const show = rows(body, key, make)
  return {
    element,
    show: (list: ReadonlyArray<A>) => {
      show(list)
      empty.hidden = list.length > 0
    }
  }
}

const newestFirst = (orders: Iterable<Order>): ReadonlyArray<Order> =>
  [...orders].sort((a, b) => Number(b.created_time) - Number(a.created_time) || (a.order_id < b.order_id ? 1 : -1))

export const mount = (market: Market, session: Session): void => {
  const tab = new Live<Tab>("Positions")
  const places = (symbol: string): { readonly price: number; readonly qty: number } => {
    const found = market.instruments.find((each) => each.symbol === symbol)
    if (found === undefined) return { price: 2, qty: 3 }
    return {
      price: Format.placesOf(found.price_filter.tick_size),
      qty: Format.placesOf(found.lot_size_filter.qty_step)
    }
  }
  const price = (symbol: string, text: string): string =>
    text === "" || text === "0" ? "–" : Format.grouped(text, places(symbol).price)
  const qty = (symbol: string, text: string): string => Format.grouped(text, places(symbol).qty)

  const button = (label: string, name: string, act: () => Promise<void>): HTMLButtonElement => {
    const made: HTMLButtonElement = h(
      "button",
      { type: "button", class: "quiet", "aria-label": name, onclick: () => whileBusy(made, act) },
      label
    )
    return made
  }
  const close = (position: () => Position): HTMLElement =>
    button("Close", `Close the position in ${position().symbol}`, async () => {
      const { side, sub_account_address, symbol } = position()
      await session.api().create({
        sub_account_address,
        symbol,
        side: side === "Buy" ? "Sell" : "Buy",
        order_type: "Market",
        // 0 closes the whole position, whatever its size is at execution
        qty: "0",
        reduce_only: true,
        close_on_trigger: true
      })
    })
  const cancel = (order: () => Order): HTMLElement =>
    button("Cancel", `Cancel the order of ${order().qty} ${order().symbol}`, async () => {
      const { order_id, sub_account_address, symbol } = order()
      await session.api().cancel({ sub_account_address, symbol, order_id })
    })

  const positions = table<Position>(
    [
      { head: "Market", of: ({ symbol }) => symbol },
      { head: "Side", of: ({ side }) => (side === "Buy" ? "Long" : "Short"), tone: bySide },
      { head: "Size", of: ({ size, symbol }) => qty(symbol, size) },
      { head: "Entry", of: ({ avg_price, symbol }) => price(symbol, avg_price) },
      {
        head: "Mark",
        of: ({ mark_price, symbol }) => price(symbol, market.tickers.value.get(symbol)?.mark_price ?? mark_price)
      },
      {
        head: "Unrealised P&L",
        of: ({ unrealised_pnl }) => Format.gain(unrealised_pnl),
        tone: ({ unrealised_pnl }) => byGain(unrealised_pnl)
      },
      {
        head: "Realised P&L",
        of: ({ cur_realised_pnl }) => Format.gain(cur_realised_pnl),
        tone: ({ cur_realised_pnl }) => byGain(cur_realised_pnl)
      },
      { head: "Margin", of: ({ leverage, position_im }) => `${Format.money(position_im)} at ${leverage}×` },
      { head: "Liquidation", of: ({ liq_price, symbol }) => price(symbol, liq_price) },
      { head: "ADL", of: ({ adl_rank_indicator }) => `${adl_rank_indicator} of 5` }
    ],
    keyOf,
    close,
    "No open positions."
  )
  const orders = table<Order>(
    [
      { head: "Time", of: ({ created_time }) => Format.clock(Number(created_time)) },
      { head: "Market", of: ({ symbol }) => symbol },
      { head: "Side", of: ({ side }) => side, tone: bySide },
      {
        head: "Type",
        of: ({ order_type, post_only, reduce_only }) =>
          `${order_type}${post_only ? ", post only" : ""}${reduce_only ? ", reduce only" : ""}`
      },
      { head: "Price", of: (order) => price(order.symbol, order.price) },
      { head: "Size", of: (order) => qty(order.symbol, order.qty) },
      { head: "Filled", of: (order) => qty(order.symbol, order.cum_exec_qty) },
      { head: "Status", of: ({ order_status }) => order_status }
    ],
    ({ order_id }) => order_id,
    cancel,
    "No open orders."
  )
  const fills = table<Execution>(
    [
      { head: "Time", of: ({ exec_time }) => Format.clock(Number(exec_time)) },
      { head: "Market", of: ({ symbol }) => symbol },
      { head: "Side", of: ({ side }) => side, tone: bySide },
      { head: "Price", of: (fill) => price(fill.symbol, fill.exec_price) },
      { head: "Size", of: (fill) => qty(fill.symbol, fill.exec_qty) },
      { head: "Value", of: ({ exec_value }) => Format.money(exec_value) },
      { head: "Fee", of: ({ base_fee }) => Format.grouped(base_fee, 4) },
      {
        head: "Role",
        of: ({ exec_type, is_maker }) => (exec_type === "Trade" ? (is_maker ? "maker" : "taker") : exec_type)
      }
    ],
    ({ exec_id }) => exec_id,
    undefined,
    "No fills yet."
  )
  const lists = { Positions: positions, Orders: orders, Fills: fills }

  const heads = tabs.map((name) => {
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
      name,
      " ",
      count
    )
    return { name, head, count }
  })
  const bar = h("div", { class: "bar" })
  const tablist = h(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Account" },
    ...heads.map(({ head }) => head)
  )
  tablist.addEventListener("keydown", ({ key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key]
    if (step === undefined) return
    const next = heads[(tabs.indexOf(tab.value) + step + tabs.length) % tabs.length]!
    tab.set(next.name)
    next.head.focus()
  })
  const cancelAll = button("Cancel all", "Cancel all orders", async () => {
    const { user } = session
    if (user.value === undefined) return
    const { list } = await session.api().cancelAll({ sub_account_address: user.value.address })
    toast("plain", list.length === 1 ? "Canceling 1 order" : `Canceling ${list.length} orders`)
  })
  bar.append(tablist, cancelAll)
  const panels = tabs.map((name) =>
    h(
      "div",
      { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" },
      lists[name].element
    )
  )
  place("account-tables").append(bar, ...panels)

  drawn([tab], () => {
    for (const [i, { head, name }] of heads.entries()) {
      setAttribute(head, "aria-selected", String(name === tab.value))
      head.tabIndex = name === tab.value ? 0 : -1
      panels[i]!.hidden = name !== tab.value
    }
  })
  drawn([session.account, session.fills, market.tickers], () => {
    const { orders: open, positions: held } = session.account.value
    const lengths = [HashMap.size(held), HashMap.size(open), session.fills.value.length]
    for (const [i, { count }] of heads.entries()) setText(count, lengths[i] === 0 ? "" : String(lengths[i]))
    positions.show([...HashMap.values(held)])
    orders.show(newestFirst(HashMap.values(open)))
    fills.show(session.fills.value)
    cancelAll.hidden = HashMap.size(open) === 0
  })
}
