/** `order`: place, amend, cancel and list. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Decimal } from "../../domain/Decimal.ts"
import type { Side } from "../../domain/Enumerations.ts"
import { isUuid, OrderLinkId } from "../../domain/Identity.ts"
import type { Order, OrderRef } from "../../domain/Order.ts"
import { optionally } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import { type Column, ofSide, show, table, time } from "../Show.ts"

const symbol = Argument.String("symbol").pipe(Argument.withDescription("Market, such as BTC-USDC"))
const oneMarket = Flag.String("symbol").pipe(Flag.withDescription("One market only"), Flag.optional)
export const subAccount = Flag.String("sub-account").pipe(
  Flag.withDescription("Address of the sub-account; default: the first one"),
  Flag.optional
)
const price = Flag.String("price").pipe(
  Flag.withDescription("Price in the quote asset"),
  Flag.withSchema(Decimal),
  Flag.optional
)
/** An order by the gateway's id or by the client's own. */
const order = Argument.String("order").pipe(Argument.withDescription("order_id, or your order_link_id"))
const nameOf = (text: string) => (isUuid(text) ? { order_id: text } : { order_link_id: text })

const sideOf = (side: "buy" | "sell"): Side => (side === "buy" ? "Buy" : "Sell")

export const printedRef =
  (what: string) =>
  ({ order_id, order_link_id }: OrderRef): string =>
    `${what} ${order_id}${order_link_id === "" ? "" : ` (${order_link_id})`}`

const create = Command.make(
  "create",
  {
    symbol,
    side: Argument.Literals("side", ["buy", "sell"]),
    qty: Argument.String("qty").pipe(
      Argument.withDescription("Quantity in the base asset"),
      Argument.withSchema(Decimal)
    ),
    price: price.pipe(Flag.withDescription("Limit price; without it the order is a market order")),
    timeInForce: Flag.Literals("time-in-force", ["GTC", "IOC", "FOK", "PostOnly"]).pipe(
      Flag.withDescription("Default: GTC, or IOC for a market order"),
      Flag.optional
    ),
    postOnly: Flag.Boolean("post-only").pipe(Flag.withDefault(false)),
    reduceOnly: Flag.Boolean("reduce-only").pipe(Flag.withDefault(false)),
    linkId: Flag.String("link-id").pipe(
      Flag.withDescription("Your own order reference; a retry with the same one never places a second order"),
      Flag.withSchema(OrderLinkId),
      Flag.optional
    ),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const ref = yield* client.order.create({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        side: sideOf(input.side),
        order_type: Option.isSome(input.price) ? "Limit" : "Market",
        qty: input.qty,
        ...optionally("price", input.price),
        ...optionally("time_in_force", input.timeInForce),
        ...optionally("order_link_id", input.linkId),
        ...(input.postOnly ? { post_only: true } : {}),
        ...(input.reduceOnly ? { reduce_only: true } : {})
      }
    })
    yield* show(ref, printedRef("accepted: order"))
  })
).pipe(
  Command.withDescription("Place an order; see its result with gateway order list --history"),
  Command.withExamples([
    { command: "gateway order create BTC-USDC buy 0.02 --price 60000 --link-id mine-1" },
    { command: "gateway order create BTC-USDC sell 0.02 --reduce-only", description: "Market order" }
  ])
)

const amend = Command.make(
  "amend",
  {
    symbol,
    order,
    price,
    qty: Flag.String("qty").pipe(Flag.withDescription("New total quantity"), Flag.withSchema(Decimal), Flag.optional),
    version: Flag.Int("if-version").pipe(
      Flag.withDescription("Amend only if the order has this version"),
      Flag.optional
    ),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const ref = yield* client.order.amend({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        ...nameOf(input.order),
        ...optionally("price", input.price),
        ...optionally("qty", input.qty),
        ...optionally("order_iv", input.version)
      }
    })
    yield* show(ref, printedRef("accepted: amend of order"))
  })
).pipe(
  Command.withDescription("Change the price or the total quantity of an order"),
  Command.withExamples([{ command: "gateway order amend BTC-USDC mine-1 --qty 0.015" }])
)

const cancel = Command.make("cancel", { symbol, order, subAccount }, (input) =>
  Effect.gen(function* () {
    const { client, wallet } = yield* Gateway.trader
    const ref = yield* client.order.cancel({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        ...nameOf(input.order)
      }
    })
    yield* show(ref, printedRef("accepted: cancel of order"))
  })
).pipe(Command.withDescription("Cancel an order"))

const cancelAll = Command.make("cancel-all", { symbol: oneMarket, subAccount }, (input) =>
  Effect.gen(function* () {
    const { client, wallet } = yield* Gateway.trader
    const { list } = yield* client.order.cancelAll({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        ...optionally("symbol", input.symbol)
      }
    })
    yield* show(list, (refs) => refs.map(printedRef("accepted: cancel of order")).join("\n") || "no open orders")
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

/** Maximum pages that one call reads; each page counts against the rate limit. */
const PAGES_MAX = 10

export const limit = Flag.Int("limit").pipe(
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
    history: Flag.Boolean("history").pipe(Flag.withDescription("Include final orders"), Flag.withDefault(false)),
    limit
  },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const list: Array<Order> = []
    let cursor = ""
    let pages = 0
    // with a filter, a page can be short although more follow
    do {
      const query = {
        limit: input.limit - list.length,
        ...optionally("symbol", input.symbol),
        ...optionally("side", Option.map(input.side, sideOf)),
        ...(cursor === "" ? {} : { cursor })
      }
      const page = yield* input.history ? client.order.history({ query }) : client.order.realtime({ query })
      list.push(...page.list)
      cursor = page.next_page_cursor
    } while (cursor !== "" && list.length < input.limit && ++pages < PAGES_MAX)
    yield* show(list, (orders, paint) => table(orders, columns, paint, input.history ? "no orders" : "no open orders"))
  })
).pipe(Command.withDescription("List open orders, newest first; with --history all orders"))

export const orders = Command.make("order").pipe(
  Command.withDescription("Place, amend, cancel and list orders"),
  Command.withSubcommands([create, amend, cancel, cancelAll, list])
)
