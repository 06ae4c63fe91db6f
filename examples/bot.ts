/**
 * A bot in a page: logs in, takes money from the faucet, follows its own orders, and keeps one bid a tick below the best.
 *
 * `node examples/bot.ts`, against a gateway on port 3010. Stops by itself after ten seconds.
 */
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { Client, Wallet } from "../src/client/index.ts"
import * as Decimal from "../src/domain/Decimal.ts"

const SYMBOL = "BTC-USDC"

/** Quotes for `rounds` seconds; answers how many orders it placed. */
export const bot = Effect.fnUntraced(function* (baseUrl: string, rounds: number) {
  const client = yield* Client.make({ baseUrl })
  yield* client.login(Wallet.generate().wallet)
  const vault = (yield* client.user.subAccounts()).list[0]!.sub_account_address
  yield* client.account.faucet({ payload: { sub_account_address: vault, asset: "USDC", amount: "1000" } })
  yield* client.feed({
    topics: ["order"],
    onEvent: ({ data }) => console.log("order", JSON.stringify(data).slice(0, 120))
  })
  const market = yield* client.feed({ topics: [`orderbook.50.${SYMBOL}`] })
  let placed = 0
  for (let round = 0; round < rounds; round++) {
    yield* Effect.sleep("1 second")
    const best = market.book(SYMBOL, 50)?.bids(1)[0]
    if (best === undefined) continue
    yield* client.order.cancelAll({ payload: { sub_account_address: vault, symbol: SYMBOL } })
    const price = Decimal.format(Decimal.parse(best[0]) - Decimal.parse("0.1"))
    yield* client.order.create({
      payload: {
        sub_account_address: vault,
        symbol: SYMBOL,
        side: "Buy",
        order_type: "Limit",
        qty: "0.001",
        price,
        post_only: true
      }
    })
    placed++
  }
  return placed
}, Effect.scoped)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log("orders placed:", await Effect.runPromise(bot("http://127.0.0.1:3010", 10)))
  process.exit()
}
