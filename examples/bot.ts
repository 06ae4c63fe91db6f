/**
 * A short bot: logs in, takes test money from the faucet, follows its account and the book, and keeps one bid a tick below the best.
 *
 * The client keeps account and book current, also after a disconnect. `npx node examples/bot.ts [seconds = 10]`, against the gateway of
 * GATEWAY_URL (http://127.0.0.1:3010).
 */
import { Effect, HashMap } from "effect"
import { fileURLToPath } from "node:url"
import { Client, Decimal, Wallet } from "../src/client/index.ts"

const SYMBOL = "BTC-USDC"

/** Quotes for `rounds` seconds and returns the number of orders placed. */
export const bot = Effect.fnUntraced(function* (baseUrl: string, rounds: number) {
  const client = yield* Client.make({ baseUrl })
  yield* client.login(Wallet.generate().wallet)
  const vault = (yield* client.user.subAccounts()).list[0]!.sub_account_address
  yield* client.account.faucet({ payload: { sub_account_address: vault, asset: "USDC", amount: "1000" } })
  const account = yield* client.ownAccount
  const book = yield* client.book(SYMBOL, 50)
  let placed = 0
  for (let round = 0; round < rounds; round++) {
    yield* Effect.sleep("1 second")
    const best = book.get().bids(1)[0]
    if (best === undefined || !book.get().sound) continue
    const { balances, orders } = account.get()
    console.log([...HashMap.values(orders)].map(({ price, qty }) => `${qty} at ${price}`))
    console.log([...HashMap.values(balances)].map(({ asset, available_balance }) => `${available_balance} ${asset}`))
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
  const url = process.env["GATEWAY_URL"] ?? "http://127.0.0.1:3010"
  console.log("orders placed:", await Effect.runPromise(bot(url, Number(process.argv[2] ?? 10))))
  process.exit()
}
