/** `order` and `fills`: place, amend, cancel and list orders, with what became of them. */
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Decimal } from "../../domain/Decimal.ts"
import type { Side } from "../../domain/Enumerations.ts"
import type { Client } from "../../client/Client.ts"
import type { Execution } from "../../domain/Execution.ts"
import { isUuid, OrderLinkId } from "../../domain/Identity.ts"
import type { Order, OrderRef } from "../../domain/Order.ts"
import { BATCH_ORDERS_MAX } from "../../domain/OrderForm.ts"
import { type Figures, outcomeOf, statusOf } from "../../domain/OrderWords.ts"
import { LIMIT_DEFAULT, LIMIT_MAX } from "../../domain/Page.ts"
import { type BatchResult, type BatchResults, CreateBatchBody } from "../../http/api/OrderBodies.ts"
import { CliError, OutputFinished } from "../ErrorOutput.ts"
import { bodyOf, file, optionally } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import * as Live from "../Live.ts"
import { type Column, ofSide, type Paint, show, table, time } from "../Show.ts"

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

/** The command line is written in lower case; the API's own words, which tables show, are accepted as well. */
const SIDES = ["buy", "sell", "Buy", "Sell"] as const
const sideOf = (side: (typeof SIDES)[number]): Side => (side === "buy" || side === "Buy" ? "Buy" : "Sell")

const printedRef =
  (what: string) =>
  ({ order_id, order_link_id }: { readonly order_id: string; readonly order_link_id: string }): string =>
    `${what} ${order_id}${order_link_id === "" ? "" : ` (${order_link_id})`}`

/** Prices, quantities and profits as the API has them. */
const asTheyAre: Figures = {
  price: (_symbol, text) => text,
  qty: (_symbol, text) => text,
  gain: (text) => (text.startsWith("-") || text === "0" ? text : `+${text}`)
}
const outcomeText = (order: Order, paint: Paint): string => {
  const { text, tone } = outcomeOf(order, asTheyAre) ?? { text: statusOf(order), tone: "plain" }
  if (tone === "good") return paint.green(text)
  return tone === "plain" ? text : paint.red(text)
}

/**
 * Prints an accepted command and what became of its order. The gateway answers reads after it with the events of the command
 * (docs/contract/orders.md#acknowledgement). The command was accepted, so an error of the read fails nothing; an order that
 * the exchange rejected at its turn does.
 */
export const showOutcome = Effect.fnUntraced(function* (what: string, client: Client, ref: OrderRef) {
  const { order_id } = ref
  const read = Effect.option(client.order.history({ query: { order_id, limit: 1 } }))
  const order = Option.getOrUndefined(yield* read)?.list[0]
  yield* show({ ...ref, ...(order === undefined ? {} : { order }) }, (_, paint) =>
    [
      printedRef(what)(ref),
      order === undefined ? "its state cannot be read now; see gateway order list --history" : outcomeText(order, paint)
    ].join("\n")
  )
  if (order?.order_status === "Rejected") return yield* new OutputFinished()
})

const triggerBy = Flag.Literals("trigger-by", ["last", "mark", "index"]).pipe(
  Flag.withDescription("Price that the trigger, take-profit and stop-loss watch; default: last"),
  Flag.optional
)
const references = { last: "LastPrice", mark: "MarkPrice", index: "IndexPrice" } as const
const trigger = Flag.String("trigger").pipe(
  Flag.withDescription("Trigger price: the order waits until the market reaches it"),
  Flag.withSchema(Decimal),
  Flag.optional
)
const leg = (name: string) => Flag.String(name).pipe(Flag.withSchema(Decimal), Flag.optional)
const exitFlags = {
  takeProfit: leg("take-profit").pipe(Flag.withDescription("Closes the position with a profit at this price")),
  stopLoss: leg("stop-loss").pipe(Flag.withDescription("Closes the position with a loss at this price"))
}

