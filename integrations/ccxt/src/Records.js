/** Records of the gateway as CCXT's unified structures. Decimals are read as text and become numbers where CCXT has numbers. */
import { BadRequest, Exchange, InvalidOrder, Precise } from "ccxt"

const STATUSES = {
  New: "open",
  PartiallyFilled: "open",
  Untriggered: "open",
  Triggered: "open",
  CancelRequested: "open",
  Filled: "closed",
  Canceled: "canceled",
  PartiallyFilledCanceled: "canceled",
  Deactivated: "canceled",
  Rejected: "rejected",
  Expired: "expired"
}
const TRANSACTION_STATUSES = { pending: "pending", completed: "ok", failed: "failed" }
const LEDGER_TYPES = {
  deposit: "transaction",
  withdrawal: "transaction",
  transfer_in: "transfer",
  transfer_out: "transfer",
  funding: "fee",
  fee: "fee",
  liquidation_fee: "fee",
  realized_pnl: "trade",
  adl: "trade",
  reward: "cashback"
}

export class Records extends Exchange {
  /** The unified symbol of a market of the gateway. */
  symbolOf(id) {
    return this.safeSymbol(id, undefined, "-", "swap")
  }
  /** A time of the gateway: a number, or digits. */
  timesOf(record, key) {
    const timestamp = this.safeInteger(record, key)
    return { timestamp, datetime: this.iso8601(timestamp) }
  }

  // ---- what callers give

  /** A whole number of at least 0, or undefined. */
  whole(value, name) {
    if (value === undefined || value === null) return undefined
    if (!Number.isSafeInteger(value) || value < 0)
      throw new BadRequest(`${this.id} ${name} must be a whole number of at least 0`)
    return value
  }
  /** A number, or a number as text; `least` excludes what is not above it. */
  decimal(value, name, least = "0") {
    const text = typeof value === "number" ? this.numberToString(value) : value
    const isNumber = typeof text === "string" && /^-?\d+(?:\.\d+)?$/u.test(text)
    if (!isNumber || (least !== undefined && !Precise.stringGt(text, least)))
      throw new InvalidOrder(`${this.id} ${name} must be a number${least === undefined ? "" : ` above ${least}`}`)
    return text
  }
  /** A text that is not empty. */
  text(value, name) {
    if (typeof value !== "string" || value === "") throw new BadRequest(`${this.id} ${name} must be a text`)
    return value
  }
  /** Symbols, or undefined for all. */
  symbolsOf(symbols) {
    if (symbols === undefined || symbols === null) return undefined
    if (!Array.isArray(symbols)) throw new BadRequest(`${this.id} symbols must be a list`)
    if (symbols.length === 0) return undefined
    return symbols.map((symbol) => this.market(this.text(symbol, "symbol")).symbol)
  }
  /** Parameters of a request, apart from those with a unified meaning. */
  paramsOf(params) {
    if (params === null || typeof params !== "object" || Array.isArray(params))
      throw new BadRequest(`${this.id} params must be an object`)
    return params
  }

  // ---- markets

  parseMarket(market) {
    const [baseId, quoteId, settleId] = ["base_asset", "quote_asset", "settle_asset"].map((key) => market[key])
    const [base, quote, settle] = [baseId, quoteId, settleId].map((id) => this.safeCurrencyCode(id))
    const { leverage_filter: leverage, lot_size_filter: lot, price_filter: price } = market
    return this.safeMarketStructure({
      id: market.symbol,
      symbol: `${base}/${quote}:${settle}`,
      base,
      quote,
      settle,
      baseId,
      quoteId,
      settleId,
      type: "swap",
      spot: false,
      margin: false,
      swap: true,
      future: false,
      option: false,
      active: market.status === "Trading" || market.status === "ReduceOnly",
      contract: true,
      linear: true,
      inverse: false,
      taker: this.safeNumber(market, "taker_fee_rate"),
      maker: this.safeNumber(market, "maker_fee_rate"),
      contractSize: 1,
      precision: { amount: this.safeNumber(lot, "qty_step"), price: this.safeNumber(price, "tick_size") },
      limits: {
        leverage: { min: this.safeNumber(leverage, "min_leverage"), max: this.safeNumber(leverage, "max_leverage") },
        amount: { min: this.safeNumber(lot, "min_order_qty"), max: this.safeNumber(lot, "max_order_qty") },
        price: { min: this.safeNumber(price, "min_price"), max: this.safeNumber(price, "max_price") },
        cost: { min: this.safeNumber(lot, "min_notional_value"), max: undefined }
      },
      created: this.safeInteger(market, "launch_time"),
      info: market
    })
  }

