/**
 * A bot as it is written for any exchange of CCXT: it follows the book and its orders, places a bid, amends it, and cancels it.
 * `EXCHANGE=bybit API_KEY=... SECRET=... node bot.js`; CONFIG has further options as JSON.
 */
import { pro } from "ccxt"

const { API_KEY, CONFIG = "{}", EXCHANGE = "tradinggateway", SECRET, SYMBOL = "BTC/USDC:USDC" } = process.env
const exchange = new pro[EXCHANGE]({ apiKey: API_KEY, secret: SECRET, ...JSON.parse(CONFIG) })

await exchange.loadMarkets()
const { limits } = exchange.market(SYMBOL)
const balance = await exchange.fetchBalance()
console.log("free", balance.USDC?.free)

const updates = exchange.watchOrders(SYMBOL)
const book = await exchange.watchOrderBook(SYMBOL)
const price = Number(exchange.priceToPrecision(SYMBOL, book.bids[0][0] * 0.9))
const amount = Math.max(limits.amount.min, 0.01)

const order = await exchange.createOrder(SYMBOL, "limit", "buy", amount, price)
console.log("placed", (await updates)[0].status)
await exchange.editOrder(order.id, SYMBOL, "limit", "buy", amount * 2)
const open = await exchange.fetchOpenOrders(SYMBOL)
console.log("amended", open.find(({ id }) => id === order.id).amount)
await exchange.cancelOrder(order.id, SYMBOL)
for (;;) {
  const [last] = (await exchange.watchOrders(SYMBOL)).slice(-1)
  if (last.id === order.id && last.status === "canceled") break
}
console.log("canceled")
await exchange.close()