interface TriggerFlags {
  readonly trigger: Option.Option<string>
  readonly takeProfit: Option.Option<string>
  readonly stopLoss: Option.Option<string>
  readonly triggerBy: Option.Option<keyof typeof references>
}
/** Trigger and exits of a request, from their flags. */
const triggersOf = ({ stopLoss, takeProfit, trigger, triggerBy }: TriggerFlags) => {
  const by = optionally(
    "trigger_by",
    Option.map(triggerBy, (name) => references[name])
  )
  const at = (trigger_price: string) => ({ trigger_price, ...by })
  const legs = {
    ...optionally(
      "take_profit",
      Option.map(takeProfit, (price) => ({ market: at(price) }))
    ),
    ...optionally(
      "stop_loss",
      Option.map(stopLoss, (price) => ({ market: at(price) }))
    )
  }
  return {
    ...optionally("trigger", Option.map(trigger, at)),
    ...(Object.keys(legs).length === 0 ? {} : { tpsl: legs })
  }
}

const usage = (message: string) => new CliError({ code: "USAGE", message, hint: "see gateway order create --help" })

/** A flag of a new order that has no effect beside the others: the order would be another one than the caller means. */
const ineffective = (
  input: TriggerFlags & { readonly timeInForce: Option.Option<string>; readonly expiresIn: Option.Option<number> }
): CliError | undefined => {
  const { expiresIn, stopLoss, takeProfit, timeInForce, trigger, triggerBy } = input
  if (Option.isSome(triggerBy) && [trigger, takeProfit, stopLoss].every(Option.isNone))
    return usage("--trigger-by: expected --trigger, --take-profit or --stop-loss with it, got none of them")
  if (Option.isSome(expiresIn) && Option.isSome(timeInForce))
    return usage(
      `--time-in-force: expected none with --expires-in, which makes the order GTT, got ${timeInForce.value}`
    )
  return undefined
}

const create = Command.make(
  "create",
  {
    symbol,
    side: Argument.Literals("side", SIDES).pipe(Argument.withDescription("buy or sell")),
    qty: Argument.String("qty").pipe(
      Argument.withDescription("Quantity in the base asset"),
      Argument.withSchema(Decimal)
    ),
    price: price.pipe(Flag.withDescription("Limit price; without it the order is a market order")),
    timeInForce: Flag.Literals("time-in-force", ["GTC", "IOC", "FOK", "PostOnly"]).pipe(
      Flag.withDescription("Default: GTC, or IOC for a market order"),
      Flag.optional
    ),
    expiresIn: Flag.Int("expires-in").pipe(
      Flag.withDescription("Seconds after which the order expires (good till time)"),
      Flag.optional
    ),
    trigger,
    ...exitFlags,
    triggerBy,
    postOnly: Flag.Boolean("post-only").pipe(
      Flag.withDescription("Only add liquidity, else be canceled"),
      Flag.withDefault(false)
    ),
    reduceOnly: Flag.Boolean("reduce-only").pipe(
      Flag.withDescription("Only reduce a position"),
      Flag.withDefault(false)
    ),
    linkId: Flag.String("link-id").pipe(
      Flag.withDescription("Your own order reference; a retry with the same one never places a second order"),
      Flag.withSchema(OrderLinkId),
      Flag.optional
    ),
    subAccount
  },
  Effect.fnUntraced(function* (input) {
    const wrong = ineffective(input)
    if (wrong !== undefined) return yield* wrong
    const { client, wallet } = yield* Gateway.trader
    const now = yield* Clock.currentTimeMillis
    const ref = yield* client.order.create({
      payload: {
        sub_account_address: Gateway.vaultOf(wallet, input.subAccount),
        symbol: input.symbol,
        side: sideOf(input.side),
        order_type: Option.isSome(input.price) ? "Limit" : "Market",
        qty: input.qty,
        ...optionally("price", input.price),
        ...optionally("time_in_force", input.timeInForce),
        ...(Option.isSome(input.expiresIn)
          ? { time_in_force: "GTT" as const, expire_time: now + 1_000 * input.expiresIn.value }
          : {}),
        ...triggersOf(input),
        ...optionally("order_link_id", input.linkId),
        ...(input.postOnly ? { post_only: true } : {}),
        ...(input.reduceOnly ? { reduce_only: true } : {})
      }
    })
    yield* showOutcome("accepted: order", client, ref)
  })
).pipe(
  Command.withDescription("Place an order, and show what became of it"),
  Command.withExamples([
    { command: "gateway order create BTC-USDC buy 0.02 --price 60000 --link-id mine-1" },
    { command: "gateway order create BTC-USDC sell 0.02 --reduce-only", description: "Market order" },
    { command: "gateway order create BTC-USDC sell 0.02 --trigger 58000 --trigger-by mark", description: "Stop order" }
  ])
)