  parseTicker(ticker, market = undefined) {
    const last = this.safeString(ticker, "last_price")
    return this.safeTicker(
      {
        symbol: this.symbolOf(ticker.symbol),
        ...this.timesOf(ticker, "ts"),
        high: this.safeString(ticker, "high_price_24h"),
        low: this.safeString(ticker, "low_price_24h"),
        bid: this.safeString(ticker, "bid1_price"),
        bidVolume: this.safeString(ticker, "bid1_size"),
        ask: this.safeString(ticker, "ask1_price"),
        askVolume: this.safeString(ticker, "ask1_size"),
        vwap: undefined,
        open: this.safeString(ticker, "prev_price_24h"),
        close: last,
        last,
        previousClose: undefined,
        change: undefined,
        percentage: Precise.stringMul(this.safeString(ticker, "price_24h_pcnt"), "100"),
        average: undefined,
        baseVolume: this.safeString(ticker, "volume_24h"),
        quoteVolume: this.safeString(ticker, "turnover_24h"),
        markPrice: this.safeString(ticker, "mark_price"),
        indexPrice: this.safeString(ticker, "index_price"),
        info: ticker
      },
      market
    )
  }

  parseOHLCV(candle) {
    const time = this.safeInteger(candle, "start_time")
    const [open, high, low, close] = ["open", "high", "low", "close"].map((key) => this.safeNumber(candle, key))
    // candles of the mark and index price have no volume
    return [time, open, high, low, close, this.safeNumber(candle, "volume", 0)]
  }

  /** A funding rate: a ticker has the one of the running interval. */
  parseFundingRate(ticker) {
    const market = this.market(this.symbolOf(ticker.symbol))
    const fundingTimestamp = this.safeInteger(ticker, "next_funding_time_ms")
    const minutes = this.safeInteger(market.info, "funding_interval_minutes")
    const none = ["nextFundingRate", "nextFundingTimestamp", "nextFundingDatetime", "previousFundingRate"]
    const nones = [
      ...none,
      "previousFundingTimestamp",
      "previousFundingDatetime",
      "interestRate",
      "estimatedSettlePrice"
    ]
    return {
      info: ticker,
      symbol: market.symbol,
      markPrice: this.safeNumber(ticker, "mark_price"),
      indexPrice: this.safeNumber(ticker, "index_price"),
      ...this.timesOf(ticker, "ts"),
      fundingRate: this.safeNumber(ticker, "funding_rate"),
      fundingTimestamp,
      fundingDatetime: this.iso8601(fundingTimestamp),
      interval: minutes === undefined ? undefined : `${minutes / 60}h`,
      ...Object.fromEntries(nones.map((key) => [key, undefined]))
    }
  }
  parseFundingRateHistory(rate) {
    return {
      info: rate,
      symbol: this.symbolOf(rate.symbol),
      fundingRate: this.safeNumber(rate, "funding_rate"),
      ...this.timesOf(rate, "funding_time_ms")
    }
  }
  parseOpenInterest(interest, market = undefined) {
    return this.safeOpenInterest(
      {
        symbol: this.symbolOf(interest.symbol),
        openInterestAmount: this.safeNumber(interest, "open_interest"),
        openInterestValue: undefined,
        ...this.timesOf(interest, "timestamp"),
        info: interest
      },
      market
    )
  }
  parseMarketLeverageTiers(tiers, market) {
    const sorted = this.sortBy(tiers, "tier")
    return sorted.map((tier, i) => ({
      tier: this.safeInteger(tier, "tier"),
      symbol: market.symbol,
      currency: market.settle,
      minNotional: i === 0 ? 0 : this.safeNumber(sorted[i - 1], "risk_limit_value"),
      maxNotional: this.safeNumber(tier, "risk_limit_value"),
      maintenanceMarginRate: this.safeNumber(tier, "maintenance_margin_rate"),
      maxLeverage: this.safeNumber(tier, "max_leverage"),
      info: tier
    }))
  }

  // ---- trades, orders, positions

