/** `order`: place, amend, cancel and list. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Decimal } from "../../domain/Decimal.ts"
import type { Side } from "../../domain/Enumerations.ts"
import { isUuid, OrderLinkId } from "../../domain/Identity.ts"
import type { Order, OrderRef } from "../../domain/Order.ts"
import * as Gateway from "../Gateway.ts"
import { type Column, ofSide, show, table, time } from "../Show.ts"

const symbol = Argument.String("symbol").pipe(Argument.withDescription("Market, such as BTC-USDC"))
const oneMarket = Flag.String("symbol").pipe(Flag.withDescription("One market only"), Flag.optional)
export const subAccount = Flag.String("sub-account").pipe(
  Flag.withDescription("Address of the sub-account; the first by default"),
  Flag.optional
)
const price = Flag.String("price").pipe(
  Flag.withDescription("In the quote asset"),
  Flag.withSchema(Decimal),
  Flag.optional
)
/** An order by the id that the gateway gave it, or by the one that you gave it. */
const order = Argument.String("order").pipe(Argument.withDescription("order_id, or your order_link_id"))
const nameOf = (text: string) => (isUuid(text) ? { order_id: text } : { order_link_id: text })

const sideOf = (side: "buy" | "sell"): Side => (side === "buy" ? "Buy" : "Sell")

const optionally = <K extends string, A>(key: K, value: Option.Option<A>) =>
  Option.isSome(value) ? ({ [key]: value.value } as { readonly [P in K]: A }) : {}

const printedRef =
  (what: string) =>
  ({ order_id, order_link_id }: OrderRef): string =>
    `${what} ${order_id}${order_link_id === "" ? "" : ` (${order_link_id})`}`

const create = Command.make(
  "create",
  {
    symbol,
    side: Argument.Literals("side", ["buy", "sell"]),
    qty: Argument.String("qty").pipe(Argument.withDescription("In the base asset"), Argument.withSchema(Decimal)),
    price: price.pipe(Flag.withDescription("A limit order at this price; without one a market order")),
    timeInForce: Flag.Literals("time-in-force", ["GTC", "IOC", "FOK", "PostOnly"]).pipe(
      Flag.withDescription("GTC, or IOC for a market order, by default"),
      Flag.optional
    ),
    postOnly: Flag.Boolean("post-only").pipe(Flag.withDefault(false)),
    reduceOnly: Flag.Boolean("reduce-only").pipe(Flag.withDefault(false)),
    linkId: Flag.String("link-id").pipe(
      Flag.withDescription("Your own reference: with one a retry never doubles an order"),
      Flag.withSchema(OrderLinkId),
      Flag.optional
    ),
    subAccount
  },
  (asked) =>
    Effect.gen(function* () {
      const { client, wallet } = yield* Gateway.trader
      const ref = yield* client.order.create({
        payload: {
          sub_account_address: Gateway.vaultOf(wallet, asked.subAccount),
          symbol: asked.symbol,
          side: sideOf(asked.side),
          order_type: Option.isSome(asked.price) ? "Limit" : "Market",
          qty: asked.qty,
          ...optionally("price", asked.price),
          ...optionally("time_in_force", asked.timeInForce),
          ...optionally("order_link_id", asked.linkId),
          ...(asked.postOnly ? { post_only: true } : {}),
          ...(asked.reduceOnly ? { reduce_only: true } : {})
        }
      })
      yield* show(ref, printedRef("in the sequence:"))
    })
).pipe(
  Command.withDescription("Place an order; gateway order list --history has the result"),
  Command.withExamples([
    { command: "gateway order create BTC-USDC buy 0.02 --price 60000 --link-id mine-1" },
    { command: "gateway order create BTC-USDC sell 0.02 --reduce-only", description: "At the market" }
  ])
)