const amend = Command.make(
  "amend",
  {
    symbol,
    order,
    price,
    qty: Flag.String("qty").pipe(Flag.withDescription("New total quantity"), Flag.withSchema(Decimal), Flag.optional),
    trigger,
    takeProfit: leg("take-profit").pipe(Flag.withDescription("New take-profit; 0 removes it")),
    stopLoss: leg("stop-loss").pipe(Flag.withDescription("New stop-loss; 0 removes it")),
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
        ...triggersOf({ ...input, triggerBy: Option.none() }),
        ...optionally("order_iv", input.version)
      }
    })
    yield* showOutcome("accepted: amend of order", client, ref)
  })
).pipe(
  Command.withDescription("Change price, total quantity, trigger or exits of an order"),
  Command.withExamples([{ command: "gateway order amend BTC-USDC mine-1 --qty 0.015" }])
)

const resultColumns: ReadonlyArray<Column<BatchResult>> = [
  { title: "ORDER", of: ({ order_id, order_link_id }) => order_link_id || (order_id ?? "") },
  { title: "RESULT", of: ({ code }) => code, colour: ({ code }, paint) => (code === "OK" ? paint.green : paint.red) },
  { title: "", of: ({ message }) => message }
]
/** Prints the results of a batch; fails if an order of it failed. */
const showBatch = Effect.fnUntraced(function* ({ list }: typeof BatchResults.Type) {
  yield* show(list, (results, paint) => table(results, resultColumns, paint))
  if (list.some(({ code }) => code !== "OK")) return yield* new OutputFinished()
})

const batch = Command.make(
  "batch",
  { file },
  Effect.fnUntraced(function* (input) {
    const payload = yield* bodyOf(CreateBatchBody, input.file)
    const { client } = yield* Gateway.trader
    yield* showBatch(yield* client.order.createBatch({ payload }))
  })
).pipe(
  Command.withDescription('Place up to 20 orders from a JSON file {"orders": […]}; fails if one of them is refused'),
  Command.withExamples([{ command: "gateway order batch --file orders.json" }])
)

const cancel = Command.make(
  "cancel",
  { symbol, orders: order.pipe(Argument.variadic({ min: 1, max: BATCH_ORDERS_MAX })), subAccount },
  Effect.fnUntraced(function* (input) {
    const { client, wallet } = yield* Gateway.trader
    const sub_account_address = Gateway.vaultOf(wallet, input.subAccount)
    const [first, ...more] = input.orders.map((name) => ({
      sub_account_address,
      symbol: input.symbol,
      ...nameOf(name)
    }))
    if (more.length > 0)
      return yield* showBatch(yield* client.order.cancelBatch({ payload: { orders: [first!, ...more] } }))
    yield* showOutcome("accepted: cancel of order", client, yield* client.order.cancel({ payload: first! }))
  })
).pipe(Command.withDescription("Cancel an order, or up to 20 of a market"))

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
  Flag.withDescription("Rows, 1 to 200; default: 50, on a terminal those that fit"),
  Flag.filter(
    (rows) => rows >= 1 && rows <= LIMIT_MAX,
    () => "expected 1 to 200"
  ),
  Flag.optional
)
/** Lines of a table beside its rows: names of columns, how many follow, and the next prompt. */
const TABLE_LINES = 3
/** Rows to read: those asked for, else those that fit the terminal. */
export const rowsOf = (given: Option.Option<number>) =>
  Effect.map(Live.rows, (height) =>
    Option.getOrElse(given, () => Math.max(1, Math.min(LIMIT_DEFAULT, height - TABLE_LINES)))
  )