  /** Whether an execution is a trade. Those of a liquidation are; funding payments are in `fetchFundingHistory`. */
  isTrade({ exec_type }) {
    return exec_type !== "Funding"
  }
  /** A public trade, or an execution of the caller. */
  parseTrade(trade, market = undefined) {
    const isOwn = "exec_id" in trade
    const settle = this.safeMarket(trade.symbol, market, "-", "swap").settle
    const type = this.safeStringLower(trade, "order_type")
    return this.safeTrade(
      {
        id: this.safeString2(trade, "exec_id", "trade_id"),
        info: trade,
        ...this.timesOf(trade, isOwn ? "exec_time" : "timestamp"),
        symbol: this.symbolOf(trade.symbol),
        order: this.safeString(trade, "order_id"),
        type: isOwn ? type : undefined,
        side: this.safeStringLower(trade, "side"),
        takerOrMaker: isOwn ? (trade.is_maker ? "maker" : "taker") : undefined,
        price: this.safeString2(trade, "exec_price", "price"),
        amount: this.safeString2(trade, "exec_qty", "qty"),
        cost: this.safeString(trade, "exec_value"),
        fee: isOwn
          ? { cost: this.safeString(trade, "base_fee"), currency: settle, rate: this.safeString(trade, "fee_rate") }
          : undefined
      },
      market
    )
  }

  parseOrder(order, market = undefined) {
    const { stop_loss, take_profit } = order.tpsl ?? {}
    const stopType = this.safeString(order, "stop_order_type", "")
    const triggerPrice = this.safeString(order.trigger, "trigger_price")
    const exit = (kind, leg) => (stopType.endsWith(kind) ? triggerPrice : this.safeString(leg?.market, "trigger_price"))
    const updated = this.safeInteger(order, "updated_time")
    const rawStatus = this.safeString(order, "order_status")
    const link = this.safeString(order, "order_link_id")
    return this.safeOrder(
      {
        info: order,
        id: this.safeString(order, "order_id"),
        clientOrderId: link === "" ? undefined : link,
        ...this.timesOf(order, "created_time"),
        lastTradeTimestamp: updated,
        lastUpdateTimestamp: updated,
        symbol: order.symbol === undefined ? market?.symbol : this.symbolOf(order.symbol),
        type: this.safeStringLower(order, "order_type"),
        timeInForce: order.post_only === true ? "PO" : this.safeString(order, "time_in_force"),
        postOnly: this.safeBool(order, "post_only"),
        reduceOnly: this.safeBool(order, "reduce_only"),
        side: this.safeStringLower(order, "side"),
        price: this.omitZero(this.safeString(order, "price")),
        triggerPrice,
        takeProfitPrice: exit("TakeProfit", take_profit),
        stopLossPrice: exit("StopLoss", stop_loss),
        amount: this.safeString(order, "qty"),
        cost: this.safeString(order, "cum_exec_value"),
        average: this.omitZero(this.safeString(order, "avg_price")),
        filled: this.safeString(order, "cum_exec_qty"),
        remaining: this.safeString(order, "leaves_qty"),
        status: this.safeString(STATUSES, rawStatus, rawStatus),
        fee:
          order.cum_exec_fee === undefined
            ? undefined
            : { cost: this.safeString(order, "cum_exec_fee"), currency: market?.settle ?? "USDC" },
        trades: undefined
      },
      market
    )
  }

  parsePosition(position) {
    const market = this.market(this.symbolOf(position.symbol))
    const [notional, initial, maintenance] = ["position_value", "position_im", "position_mm"].map((key) =>
      this.omitZero(this.safeString(position, key))
    )
    const isIsolated = position.margin_mode === "Isolated"
    const collateral = isIsolated ? this.safeString(position, "isolated_margin") : initial
    const share = (part, whole) =>
      part === undefined || whole === undefined ? undefined : this.parseNumber(Precise.stringDiv(part, whole))
    const updated = this.safeInteger(position, "updated_time")
    const side = { Buy: "long", Sell: "short" }[position.side]
    return this.safePosition({
      info: position,
      id: undefined,
      symbol: market.symbol,
      ...this.timesOf(position, "created_time"),
      lastUpdateTimestamp: updated,
      initialMargin: this.parseNumber(initial),
      initialMarginPercentage: share(initial, notional),
      maintenanceMargin: this.parseNumber(maintenance),
      maintenanceMarginPercentage: share(maintenance, notional),
      entryPrice: this.parseNumber(this.omitZero(this.safeString(position, "avg_price"))),
      notional: this.parseNumber(notional),
      leverage: this.safeNumber(position, "leverage"),
      unrealizedPnl: this.safeNumber(position, "unrealised_pnl"),
      realizedPnl: this.safeNumber(position, "cur_realised_pnl"),
      contracts: this.safeNumber(position, "size"),
      contractSize: this.safeNumber(market, "contractSize"),
      marginRatio: share(maintenance, collateral),
      liquidationPrice: this.safeNumber(position, "liq_price"),
      markPrice: this.safeNumber(position, "mark_price"),
      lastPrice: undefined,
      collateral: this.parseNumber(collateral),
      marginMode: isIsolated ? "isolated" : "cross",
      side,
      percentage: undefined,
      stopLossPrice: this.safeNumber(position, "stop_loss"),
      takeProfitPrice: this.safeNumber(position, "take_profit"),
      hedged: false
    })
  }