const amend = Command.make(
  "amend",
  {
    symbol,
    order,
    price,
    qty: Flag.String("qty").pipe(Flag.withDescription("The new total"), Flag.withSchema(Decimal), Flag.optional),
    version: Flag.Int("if-version").pipe(Flag.withDescription("Only if the order is at this version"), Flag.optional),
    subAccount
  },
  (asked) =>
    Effect.gen(function* () {
      const { client, wallet } = yield* Gateway.trader
      const ref = yield* client.order.amend({
        payload: {
          sub_account_address: Gateway.vaultOf(wallet, asked.subAccount),
          symbol: asked.symbol,
          ...nameOf(asked.order),
          ...optionally("price", asked.price),
          ...optionally("qty", asked.qty),
          ...optionally("order_iv", asked.version)
        }
      })
      yield* show(ref, printedRef("amend in the sequence:"))
    })
).pipe(
  Command.withDescription("Change price or total quantity of an order"),
  Command.withExamples([{ command: "gateway order amend BTC-USDC mine-1 --qty 0.015" }])
)

const cancel = Command.make("cancel", { symbol, order, subAccount }, (asked) =>
  Effect.gen(function* () {
    const { client, wallet } = yield* Gateway.trader
    const ref = yield* client.order.cancel({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, asked.subAccount),
        symbol: asked.symbol,
        ...nameOf(asked.order)
      }
    })
    yield* show(ref, printedRef("cancel in the sequence:"))
  })
).pipe(Command.withDescription("Cancel an order"))

const cancelAll = Command.make("cancel-all", { symbol: oneMarket, subAccount }, (asked) =>
  Effect.gen(function* () {
    const { client, wallet } = yield* Gateway.trader
    const { list } = yield* client.order.cancelAll({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, asked.subAccount),
        ...optionally("symbol", asked.symbol)
      }
    })
    yield* show(list, (refs) => refs.map(printedRef("cancel in the sequence:")).join("\n") || "no open orders")
  })
).pipe(Command.withDescription("Cancel all open orders of a sub-account"))

const columns: ReadonlyArray<Column<Order>> = [
  { title: "ORDER", of: ({ order_id, order_link_id }) => order_link_id ?? order_id },
  { title: "MARKET", of: (order) => order.symbol },
  { title: "SIDE", of: ({ side }) => side, colour: ofSide },
  { title: "TYPE", of: ({ order_type }) => order_type },
  { title: "QTY", right: true, of: ({ qty }) => qty },
  { title: "FILLED", right: true, of: ({ cum_exec_qty }) => cum_exec_qty },
  { title: "PRICE", right: true, of: (order) => (order.price === "0" ? "market" : order.price) },
  { title: "STATUS", of: ({ order_status }) => order_status },
  { title: "VERSION", right: true, of: ({ version }) => version },
  { title: "CREATED", of: ({ created_time }) => time(Number(created_time)) }
]

/** Pages that one call reads at most: each is a request of the rate. */
const PAGES_MAX = 10

const limit = Flag.Int("limit").pipe(
  Flag.withDescription("Rows, 1 to 200"),
  Flag.filter(
    (rows) => rows >= 1 && rows <= 200,
    () => "expected 1 to 200"
  ),
  Flag.withDefault(50)
)

const list = Command.make(
  "list",
  {
    symbol: oneMarket,
    side: Flag.Literals("side", ["buy", "sell"]).pipe(Flag.withDescription("One side only"), Flag.optional),
    history: Flag.Boolean("history").pipe(Flag.withDescription("Final ones too"), Flag.withDefault(false)),
    limit
  },
  (asked) =>
    Effect.gen(function* () {
      const { client } = yield* Gateway.trader
      const list: Array<Order> = []
      let cursor = ""
      let pages = 0
      // a filter may leave a page short though more follow
      do {
        const query = {
          limit: asked.limit - list.length,
          ...optionally("symbol", asked.symbol),
          ...optionally("side", Option.map(asked.side, sideOf)),
          ...(cursor === "" ? {} : { cursor })
        }
        const page = yield* asked.history ? client.order.history({ query }) : client.order.realtime({ query })
        list.push(...page.list)
        cursor = page.next_page_cursor
      } while (cursor !== "" && list.length < asked.limit && ++pages < PAGES_MAX)
      yield* show(list, (orders, paint) =>
        table(orders, columns, paint, asked.history ? "no orders" : "no open orders")
      )
    })
).pipe(Command.withDescription("List open orders, newest first; with --history all"))

export const orders = Command.make("order").pipe(
  Command.withDescription("Place, amend, cancel and list orders"),
  Command.withSubcommands([create, amend, cancel, cancelAll, list])
)
