/** Adds the exchange to CCXT: `node --import trading-gateway-ccxt/register bot.js` runs a bot that only has CCXT's name of it. */
import ccxt, { pro } from "ccxt"
import { TradingGateway } from "./TradingGateway.js"

const id = "tradinggateway"
for (const library of [ccxt, pro]) {
  library[id] = TradingGateway
  if (!library.exchanges.includes(id)) library.exchanges.push(id)
}