  // ---- account

  parseBalance(balances) {
    const updated = Math.max(0, ...balances.list.map((balance) => balance.updated_time))
    const result = { info: balances, timestamp: updated, datetime: this.iso8601(updated) }
    for (const balance of balances.list) {
      const equity = this.safeString(balance, "equity")
      const free = this.safeString(balance, "available_balance")
      const code = this.safeCurrencyCode(balance.asset)
      const known = result[code]
      result[code] = {
        total: Precise.stringAdd(known?.total ?? "0", equity),
        free: Precise.stringAdd(known?.free ?? "0", free)
      }
    }
    return this.safeBalance(result)
  }
  parseTransaction(transaction, currency = undefined) {
    const isDeposit = "deposit_id" in transaction
    const none = ["txid", "network", "address", "addressFrom", "tag", "tagTo", "tagFrom", "fee", "internal", "comment"]
    return {
      info: transaction,
      id: this.safeString2(transaction, "deposit_id", "withdrawal_id"),
      ...this.timesOf(transaction, "created_time"),
      addressTo: this.safeString(transaction, "destination"),
      type: isDeposit ? "deposit" : "withdrawal",
      amount: this.safeNumber(transaction, "amount"),
      currency: this.safeCurrencyCode(transaction.asset, currency),
      status: this.safeString(TRANSACTION_STATUSES, transaction.status, transaction.status),
      updated: this.safeInteger(transaction, "updated_time"),
      ...Object.fromEntries(none.map((key) => [key, undefined]))
    }
  }
  parseTransfer(transfer, currency = undefined) {
    return {
      info: transfer,
      id: this.safeString(transfer, "transfer_id"),
      ...this.timesOf(transfer, "created_time"),
      currency: this.safeCurrencyCode(transfer.asset, currency),
      amount: this.safeNumber(transfer, "amount"),
      fromAccount: this.safeString(transfer, "from_sub_account_address"),
      toAccount: this.safeString(transfer, "to_sub_account_address"),
      status: this.safeString(TRANSACTION_STATUSES, transfer.status, transfer.status)
    }
  }
  parseIncome(payment) {
    const market = this.market(this.symbolOf(payment.symbol))
    return {
      info: payment,
      symbol: market.symbol,
      code: market.settle,
      ...this.timesOf(payment, "funding_time_ms"),
      id: undefined,
      amount: this.safeNumber(payment, "payment"),
      rate: this.safeNumber(payment, "funding_rate")
    }
  }
  parseLedgerEntry(entry, currency = undefined) {
    const amount = this.safeString(entry, "amount")
    const after = this.safeString(entry, "balance_after")
    return this.safeLedgerEntry(
      {
        info: entry,
        id: this.safeString(entry, "id"),
        direction: Precise.stringLt(amount, "0") ? "out" : "in",
        account: this.safeString(entry, "sub_account_address"),
        referenceId: this.safeString2(entry, "exec_id", "order_id"),
        referenceAccount: undefined,
        type: this.safeString(LEDGER_TYPES, entry.type, entry.type),
        currency: this.safeCurrencyCode(entry.asset, currency),
        amount: Precise.stringAbs(amount),
        ...this.timesOf(entry, "timestamp"),
        before: Precise.stringSub(after, amount),
        after,
        status: "ok",
        fee: undefined
      },
      currency
    )
  }
  parseTradingFee(fee) {
    return {
      info: fee,
      symbol: this.symbolOf(fee.symbol),
      maker: this.safeNumber(fee, "maker_fee_rate"),
      taker: this.safeNumber(fee, "taker_fee_rate"),
      percentage: true,
      tierBased: false
    }
  }
}
