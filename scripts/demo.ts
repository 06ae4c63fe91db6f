/**
 * `npm run demo`: two wallets meet on a running gateway. They log in, take money from the faucet, trade with each other and
 * with the market, and every request, answer and event is printed as it comes.
 *
 * GATEWAY_URL names the gateway; default http://127.0.0.1:3010.
 */
import { Effect } from "effect"
import { catchReason, Client, type Feed, Wallet } from "../src/client/index.ts"
import * as Decimal from "../src/domain/Decimal.ts"

const baseUrl = process.env["GATEWAY_URL"] ?? "http://127.0.0.1:3010"
const SYMBOL = "BTC-USDC"
/** Time that events have to arrive before the story goes on, in ms. */
const EVENTS_MS = 400

const colour = process.stdout.isTTY
  ? { dim: "\u001b[2m", bold: "\u001b[1m", alice: "\u001b[36m", bob: "\u001b[35m", off: "\u001b[0m" }
  : { dim: "", bold: "", alice: "", bob: "", off: "" }
type Name = "Alice" | "Bob"
const paint = (name: Name) => `${name === "Alice" ? colour.alice : colour.bob}${name.padEnd(5)}${colour.off}`
const say = (text: string) => console.log(text)
const chapter = (text: string) => say(`\n${colour.bold}${text}${colour.off}`)

/** Shortens long texts, and leaves out what Effect notes on an error. */
const short = (value: unknown): string =>
  JSON.stringify(value, (key, item) => {
    if (key.startsWith("~effect")) return undefined
    return typeof item === "string" && item.length > 24 && key !== "message"
      ? `${item.slice(0, 10)}…${item.slice(-4)}`
      : item
  })

/** Prints a request with its answer. */
const ask = <A, E>(name: Name, what: string, body: unknown, effect: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    say(`${paint(name)} → ${what}${body === undefined ? "" : ` ${short(body)}`}`)
    return effect
  }).pipe(
    Effect.tap((answer) => Effect.sync(() => say(`      ${colour.dim}← ${short(answer)}${colour.off}`))),
    Effect.tapError((error) => Effect.sync(() => say(`      ← ${short(error)}`)))
  )

const pick = (record: object, ...keys: ReadonlyArray<string>) =>
  keys
    .map((key) => [key, (record as Record<string, unknown>)[key]] as const)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => `${key} ${String(value)}`)
    .join(", ")

const keysOf: Record<string, ReadonlyArray<string>> = {
  order: ["order_status", "side", "qty", "price", "cum_exec_qty", "leaves_qty", "cancel_type", "version"],
  execution: ["side", "exec_qty", "exec_price", "base_fee", "is_maker"],
  position: ["side", "size", "avg_price", "liq_price", "unrealised_pnl"],
  account_balance: ["reason", "wallet_balance", "available_balance", "order_margin", "margin_used"]
}

/** Prints the updates of a private feed. */
const listen = (name: Name) => (event: Feed.FeedEvent) => {
  if (!("topic" in event) || !("data" in event)) return
  const keys = keysOf[event.topic]
  if (keys === undefined || !("list" in event.data) || event.data.type !== "update") return
  const { list, seq } = event.data as { readonly list: ReadonlyArray<object>; readonly seq: number }
  for (const record of list) say(`${paint(name)} ⚡ ${event.topic} #${seq}: ${pick(record, ...keys)}`)
}

/** The offer is open to everybody on the market. */
const taken = () => Effect.sync(() => say("      other traders have taken the rest of the offer"))

const arrive = Effect.fnUntraced(function* (name: Name) {
  const { wallet } = Wallet.generate()
  const client = yield* Client.make({ baseUrl })
  yield* ask(name, "POST /authorize", { public_key: wallet.public_key, signature: "…" }, client.login(wallet))
  const { list } = yield* ask(name, "GET /user/sub-accounts", undefined, client.user.subAccounts())
  const vault = list[0]!.sub_account_address
  yield* client.feed({ topics: ["order", "execution", "position", "account_balance"], onEvent: listen(name) })
  const money = { sub_account_address: vault, asset: "USDC", amount: "10000" }
  yield* ask(name, "POST /account/faucet", money, client.account.faucet({ payload: money }))
  return { client, vault, name }
})

