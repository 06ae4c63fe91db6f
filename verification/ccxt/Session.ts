/** A session that calls each supported unified method on a real exchange, and returns a result of each. */
import type { Account, Any } from "./Ccxt.ts"

export const SYMBOL = "BTC/USDC:USDC"

/** Results by method. A method that fails ends the session. */
export const session = async (exchange: Any, other: Any, account: Account): Promise<ReadonlyMap<string, Any>> => {
  const results = new Map<string, Any>()
  const call = async (name: string, ...args: ReadonlyArray<unknown>): Promise<Any> => {
    const result = await exchange[name](...args).catch((error: Error) => {
      throw new Error(`${name}: ${error.message}`, { cause: error })
    })
    results.set(name, result)
    return result
  }
  await call("fetchTime")
  await call("fetchStatus")
  await call("fetchMarkets")
  for (const name of ["fetchTickers", "fetchFundingRates", "fetchLeverageTiers", "fetchTradingFees"]) await call(name)
  for (const name of [
    "fetchTicker",
    "fetchOrderBook",
    "fetchL2OrderBook",
    "fetchFundingRate",
    "fetchMarketLeverageTiers"
  ])
    await call(name, SYMBOL)
  for (const name of ["fetchOpenInterest", "fetchLeverage", "fetchTradingFee", "fetchFundingRateHistory"])
    await call(name, SYMBOL)
  await call("fetchOpenInterestHistory", SYMBOL)
  await call("setMarginMode", "isolated", SYMBOL)
  await call("setLeverage", 5, SYMBOL)

  // orders that rest
  const watched = [
    ["watchOrders", SYMBOL],
    ["watchMyTrades"],
    ["watchPositions"],
    ["watchBalance"],
    ["watchTrades", SYMBOL],
    ["watchOrderBook", SYMBOL, 5],
    ["watchTicker", SYMBOL],
    ["watchTickers", [SYMBOL]],
    ["watchOHLCV", SYMBOL, "1m"]
  ].map(([name, ...args]) => call(String(name), ...args))
  const exits = { takeProfit: { triggerPrice: 70000 }, stopLoss: { triggerPrice: 40000 } }
  const resting = await call("createOrder", SYMBOL, "limit", "buy", 0.01, 50000, exits)
  await call("createOrderWithTakeProfitAndStopLoss", SYMBOL, "limit", "buy", 0.01, 49000, 70000, 40000)
  await call("editOrder", resting.id, SYMBOL, "limit", "buy", 0.02, 50001)
  await call("fetchOrder", resting.id, SYMBOL)
  await call("fetchOpenOrder", resting.id, SYMBOL)
  await call("fetchOpenOrders", SYMBOL)
  await call("cancelOrder", resting.id, SYMBOL)
  await call("fetchCanceledOrders", SYMBOL)
  const batch = [40000, 40001].map((price) => ({ symbol: SYMBOL, type: "limit", side: "buy", amount: 0.01, price }))
  const placed = await call("createOrders", batch)
  await call("cancelOrders", [placed[0].id, placed[1].id], SYMBOL)
  await call("createLimitOrder", SYMBOL, "buy", 0.01, 42000)
  await call("createPostOnlyOrder", SYMBOL, "limit", "buy", 0.01, 41000)
  await call("createTriggerOrder", SYMBOL, "market", "buy", 0.01, undefined, 65000)
  await call("cancelAllOrders", SYMBOL)
  await call("cancelAllOrdersAfter", 0)

  // a position, against another account
  await other.createOrder(SYMBOL, "limit", "sell", 0.05, 60000)
  const bought = await call("createOrder", SYMBOL, "limit", "buy", 0.05, 60000)
  await Promise.all(watched)
  await call("addMargin", SYMBOL, 50)
  await call("reduceMargin", SYMBOL, 10)
  await call("createStopLossOrder", SYMBOL, "market", "sell", 0.01, undefined, 50000)
  await call("createTakeProfitOrder", SYMBOL, "market", "sell", 0.01, undefined, 70000)
  await call("createReduceOnlyOrder", SYMBOL, "limit", "sell", 0.01, 65000)
  await call("fetchPosition", SYMBOL)
  await call("fetchPositions", [SYMBOL])
  await call("fetchBalance")
  await call("fetchTrades", SYMBOL)
  for (const name of ["fetchOHLCV", "fetchMarkOHLCV", "fetchIndexOHLCV"]) await call(name, SYMBOL, "1m")
  await call("fetchMyTrades", SYMBOL)
  await call("fetchOrderTrades", bought.id, SYMBOL)
  await call("fetchClosedOrder", bought.id, SYMBOL)
  for (const name of ["fetchClosedOrders", "fetchCanceledAndClosedOrders", "fetchOrders"]) await call(name, SYMBOL)
  await other.createOrder(SYMBOL, "limit", "buy", 0.05, 59990)
  await call("createMarketOrder", SYMBOL, "sell", 0.01)
  await call("closePosition", SYMBOL)

  // money
  await call("transfer", "USDC", 10, account.sub_account_address, account.other.sub_account_address)
  await call("withdraw", "USDC", 10, `0x${"a".repeat(64)}`)
  for (const name of ["fetchDeposits", "fetchWithdrawals", "fetchTransfers", "fetchLedger"]) await call(name, "USDC")
  await call("fetchFundingHistory", SYMBOL)
  return results
}
