/**
 * Random unified calls of the CCXT exchange: `node verification/ccxt/main.ts [calls = 10000] [seed = 1]`. Ends with 1 at an error
 * that is not a class of CCXT. Needs `npm ci --prefix integrations/ccxt`.
 */
import { startExchange } from "../harness/Exchange.ts"
import { random } from "../harness/Random.ts"
import { exchangeOf, load, openAccount } from "./Ccxt.ts"
import { fuzz } from "./Fuzz.ts"

const { ccxt, TradingGateway } = await load()
const gateway = await startExchange({ env: { SIM_MAKER: "on" } })
const exchange = exchangeOf(TradingGateway, gateway.url, await openAccount(gateway.url))
await exchange.loadMarkets()
const methods = Object.keys(exchange.has).filter((name) => exchange.has[name] && typeof exchange[name] === "function")
const report = await fuzz(
  ccxt,
  exchange,
  methods,
  Number(process.argv[2] ?? 10_000),
  random(Number(process.argv[3] ?? 1))
)
console.log(JSON.stringify(report, undefined, 2))
await exchange.close()
await gateway.close()
process.exit(report.foreign.length === 0 ? 0 : 1)
