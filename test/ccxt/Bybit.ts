/** Unified structures of CCXT's own `bybit`, from responses as Bybit V5 documents them. Ours must have the same shapes. */
import type { Any } from "../../verification/ccxt/Ccxt.ts"

const order = {
  orderId: "fd4300ae-7847-404e-b947-b46980a4d140",
  orderLinkId: "test-000005",
  symbol: "BTCUSDC",
  price: "60000.00",
  qty: "0.10",
  side: "Buy",
  orderStatus: "PartiallyFilled",
  avgPrice: "60000",
  leavesQty: "0.09",
  leavesValue: "5400",
  cumExecQty: "0.01",
  cumExecValue: "600",
  cumExecFee: "0.33",
  timeInForce: "GTC",
  orderType: "Limit",
  stopOrderType: "",
  triggerPrice: "",
  takeProfit: "70000",
  stopLoss: "40000",
  reduceOnly: false,
  createdTime: "1684738540559",
  updatedTime: "1684738540561"
}
const execution = {
  symbol: "BTCUSDC",
  orderId: "8c065341-7b52-4ca9-ac2c-37e31ac55c94",
  side: "Sell",
  orderPrice: "60000",
  orderQty: "0.07",
  leavesQty: "0",
  orderType: "Market",
  execFee: "0.071409",
  execId: "e0cbe81d-0f18-5866-9415-cf319b5dab3b",
  execPrice: "59988",
  execQty: "0.07",
  execType: "Trade",
  execValue: "4199.16",
  execTime: "1672282722429",
  isMaker: false,
  feeRate: "0.0006"
}
const position = {
  symbol: "BTCUSDC",
  leverage: "10",
  avgPrice: "60000",
  liqPrice: "55000",
  bustPrice: "54000",
  takeProfit: "70000",
  stopLoss: "40000",
  positionValue: "600",
  unrealisedPnl: "1.2",
  curRealisedPnl: "-0.3",
  markPrice: "60100",
  positionIM: "60",
  positionMM: "6",
  createdTime: "1676538056258",
  updatedTime: "1697673600012",
  side: "Buy",
  size: "0.01",
  positionIdx: 0
}
const ticker = {
  symbol: "BTCUSDC",
  lastPrice: "60000",
  indexPrice: "60001",
  markPrice: "60000.5",
  prevPrice24h: "59000",
  price24hPcnt: "0.016949",
  highPrice24h: "60500",
  lowPrice24h: "58900",
  openInterest: "373504107",
  openInterestValue: "22410.24",
  turnover24h: "2352.94",
  volume24h: "49.18",
  fundingRate: "0.0001",
  nextFundingTime: "1672387200000",
  bid1Price: "59999.5",
  bid1Size: "0.2",
  ask1Price: "60000.5",
  ask1Size: "0.3",
  time: 1672376496682
}
const money = { coin: "USDC", amount: "10", status: "1" }

/** Structures of `bybit` by the name of our method with the same result; `market` is the unified market that they refer to. */
export const bybitStructures = (bybit: Any, market: Any): Readonly<Record<string, Any>> => {
  bybit.setMarkets([{ ...market, id: "BTCUSDC", info: { fundingInterval: 480 } }])
  const own = bybit.market(market.symbol)
  return {
    fetchTicker: bybit.parseTicker(ticker, own),
    fetchFundingRate: bybit.parseFundingRate({ ...ticker, timestamp: 1672376496682 }, own),
    fetchOpenInterest: bybit.parseOpenInterest({ openInterest: "1", timestamp: "1672376496682" }, own),
    fetchOrder: bybit.parseOrder(order, own),
    fetchMyTrades: bybit.parseTrade(execution, own),
    fetchTrades: bybit.parseTrade(
      { execId: "a", symbol: "BTCUSDC", price: "60000", size: "0.1", side: "Sell", time: "1672052955758" },
      own
    ),
    fetchPosition: bybit.parsePosition(position, own),
    fetchBalance: bybit.parseBalance({
      result: {
        list: [
          {
            accountType: "UNIFIED",
            coin: [{ coin: "USDC", walletBalance: "10", equity: "10", totalOrderIM: "0", totalPositionIM: "1" }]
          }
        ]
      },
      time: 1672376496682
    }),
    fetchDeposits: bybit.parseTransaction({
      ...money,
      depositFee: "",
      txID: "0x",
      toAddress: "0x1",
      successAt: "1672376496682",
      id: "1"
    }),
    fetchWithdrawals: bybit.parseTransaction({
      ...money,
      withdrawFee: "",
      withdrawId: "1",
      toAddress: "0x1",
      createTime: "1672376496682",
      updateTime: "1672376496682"
    }),
    fetchTransfers: bybit.parseTransfer({
      ...money,
      transferId: "1",
      fromAccountType: "UNIFIED",
      toAccountType: "FUND",
      timestamp: "1672376496682",
      status: "SUCCESS"
    }),
    fetchFundingHistory: bybit.parseIncome(
      { symbol: "BTCUSDC", execFee: "0.1", execTime: "1672376496682", execId: "1", feeRate: "0.0001" },
      own
    ),
    fetchTradingFee: bybit.parseTradingFee({ symbol: "BTCUSDC", takerFeeRate: "0.0006", makerFeeRate: "0.0001" }, own),
    fetchMarketLeverageTiers: bybit.parseMarketLeverageTiers(
      [
        {
          id: 1,
          symbol: "BTCUSDC",
          riskLimitValue: "2000000",
          maintenanceMargin: "0.005",
          initialMargin: "0.01",
          maxLeverage: "100.00"
        }
      ],
      own
    ),
    fetchOHLCV: [bybit.parseOHLCV(["1672376496682", "1", "2", "0.5", "1.5", "10", "15"], own)],
    fetchLedger: bybit.parseLedgerEntry({
      id: "1",
      currency: "USDC",
      cashFlow: "10",
      change: "10",
      cashBalance: "10",
      transactionTime: "1672376496682",
      type: "TRANSFER_IN",
      tradeId: ""
    })
  }
}

/** The type of each field; lists and objects of numbers count as what they are. */
const kindOf = (value: unknown): string => (Array.isArray(value) ? "list" : value === undefined ? "none" : typeof value)

/**
 * Differences of shape: fields that one of both lacks, and fields whose types differ. Undefined in one of them is no difference: an
 * exchange does not know every value. `info` has the exchange's own form.
 */
export const shapeDifferences = (ours: Any, theirs: Any): ReadonlyArray<string> => {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)])
  return [...names].flatMap((name) => {
    if (name === "info") return []
    if (!(name in ours)) return [`${name} is missing`]
    if (!(name in theirs)) return [`${name} is not a field of bybit's`]
    const [a, b] = [kindOf(ours[name]), kindOf(theirs[name])]
    return a === b || a === "none" || b === "none" ? [] : [`${name} is ${a}, bybit's ${b}`]
  })
}