const story = Effect.gen(function* () {
  chapter("A market moves")
  const anybody = yield* Client.make({ baseUrl })
  const ticker = (yield* anybody.market.tickers({ query: { symbol: SYMBOL } })).list[0]!
  say(pick(ticker, "symbol", "last_price", "mark_price", "index_price", "bid1_price", "ask1_price"))

  chapter("Two wallets come in")
  const alice = yield* arrive("Alice")
  const bob = yield* arrive("Bob")
  yield* Effect.sleep(EVENTS_MS)

  const { list } = yield* anybody.market.instruments({ query: { symbol: SYMBOL } })
  const tick = Decimal.parse(list[0]!.price_filter.tick_size)
  const { asks, bids } = yield* anybody.market.orderbook({ query: { symbol: SYMBOL, depth: 1 } })
  // between the best bid and the best ask nobody else stands; without a book, at the mark
  const between =
    bids[0] === undefined || asks[0] === undefined
      ? Decimal.parse(ticker.mark_price)
      : (Decimal.parse(bids[0][0]) + Decimal.parse(asks[0][0])) / 2n
  const price = Decimal.format(Decimal.toStep(between, tick, "down"))

  chapter(`Alice offers 0.02 BTC at ${price}`)
  const offer = {
    sub_account_address: alice.vault,
    symbol: SYMBOL,
    side: "Sell" as const,
    order_type: "Limit" as const,
    qty: "0.02",
    price,
    order_link_id: "alice-1"
  }
  yield* ask("Alice", "POST /order/create", offer, alice.client.order.create({ payload: offer }))
  yield* Effect.sleep(EVENTS_MS)

  chapter("Bob takes a part of it")
  const bid = {
    ...offer,
    sub_account_address: bob.vault,
    side: "Buy" as const,
    qty: "0.015",
    time_in_force: "IOC" as const,
    order_link_id: "bob-1"
  }
  yield* ask("Bob", "POST /order/create", bid, bob.client.order.create({ payload: bid }))
  yield* Effect.sleep(EVENTS_MS)

  chapter("Alice amends what is left, then takes it back")
  const less = { sub_account_address: alice.vault, symbol: SYMBOL, order_link_id: "alice-1", qty: "0.018", order_iv: 1 }
  yield* ask("Alice", "POST /order/amend", less, alice.client.order.amend({ payload: less })).pipe(
    catchReason("OrderAlreadyClosed", taken)
  )
  yield* Effect.sleep(EVENTS_MS)
  const back = { sub_account_address: alice.vault, symbol: SYMBOL, order_link_id: "alice-1" }
  yield* ask("Alice", "POST /order/cancel", back, alice.client.order.cancel({ payload: back })).pipe(
    catchReason("OrderAlreadyClosed", taken)
  )
  yield* Effect.sleep(EVENTS_MS)

  chapter("Bob closes at the market")
  const close = {
    sub_account_address: bob.vault,
    symbol: SYMBOL,
    side: "Sell" as const,
    order_type: "Market" as const,
    qty: "0.015",
    reduce_only: true
  }
  yield* ask("Bob", "POST /order/create", close, bob.client.order.create({ payload: close }))
  yield* Effect.sleep(EVENTS_MS)

  chapter("What it comes to")
  for (const { client, name } of [alice, bob]) {
    const balances = yield* client.account.balances({ query: {} })
    const positions = yield* client.position.list({ query: {} })
    const executions = yield* client.execution.list({ query: {} })
    say(`${paint(name as Name)} ${pick(balances.list[0]!, "wallet_balance", "equity", "available_balance")}`)
    for (const position of positions.list)
      say(`      position: ${pick(position, "side", "size", "avg_price", "liq_price")}`)
    const fills = executions.list.map((e) => `${e.side} ${e.exec_qty} at ${e.exec_price}`)
    say(`      executions: ${fills.join("; ") || "none"}`)
  }
  say("")
})

const failed = (error: unknown) =>
  Effect.sync(() => {
    const { _tag, message } = error as { readonly _tag?: string; readonly message?: string }
    console.error(
      _tag === "HttpClientError"
        ? `\nno gateway at ${baseUrl}; start one with npm start`
        : `\nthe demo stopped: ${message}`
    )
    process.exitCode = 1
  })

await Effect.runPromise(Effect.catch(Effect.scoped(story), failed))
process.exit()
