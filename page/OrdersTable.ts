/** Open orders: prices and sizes change in place; conditional orders show their trigger, exits which leg they are. */
import type { Order } from "../src/domain/Order.ts"
import { type AccountView, bySide, rowButton } from "./AccountView.ts"
import { amendOrder } from "./AmendOrder.ts"
import { editableCell } from "./EditableCell.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import { isExit, kindOf, statusOf, triggerOf } from "../src/domain/OrderWords.ts"
import { type Table, table } from "./Table.ts"

const isAmendable = ({ order_status }: Order): boolean => order_status !== "CancelRequested"

const newestFirst = (orders: ReadonlyArray<Order>): ReadonlyArray<Order> =>
  [...orders].sort((a, b) => Number(b.created_time) - Number(a.created_time) || (a.order_id < b.order_id ? 1 : -1))

/** The open orders that the table shows. */
export const shownOrders = ({ market, onlyHere, session }: AccountView): ReadonlyArray<Order> =>
  newestFirst(session.own(session.account.value.orders)).filter(
    ({ symbol }) => !onlyHere.value || symbol === market.symbol
  )

export const ordersTable = (view: AccountView): Table<Order> => {
  const { market, price, qty, session } = view
  const exits = ({ symbol, tpsl }: Order): string => {
    const [profit, loss] = [tpsl?.take_profit, tpsl?.stop_loss].map((leg) => leg?.market.trigger_price ?? "")
    return profit === "" && loss === "" ? "–" : `${price(symbol, profit!)} / ${price(symbol, loss!)}`
  }
  const list = table<Order>(
    [
      { head: "Time", of: ({ created_time }) => Format.clock(Number(created_time)) },
      { head: "Market", of: ({ symbol }) => symbol },
      { head: "Side", of: ({ side }) => side, tone: bySide },
      { head: "Type", of: kindOf },
      {
        head: "Price",
        cell: editableCell<Order>({
          label: "Price",
          text: (order) => (order.order_type === "Market" ? "Market" : price(order.symbol, order.price)),
          value: (order) => order.price,
          can: (order) => order.order_type === "Limit" && isAmendable(order),
          save: (order, value) => amendOrder(session, order, { price: value })
        })
      },
      {
        head: "Size",
        cell: editableCell<Order>({
          label: "Size",
          text: (order) => qty(order.symbol, order.qty),
          value: (order) => order.qty,
          can: (order) => !isExit(order) && isAmendable(order),
          save: (order, value) => amendOrder(session, order, { qty: value })
        })
      },
      { head: "Filled", of: (order) => qty(order.symbol, order.cum_exec_qty) },
      {
        head: "Trigger",
        cell: editableCell<Order>({
          label: "Trigger price",
          text: (order) => triggerOf(order, (text) => price(order.symbol, text)) || "–",
          value: (order) => order.trigger?.trigger_price ?? "",
          can: (order) => order.order_status === "Untriggered",
          save: (order, value) => amendOrder(session, order, { trigger: { trigger_price: value } })
        })
      },
      { head: "TP / SL", of: exits },
      { head: "Status", of: statusOf }
    ],
    ({ order_id }) => order_id,
    "No open orders.",
    [
      (order) =>
        rowButton("Cancel", `Cancel the order of ${order().qty} ${order().symbol}`, async () => {
          const { order_id, sub_account_address, symbol } = order()
          await session.api().cancel({ sub_account_address, symbol, order_id })
        })
    ]
  )
  drawn([session.account, session.user, market.instrument, view.onlyHere], () => list.show(shownOrders(view)))
  return list
}
