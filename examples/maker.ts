/**
 * A short market maker: a bid and an ask around the mid price, shifted against its position.
 *
 * It trades with its own API key, amends its quotes, and leaves no order open when it ends or crashes.
 * `npx node examples/maker.ts [seconds = 30]`, against the gateway of GATEWAY_URL (http://127.0.0.1:3010).
 */
import { Console, Effect, HashMap, Option } from "effect"
import { fileURLToPath } from "node:url"
import { Account, Client, Decimal, Wallet } from "../src/client/index.ts"

const { format, parse, toStep } = Decimal
const SYMBOL = "BTC-USDC"
/** Quantity of each quote, and the position at which it quotes one side only, in BTC. */
const QTY = "0.01"
const POSITION_MAX = parse("0.05")
/** Distance of a quote from the mid price, as a divisor of the price. */
const HALF_SPREAD = 5_000n

/** Prices of the quotes: half a spread around the mid price, shifted against the position, rounded to ticks. */
const pricesOf = (bid: string, ask: string, held: bigint, tick: bigint) => {
  const middle = (parse(bid) + parse(ask)) / 2n
  const half = middle / HALF_SPREAD
  const centre = middle - (half * held) / POSITION_MAX
  return { Buy: format(toStep(centre - half, tick, "down")), Sell: format(toStep(centre + half, tick, "up")) }
}

/** A client that signs each request with an API key: 600 a minute, where a token has 30. */
const trader = Effect.fnUntraced(function* (baseUrl: string) {
  const client = yield* Client.make({ baseUrl })
  yield* client.login(Wallet.generate().wallet)
  const key = Wallet.generate().wallet
  const scopes = ["read", "trade", "account"] as const
  yield* client.user.createApiKey({ payload: { public_key: key.public_key, label: "maker", scopes } })
  client.use({ type: "api-key", key })
  return client
})

/** Quotes for `rounds` seconds. */
export const maker = Effect.fnUntraced(function* (baseUrl: string, rounds: number) {
  const client = yield* trader(baseUrl)
  const vault = (yield* client.user.subAccounts()).list[0]!.sub_account_address
  yield* client.account.faucet({ payload: { sub_account_address: vault, asset: "USDC", amount: "10000" } })
  const market = (yield* client.market.instruments({ query: { symbol: SYMBOL } })).list[0]!
  const tick = parse(market.price_filter.tick_size)
  const own = { sub_account_address: vault, symbol: SYMBOL }

  const account = yield* client.ownAccount
  const book = yield* client.book(SYMBOL, 50)
  // cancels its orders at its end; after a crash the gateway cancels them within ten seconds
  yield* Effect.addFinalizer(() => Effect.ignore(client.order.cancelAll({ payload: own })))
  yield* client.order.setSwitch({ payload: { sub_account_address: vault, enabled: true, time_window: 10 } })

  /** Moves the quote of a side to a price, or cancels it. */
  const quote = Effect.fnUntraced(
    function* (
      side: "Buy" | "Sell",
      price: string | undefined,
      current: { order_id: string; price: string } | undefined
    ) {
      if (current === undefined) {
        if (price === undefined) return
        const order = { ...own, side, order_type: "Limit" as const, qty: QTY, price, post_only: true }
        yield* client.order.create({ payload: order })
      } else if (price === undefined) {
        yield* client.order.cancel({ payload: { ...own, order_id: current.order_id } })
      } else if (price !== current.price) {
        yield* client.order.amend({ payload: { ...own, order_id: current.order_id, price } })
      }
    },
    // the order was filled in the meantime: the next round reads the new state
    Effect.catchIf(
      (error) => "code" in error && error.code === "CONFLICT",
      () => Effect.void
    )
  )

  for (let round = 0; round < rounds; round++) {
    yield* Effect.sleep("1 second")
    const [bid] = book.get().bids(1)
    const [ask] = book.get().asks(1)
    if (!book.get().sound || bid === undefined || ask === undefined) continue
    const position = Option.getOrUndefined(HashMap.get(account.get().positions, Account.keyOf(own)))
    const held = position === undefined ? 0n : parse(position.size) * (position.side === "Sell" ? -1n : 1n)
    const prices = pricesOf(bid[0], ask[0], held, tick)
    const { list } = yield* client.order.realtime({ query: own })
    const current = (side: "Buy" | "Sell") => list.find((order) => order.side === side)
    yield* quote("Buy", held >= POSITION_MAX ? undefined : prices.Buy, current("Buy"))
    yield* quote("Sell", held <= -POSITION_MAX ? undefined : prices.Sell, current("Sell"))
    yield* Console.log(`bid ${prices.Buy}, ask ${prices.Sell}, position ${format(held)}`)
  }
}, Effect.scoped)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const url = process.env["GATEWAY_URL"] ?? "http://127.0.0.1:3010"
  await Effect.runPromise(maker(url, Number(process.argv[2] ?? 30)))
  process.exit()
}