/** Prints a page of a list, once or watched; it says whether more rows follow. */
export const showPage = <R, E, C>(
  watching: Live.Watching,
  read: Effect.Effect<{ readonly list: ReadonlyArray<R>; readonly next_page_cursor: string }, E, C>,
  columns: ReadonlyArray<Column<R>>,
  none: string
) =>
  Live.list(
    watching,
    read,
    ({ list, next_page_cursor }, paint) =>
      [
        table(list, columns, paint, none),
        ...(next_page_cursor === "" ? [] : [paint.dim("older ones follow; --limit shows up to 200")])
      ].join("\n"),
    ({ list }) => list
  )

const list = Command.make(
  "list",
  {
    symbol: oneMarket,
    side: Flag.Literals("side", SIDES).pipe(Flag.withDescription("One side only, buy or sell"), Flag.optional),
    history: Flag.Boolean("history").pipe(Flag.withDescription("Include final orders"), Flag.withDefault(false)),
    limit,
    ...Live.watching
  },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const rows = yield* rowsOf(input.limit)
    const read = Effect.gen(function* () {
      const list: Array<Order> = []
      let cursor = ""
      let pages = 0
      // with a filter, a page can be short although more follow
      do {
        const query = {
          limit: rows - list.length,
          ...optionally("symbol", input.symbol),
          ...optionally("side", Option.map(input.side, sideOf)),
          ...(cursor === "" ? {} : { cursor })
        }
        const page = yield* input.history ? client.order.history({ query }) : client.order.realtime({ query })
        list.push(...page.list)
        cursor = page.next_page_cursor
      } while (cursor !== "" && list.length < rows && ++pages < PAGES_MAX)
      return { list, next_page_cursor: cursor }
    })
    yield* showPage(input, read, columns, input.history ? "no orders" : "no open orders")
  })
).pipe(Command.withDescription("List open orders, newest first; with --history all orders"))

const fillColumns: ReadonlyArray<Column<Execution>> = [
  { title: "TIME", of: ({ exec_time }) => time(Number(exec_time)) },
  { title: "MARKET", of: (fill) => fill.symbol },
  { title: "SIDE", of: ({ side }) => side, colour: ofSide },
  { title: "QTY", right: true, of: ({ exec_qty }) => exec_qty },
  { title: "PRICE", right: true, of: ({ exec_price }) => exec_price },
  { title: "FEE", right: true, of: ({ base_fee }) => base_fee },
  {
    title: "TYPE",
    of: ({ exec_type, is_maker }) => (exec_type === "Trade" ? (is_maker ? "maker" : "taker") : exec_type)
  },
  { title: "ORDER", of: ({ order_id, order_link_id }) => order_link_id ?? order_id }
]

export const fills = Command.make(
  "fills",
  { symbol: oneMarket, limit, ...Live.watching },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const query = { limit: yield* rowsOf(input.limit), ...optionally("symbol", input.symbol) }
    yield* showPage(input, client.execution.list({ query }), fillColumns, "no fills")
  })
).pipe(Command.withDescription("List fills and funding payments, newest first"))

export const orders = Command.make("order").pipe(
  Command.withDescription("Place, amend, cancel and list orders"),
  Command.withSubcommands([create, batch, amend, cancel, cancelAll, list])
)
