/**
 * The REST API of the gateway as CCXT's unified methods. `apiKey` is the public key of an API key, `secret` its seed, both hex.
 * Orders trade on `options.subAccountAddress`, or on the caller's first sub-account; `params.sub_account_address` selects another one.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, hexToBytes, randomBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import {
  AccountNotEnabled,
  AccountSuspended,
  ArgumentsRequired,
  AuthenticationError,
  BadRequest,
  BadSymbol,
  DuplicateOrderId,
  ExchangeError,
  ExchangeNotAvailable,
  InsufficientFunds,
  InvalidAddress,
  InvalidNonce,
  InvalidOrder,
  NoChange,
  NotSupported,
  OnMaintenance,
  OrderImmediatelyFillable,
  OrderNotFound,
  PermissionDenied,
  RateLimitExceeded,
  RequestTimeout
} from "ccxt"
import { Records } from "./Records.js"

/** Errors by the gateway's reason; other reasons have the error of their HTTP status. */
const REASONS = {
  SymbolNotFound: BadSymbol,
  OrderNotFound,
  OrderAlreadyClosed: OrderNotFound,
  DuplicateOrderLinkId: DuplicateOrderId,
  OrderVersionMismatch: InvalidOrder,
  PostOnlyWouldTake: OrderImmediatelyFillable,
  TriggerAlreadyMet: OrderImmediatelyFillable,
  InsufficientBalance: InsufficientFunds,
  NotMultipleOfStep: InvalidOrder,
  NotMultipleOfTick: InvalidOrder,
  InvalidQty: InvalidOrder,
  LimitReached: InvalidOrder,
  PositionInLiquidation: InvalidOrder,
  LeverageUnchanged: NoChange,
  NotIsolated: InvalidOrder,
  StaleTimestamp: InvalidNonce,
  InvalidNonce,
  NonceReused: InvalidNonce,
  SubAccountFrozen: AccountSuspended,
  SubAccountNotFound: AccountNotEnabled,
  Overloaded: OnMaintenance,
  ShuttingDown: OnMaintenance,
  DeadlineExceeded: RequestTimeout
}
const STATUSES = {
  400: BadRequest,
  401: AuthenticationError,
  403: PermissionDenied,
  404: BadRequest,
  409: InvalidOrder,
  413: BadRequest,
  429: RateLimitExceeded,
  503: ExchangeNotAvailable
}
/** Reasons of a 503 that guarantee that nothing changed. */
const UNCHANGED = new Set(["BackendUnavailable", "BackendLagging", "Overloaded", "ShuttingDown"])
/** Orders of a batch. */
const BATCH_MAX = 20
/** Rows of a page, and of a list whose caller states neither a limit nor a time. */
const PAGE_MAX = 200
const ROWS_DEFAULT = 50
/** Most pages of one call. */
const PAGES_MAX = 50
const CANDLES_DEFAULT = 200
const CANDLES_MAX = 1000
const TRADES_MAX = 1000
const TRIGGERS_BY = { last: "LastPrice", index: "IndexPrice", mark: "MarkPrice" }
const DIRECTIONS = { ascending: "Up", up: "Up", descending: "Down", down: "Down" }
const TIMEFRAMES = {
  "1m": "1",
  "3m": "3",
  "5m": "5",
  "15m": "15",
  "30m": "30",
  "1h": "60",
  "2h": "120",
  "4h": "240",
  "6h": "360",
  "12h": "720",
  "1d": "D",
  "1w": "W",
  "1M": "M"
}
const SUPPORTED = [
  "addMargin",
  "cancelAllOrders",
  "cancelAllOrdersAfter",
  "cancelOrder",
  "cancelOrders",
  "closePosition",
  "createOrder",
  "createOrders",
  "createPostOnlyOrder",
  "createReduceOnlyOrder",
  "createStopLossOrder",
  "createTakeProfitOrder",
  "createTriggerOrder",
  "createOrderWithTakeProfitAndStopLoss",
  "editOrder",
  "fetchBalance",
  "fetchCanceledAndClosedOrders",
  "fetchCanceledOrders",
  "fetchClosedOrder",
  "fetchClosedOrders",
  "fetchDeposits",
  "fetchFundingHistory",
  "fetchFundingRate",
  "fetchFundingRateHistory",
  "fetchFundingRates",
  "fetchIndexOHLCV",
  "fetchLedger",
  "fetchLeverage",
  "fetchLeverageTiers",
  "fetchMarkOHLCV",
  "fetchMarkets",
  "fetchMarketLeverageTiers",
  "fetchMyTrades",
  "fetchOHLCV",
  "fetchOpenInterest",
  "fetchOpenInterestHistory",
  "fetchOpenOrder",
  "fetchOpenOrders",
  "fetchOrder",
  "fetchOrderBook",
  "fetchOrders",
  "fetchOrderTrades",
  "fetchPosition",
  "fetchPositions",
  "fetchStatus",
  "fetchTicker",
  "fetchTickers",
  "fetchTime",
  "fetchTrades",
  "fetchTradingFee",
  "fetchTradingFees",
  "fetchTransfers",
  "fetchWithdrawals",
  "reduceMargin",
  "setLeverage",
  "setMarginMode",
  "swap",
  "transfer",
  "watchBalance",
  "watchMyTrades",
  "watchOHLCV",
  "watchOrderBook",
  "watchOrders",
  "watchPositions",
  "watchTicker",
  "watchTickers",
  "watchTrades",
  "withdraw",
  "ws"
]
const UNSUPPORTED = [
  "CORS",
  "createMarketOrderWs",
  "spot",
  "margin",
  "future",
  "option",
  "fetchCurrencies",
  "fetchDepositAddress"
]

const costing = (cost, ...paths) => Object.fromEntries(paths.map((path) => [path, cost]))

export class Rest extends Records {
  describe() {
    return this.deepExtend(super.describe(), {
      id: "tradinggateway",
      name: "Trading Gateway",
      countries: [],
      version: "v1",
      // 600 requests a minute of an API key, and 60 public ones; 1% less, because they arrive unevenly
      rateLimit: 101,
      // a burst is sent at once, as the gateway allows: an order does not wait for the requests before it
      rateLimiterAlgorithm: "rollingWindow",
      certified: false,
      pro: true,
      has: {
        ...Object.fromEntries(SUPPORTED.map((name) => [name, true])),
        ...Object.fromEntries(UNSUPPORTED.map((name) => [name, false]))
      },
      timeframes: TIMEFRAMES,
      urls: { api: { rest: "http://127.0.0.1:3010" } },
      requiredCredentials: { apiKey: true, secret: true },
      precisionMode: 4, // TICK_SIZE
      options: { subAccountAddress: undefined, timeDifference: 0, adjustForTimeDifference: true },
      streaming: { keepAlive: 15_000 },
      api: {
        public: {
          get: costing(
            10,
            ...["time", "instruments-info", "tickers", "orderbook", "recent-trade", "kline", "mark-price-kline"].map(
              (name) => `market/${name}`
            ),
            ...["index-price-kline", "funding/history", "risk-limit", "open-interest"].map((name) => `market/${name}`)
          )
        },
        private: {
          get: costing(
            1,
            "order/realtime",
            "order/history",
            "execution/list",
            "position/list",
            "account/balances",
            "account/transfer",
            "account/withdrawals",
            "account/deposits",
            "account/funding",
            "account/transactions",
            "account/fee-rate",
            "user/sub-accounts"
          ),
          post: costing(
            1,
            "order/create",
            "order/amend",
            "order/cancel",
            "order/cancel-all",
            "order/create-batch",
            "order/cancel-batch",
            "order/disconnect-cancel-all",
            "position/set-leverage",
            "position/switch-margin-mode",
            "position/add-margin",
            "position/trading-stop",
            "account/transfer",
            "account/withdrawals"
          )
        }
      }
    })
  }

  // ---- requests

  nonce() {
    return this.milliseconds() - this.options.timeDifference
  }
  /** Signs a text with the secret, and returns what goes beside the signature. */
  signed(textOf) {
    this.checkRequiredCredentials()
    const timestamp = this.nonce()
    const nonce = bytesToHex(randomBytes(16))
    try {
      const seed = hexToBytes(this.secret.replace(/^0x/u, ""))
      const signature = bytesToHex(ed25519.sign(utf8ToBytes(textOf(timestamp, nonce)), seed))
      return { timestamp, nonce, signature }
    } catch {
      throw new AuthenticationError(`${this.id} secret must be the seed of the API key, 64 hex digits`)
    }
  }

  sign(path, api = "public", method = "GET", params = {}, headers = undefined, body = undefined) {
    const query = this.urlencode(this.omitUndefined(params))
    const isGet = method === "GET"
    const uri = `/api/${this.version}/${path}${isGet && query !== "" ? `?${query}` : ""}`
    const url = new URL(this.urls.api.rest)
    const target = `${url.pathname.replace(/\/$/u, "")}${uri}`
    if (!isGet) body = this.json(params)
    if (api === "private") {
      const hash = bytesToHex(sha256(utf8ToBytes(body ?? "")))
      const signed = this.signed((time, nonce) => `SERVICE_API|${method}|${target}|${time}|${nonce}|${hash}`)
      headers = {
        "X-API-KEY": this.apiKey,
        "X-SIGNATURE": signed.signature,
        "X-TIMESTAMP-MS": String(signed.timestamp),
        "X-NONCE": signed.nonce,
        "X-BODY-SHA256": hash
      }
    }
    if (!isGet) headers = { ...headers, "Content-Type": "application/json" }
    return { url: `${url.origin}${target}`, method, body, headers }
  }
  omitUndefined(params) {
    return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
  }

  handleErrors(status, _text, _url, method, _headers, _body, response) {
    if (status >= 200 && status < 300) return undefined
    throw this.errorOf(status, response ?? {}, method === "POST")
  }
  /** The CCXT error of an error of the gateway, with its `details`. `changes`: the request may have had its effect despite a 5xx. */
  errorOf(status, { code, details, message = `HTTP ${status}` }, changes = false) {
    const reason = details?.reason
    const isUnknown = changes && status >= 500 && !UNCHANGED.has(reason)
    const known = REASONS[reason] ?? STATUSES[status] ?? (status >= 500 ? ExchangeNotAvailable : ExchangeError)
    const Kind = isUnknown ? RequestTimeout : known
    return Object.assign(new Kind(`${this.id} ${reason ?? code ?? status}: ${message}`), { details })
  }

  async loadMarkets(reload = false, params = {}) {
    const isFirst = this.markets === undefined || Object.keys(this.markets).length === 0
    if (isFirst && this.options.adjustForTimeDifference) await this.loadTimeDifference()
    return super.loadMarkets(reload, params)
  }
  /** The sub-account of a request. */
  async subAccount(params = {}) {
    const given = params.sub_account_address ?? this.options.subAccountAddress
    if (given !== undefined) return given
    const { list } = await this.privateGetUserSubAccounts()
    if (list.length === 0) throw new AccountNotEnabled(`${this.id} has no sub-account`)
    this.options.subAccountAddress = list[0].sub_account_address
    return this.options.subAccountAddress
  }
  /** The market of a symbol that must be given. */
  async marketOf(symbol) {
    await this.loadMarkets()
    if (typeof symbol !== "string") throw new ArgumentsRequired(`${this.id} needs a symbol`)
    return this.market(symbol)
  }
  /** Filters of a history: market and times. `until` of the params is inclusive, as in CCXT. */
  async filtersOf(symbol, since, limit, params) {
    await this.loadMarkets()
    const { until, ...rest } = this.paramsOf(params)
    const end = this.whole(until, "until")
    const market = symbol === undefined || symbol === null ? undefined : await this.marketOf(symbol)
    const start = this.whole(since, "since")
    return {
      market,
      limit: this.whole(limit, "limit"),
      since: start,
      request: this.omitUndefined({
        symbol: market?.id,
        start_time: start,
        end_time: end === undefined ? undefined : end + 1,
        ...rest
      })
    }
  }
  /** Filters of a list of the caller's sub-account. */
  async ownFilters(symbol, since, limit, params) {
    const known = await this.filtersOf(symbol, since, limit, params)
    return { ...known, request: { ...known.request, sub_account_address: await this.subAccount(known.request) } }
  }
  /**
   * Rows of a list over its pages. Pages begin with the newest row, but a caller who gives `since` wants the oldest ones after it: then, and
   * with `isWhole`, they are read to their end. `isKept` selects rows.
   */
  async rowsOf(method, { limit, request, since }, isWhole = false, isKept = undefined) {
    const wanted = isWhole || since !== undefined ? Infinity : limit || ROWS_DEFAULT
    const rows = []
    let page = { limit: isKept === undefined ? Math.min(wanted, PAGE_MAX) : PAGE_MAX, ...request }
    for (let i = 0; i < PAGES_MAX; i++) {
      const { list, next_page_cursor: cursor } = await this[method](page)
      rows.push(...(isKept === undefined ? list : list.filter(isKept)))
      if (cursor === "" || rows.length >= wanted) return rows
      page = { ...page, cursor }
    }
    // the newest rows are enough for a caller without a start
    if (wanted !== Infinity) return rows
    throw new BadRequest(`${this.id} reads ${PAGES_MAX} pages at most: narrow the range with since and until`)
  }

  // ---- market data

  async fetchTime(params = {}) {
    return this.safeInteger(await this.publicGetMarketTime(this.paramsOf(params)), "server_ts_ms")
  }
  async fetchStatus(params = {}) {
    const updated = await this.fetchTime(params)
    return { status: "ok", updated, eta: undefined, url: undefined, info: {} }
  }
  async fetchMarkets(params = {}) {
    const { list } = await this.publicGetMarketInstrumentsInfo({ limit: 1000, ...this.paramsOf(params) })
    return list.map((market) => this.parseMarket(market))
  }
  async fetchTicker(symbol, params = {}) {
    const market = await this.marketOf(symbol)
    const { list } = await this.publicGetMarketTickers({ symbol: market.id, ...this.paramsOf(params) })
    return this.parseTicker(list[0], market)
  }
  async fetchTickers(symbols = undefined, params = {}) {
    await this.loadMarkets()
    const wanted = this.symbolsOf(symbols)
    const { list } = await this.publicGetMarketTickers(this.paramsOf(params))
    return this.parseTickers(list, wanted)
  }
  async fetchOrderBook(symbol, limit = undefined, params = {}) {
    const market = await this.marketOf(symbol)
    const depth = this.whole(limit, "limit")
    const request = { symbol: market.id, depth: depth === 0 ? undefined : depth, ...this.paramsOf(params) }
    const book = await this.publicGetMarketOrderbook(this.omitUndefined(request))
    const result = this.parseOrderBook(book, market.symbol, this.safeInteger(book, "ts"))
    result.nonce = this.safeInteger(book, "seq")
    return result
  }
  async fetchOHLCV(symbol, timeframe = "1m", since = undefined, limit = undefined, params = {}) {
    const { price, ...rest } = this.paramsOf(params)
    const known = await this.filtersOf(symbol, since, limit, rest)
    const interval = this.intervalOf(timeframe)
    const rows = Math.min(known.limit || CANDLES_DEFAULT, CANDLES_MAX)
    const request = { limit: rows, ...known.request, symbol: (await this.marketOf(symbol)).id, interval }
    // candles are read newest first: the end selects the first ones after the start
    if (known.since !== undefined)
      request.end_time = Math.min(request.end_time ?? Infinity, this.endOf(timeframe, known.since, rows))
    const { list } =
      price === "mark"
        ? await this.publicGetMarketMarkPriceKline(request)
        : price === "index"
          ? await this.publicGetMarketIndexPriceKline(request)
          : await this.publicGetMarketKline(request)
    return this.parseOHLCVs(list, known.market, timeframe, known.since, known.limit)
  }
  /** The time before which so many candles start, the first one at `since` or after it. */
  endOf(timeframe, since, rows) {
    if (timeframe !== "1M") return since + rows * this.parseTimeframe(timeframe) * 1000
    const [year, month] = [new Date(since).getUTCFullYear(), new Date(since).getUTCMonth()]
    const isStart = Date.UTC(year, month) === since
    return Date.UTC(year, month + rows + (isStart ? 0 : 1))
  }
  intervalOf(timeframe) {
    if (!Object.hasOwn(TIMEFRAMES, timeframe)) throw new BadRequest(`${this.id} timeframe must be one of 1m to 1M`)
    return TIMEFRAMES[timeframe]
  }
  async fetchTrades(symbol, since = undefined, limit = undefined, params = {}) {
    const known = await this.filtersOf(symbol, undefined, limit, params)
    const market = await this.marketOf(symbol)
    const rows = known.limit ? Math.min(known.limit, TRADES_MAX) : undefined
    const { list } = await this.publicGetMarketRecentTrade(
      this.omitUndefined({ limit: rows, ...known.request, symbol: market.id })
    )
    return this.parseTrades(list, market, this.whole(since, "since"), known.limit)
  }
  async fetchFundingRate(symbol, params = {}) {
    const market = await this.marketOf(symbol)
    const { list } = await this.publicGetMarketTickers({ symbol: market.id, ...this.paramsOf(params) })
    return this.parseFundingRate(list[0])
  }
  async fetchFundingRates(symbols = undefined, params = {}) {
    await this.loadMarkets()
    const wanted = this.symbolsOf(symbols)
    const { list } = await this.publicGetMarketTickers(this.paramsOf(params))
    const rates = list.map((ticker) => this.parseFundingRate(ticker))
    return this.filterByArray(rates, "symbol", wanted)
  }
  async fetchFundingRateHistory(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const market = await this.marketOf(symbol)
    const known = await this.filtersOf(symbol, since, limit, params)
    const list = await this.rowsOf("publicGetMarketFundingHistory", known)
    const rates = list.map((rate) => this.parseFundingRateHistory(rate))
    return this.filterBySymbolSinceLimit(this.sortBy(rates, "timestamp"), market.symbol, known.since, known.limit)
  }
  async fetchOpenInterest(symbol, params = {}) {
    const market = await this.marketOf(symbol)
    const { list } = await this.publicGetMarketTickers({ symbol: market.id, ...this.paramsOf(params) })
    const { open_interest, symbol: id, ts } = list[0]
    return this.parseOpenInterest({ symbol: id, open_interest, timestamp: ts }, market)
  }
  async fetchOpenInterestHistory(symbol, timeframe = "1h", since = undefined, limit = undefined, params = {}) {
    const market = await this.marketOf(symbol)
    const known = await this.filtersOf(symbol, since, limit, params)
    const interval = { "5m": "5", "1h": "60", "1d": "D" }[timeframe]
    if (interval === undefined) throw new BadRequest(`${this.id} timeframe must be 5m, 1h or 1d`)
    const list = await this.rowsOf("publicGetMarketOpenInterest", { ...known, request: { ...known.request, interval } })
    const interests = list.map((one) => this.parseOpenInterest(one, market))
    return this.filterBySinceLimit(this.sortBy(interests, "timestamp"), known.since, known.limit)
  }
  async fetchMarketLeverageTiers(symbol, params = {}) {
    const market = await this.marketOf(symbol)
    const { list } = await this.publicGetMarketRiskLimit({ symbol: market.id, ...this.paramsOf(params) })
    return this.parseMarketLeverageTiers(list, market)
  }
  async fetchLeverageTiers(symbols = undefined, params = {}) {
    await this.loadMarkets()
    const wanted = this.symbolsOf(symbols)
    const { list } = await this.publicGetMarketRiskLimit(this.paramsOf(params))
    const byMarket = Object.entries(this.groupBy(list, "symbol")).map(([id, tiers]) => {
      const market = this.safeMarket(id, undefined, "-", "swap")
      return [market.symbol, this.parseMarketLeverageTiers(tiers, market)]
    })
    return Object.fromEntries(byMarket.filter(([symbol]) => wanted === undefined || wanted.includes(symbol)))
  }

  // ---- account

  async fetchBalance(params = {}) {
    await this.loadMarkets()
    const { type, ...rest } = this.paramsOf(params)
    if (type === "spot") throw new NotSupported(`${this.id} has no spot accounts`)
    const request = { sub_account_address: await this.subAccount(rest), ...rest }
    return this.parseBalance(await this.privateGetAccountBalances(request))
  }
  async fetchPositions(symbols = undefined, params = {}) {
    await this.loadMarkets()
    const wanted = this.symbolsOf(symbols)
    const known = await this.ownFilters(undefined, undefined, undefined, params)
    const list = await this.rowsOf("privateGetPositionList", known, true)
    const positions = list.map((position) => this.parsePosition(position))
    return this.filterByArrayPositions(positions, "symbol", wanted, false)
  }
  async fetchPosition(symbol, params = {}) {
    const market = await this.marketOf(symbol)
    const request = { symbol: market.id, sub_account_address: await this.subAccount(this.paramsOf(params)), ...params }
    const { list } = await this.privateGetPositionList(request)
    return this.parsePosition(list[0])
  }
  async fetchLeverage(symbol, params = {}) {
    const { info, leverage, marginMode, symbol: unified } = await this.fetchPosition(symbol, params)
    return { info, symbol: unified, marginMode, longLeverage: leverage, shortLeverage: leverage }
  }
  /** A request about a market of the caller's sub-account. */
  async ownMarket(symbol, params) {
    const market = await this.marketOf(symbol)
    return { symbol: market.id, sub_account_address: await this.subAccount(this.paramsOf(params)), ...params }
  }
  async setLeverage(leverage, symbol = undefined, params = {}) {
    const value = this.decimal(leverage, "leverage")
    return this.privatePostPositionSetLeverage({ ...(await this.ownMarket(symbol, params)), leverage: value })
  }
  async setMarginMode(marginMode, symbol = undefined, params = {}) {
    const margin_mode = { cross: "Cross", isolated: "Isolated" }[String(marginMode).toLowerCase()]
    if (margin_mode === undefined) throw new BadRequest(`${this.id} marginMode must be cross or isolated`)
    const { leverage, ...rest } = this.paramsOf(params)
    const request = { ...(await this.ownMarket(symbol, rest)), margin_mode }
    if (leverage !== undefined) request.leverage = this.decimal(leverage, "leverage")
    return this.privatePostPositionSwitchMarginMode(request)
  }
  async addMargin(symbol, amount, params = {}) {
    return this.moveMargin("add", symbol, amount, params)
  }
  async reduceMargin(symbol, amount, params = {}) {
    return this.moveMargin("reduce", symbol, amount, params)
  }
  async moveMargin(type, symbol, amount, params) {
    const market = await this.marketOf(symbol)
    const value = this.decimal(amount, "amount")
    const request = { ...(await this.ownMarket(symbol, params)), margin: type === "add" ? value : `-${value}` }
    const info = await this.privatePostPositionAddMargin(request)
    const now = this.milliseconds()
    return {
      info,
      symbol: market.symbol,
      type,
      marginMode: "isolated",
      amount: this.parseNumber(value),
      total: this.safeNumber(info, "isolated_margin"),
      code: market.settle,
      status: "ok",
      timestamp: now,
      datetime: this.iso8601(now)
    }
  }
  async fetchTradingFees(params = {}) {
    await this.loadMarkets()
    const { list } = await this.privateGetAccountFeeRate(this.paramsOf(params))
    return this.indexBy(
      list.map((fee) => this.parseTradingFee(fee)),
      "symbol"
    )
  }
  async fetchTradingFee(symbol, params = {}) {
    const market = await this.marketOf(symbol)
    const { list } = await this.privateGetAccountFeeRate({ symbol: market.id, ...this.paramsOf(params) })
    return this.parseTradingFee(list[0])
  }
  currencyOf(code) {
    return code === undefined || code === null ? undefined : this.currency(this.text(code, "code"))
  }
  /** Movements of money, whose lists have no filter by time. */
  async movementsOf(method, since, limit, params) {
    const known = await this.ownFilters(undefined, since, limit, params)
    const { end_time } = known.request
    const request = this.omit(known.request, ["start_time", "end_time"])
    const isKept = end_time === undefined ? undefined : (row) => this.safeInteger(row, "created_time") < end_time
    return { ...known, list: await this.rowsOf(method, { ...known, request }, false, isKept) }
  }
  async fetchDeposits(code = undefined, since = undefined, limit = undefined, params = {}) {
    const {
      limit: rows,
      list,
      since: start
    } = await this.movementsOf("privateGetAccountDeposits", since, limit, params)
    return this.parseTransactions(list, this.currencyOf(code), start, rows)
  }
  async fetchWithdrawals(code = undefined, since = undefined, limit = undefined, params = {}) {
    const {
      limit: rows,
      list,
      since: start
    } = await this.movementsOf("privateGetAccountWithdrawals", since, limit, params)
    return this.parseTransactions(list, this.currencyOf(code), start, rows)
  }
  async fetchTransfers(code = undefined, since = undefined, limit = undefined, params = {}) {
    const {
      limit: rows,
      list,
      since: start
    } = await this.movementsOf("privateGetAccountTransfer", since, limit, params)
    return this.parseTransfers(list, this.currencyOf(code), start, rows)
  }
  async fetchLedger(code = undefined, since = undefined, limit = undefined, params = {}) {
    const known = await this.ownFilters(undefined, since, limit, params)
    const list = await this.rowsOf("privateGetAccountTransactions", known)
    return this.parseLedger(list, this.currencyOf(code), known.since, known.limit)
  }
  async fetchFundingHistory(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const known = await this.ownFilters(symbol, since, limit, params)
    const list = await this.rowsOf("privateGetAccountFunding", known)
    const payments = this.sortBy(
      list.map((payment) => this.parseIncome(payment)),
      "timestamp"
    )
    return this.filterBySymbolSinceLimit(payments, known.market?.symbol, known.since, known.limit)
  }
  /** Between sub-accounts of the caller, by address. */
  async transfer(code, amount, fromAccount, toAccount, params = {}) {
    await this.loadMarkets()
    const currency = this.currency(this.text(code, "code"))
    const request = {
      transfer_id: this.uuid(),
      from_sub_account_address: this.text(fromAccount, "fromAccount"),
      to_sub_account_address: this.text(toAccount, "toAccount"),
      asset: currency.id,
      amount: this.decimal(amount, "amount"),
      ...this.paramsOf(params)
    }
    const receipt = await this.privatePostAccountTransfer(request)
    return this.parseTransfer({ created_time: this.milliseconds(), ...request, ...receipt }, currency)
  }
  async withdraw(code, amount, address, tag = undefined, params = {}) {
    await this.loadMarkets()
    const currency = this.currency(this.text(code, "code"))
    if (typeof address !== "string" || address === "") throw new InvalidAddress(`${this.id} address must be a text`)
    const request = {
      withdrawal_id: this.uuid(),
      sub_account_address: await this.subAccount(this.paramsOf(params)),
      asset: currency.id,
      amount: this.decimal(amount, "amount"),
      destination: address,
      ...params
    }
    return this.parseTransaction(await this.privatePostAccountWithdrawals(request), currency)
  }

  // ---- orders

  /** The body of a new order. */
  async orderRequest(symbol, type, side, amount, price, params) {
    const market = await this.marketOf(symbol)
    const known = this.paramsOf(params)
    const kind = { limit: "Limit", market: "Market" }[String(type).toLowerCase()]
    const way = { buy: "Buy", sell: "Sell" }[String(side).toLowerCase()]
    if (kind === undefined) throw new InvalidOrder(`${this.id} type must be limit or market`)
    if (way === undefined) throw new InvalidOrder(`${this.id} side must be buy or sell`)
    const { clientOrderId, postOnly, reduceOnly, stopLoss, stopLossPrice, stopPrice, takeProfit, takeProfitPrice } =
      known
    const { timeInForce, triggerDirection, triggerPrice: given, triggerPriceType, ...rest } = known
    const names = ["clientOrderId", "postOnly", "reduceOnly", "stopLoss", "stopLossPrice", "stopPrice"]
    const exit = stopLossPrice ?? takeProfitPrice
    const triggerPrice = given ?? stopPrice ?? exit
    const request = {
      sub_account_address: await this.subAccount(known),
      symbol: market.id,
      side: way,
      order_type: kind,
      qty: this.amountToPrecision(market.symbol, this.decimal(amount, "amount")),
      // with it a repeated request cannot place a second order
      order_link_id: clientOrderId ?? bytesToHex(randomBytes(16)),
      ...this.omit(rest, [...names, "takeProfit", "takeProfitPrice"])
    }
    if (kind === "Limit") request.price = this.priceToPrecision(market.symbol, this.decimal(price, "price"))
    const isPostOnly = postOnly === true || timeInForce === "PO"
    if (isPostOnly) request.post_only = true
    else if (timeInForce !== undefined) request.time_in_force = timeInForce
    // an exit closes a position
    if (reduceOnly === true || exit !== undefined) request.reduce_only = true
    if (triggerPrice !== undefined) {
      const isUp = (stopLossPrice !== undefined) === (way === "Buy")
      request.trigger = this.omitUndefined({
        ...this.triggerOf(market, triggerPrice, triggerPriceType),
        trigger_direction: exit === undefined ? DIRECTIONS[triggerDirection] : isUp ? "Up" : "Down"
      })
    }
    if (stopLoss !== undefined || takeProfit !== undefined) {
      const leg = (asked) => {
        if (asked === undefined) return undefined
        const { price: limit, stopPrice, triggerPrice: trigger, triggerPriceType: by, type: legType } = Object(asked)
        if (limit !== undefined || legType === "limit")
          throw new NotSupported(`${this.id} stopLoss and takeProfit are market orders: leave their price out`)
        return { market: this.triggerOf(market, trigger ?? stopPrice, by) }
      }
      request.tpsl = this.omitUndefined({ take_profit: leg(takeProfit), stop_loss: leg(stopLoss) })
    }
    return request
  }
  triggerOf(market, price, by) {
    const trigger_price = this.priceToPrecision(market.symbol, this.decimal(price, "triggerPrice"))
    return this.omitUndefined({ trigger_price, trigger_by: TRIGGERS_BY[by] })
  }

  async createOrder(symbol, type, side, amount, price = undefined, params = {}) {
    const request = await this.orderRequest(symbol, type, side, amount, price, params)
    const created = this.privatePostOrderCreate(request).catch((error) => {
      const placed = this.placedBefore(request, params, error.details)
      if (placed === undefined) throw error
      return placed
    })
    return this.parseOrder(await created, this.market(symbol))
  }
  /** The order that an earlier attempt of the same request placed: the reference that was generated for it is in use. */
  placedBefore({ order_link_id }, params, details) {
    const isOwn = params.clientOrderId !== undefined || params.order_link_id !== undefined
    if (isOwn || details?.reason !== "DuplicateOrderLinkId") return undefined
    return { code: "OK", order_id: details.order_id, order_link_id }
  }
  async createOrders(orders, params = {}) {
    await this.loadMarkets()
    const asked = []
    for (const order of this.batchOf(orders, "orders")) {
      const own = { ...this.paramsOf(params), ...this.paramsOf(order?.params ?? {}) }
      const { amount, price, side, symbol, type } = order ?? {}
      asked.push({ own, request: await this.orderRequest(symbol, type, side, amount, price, own) })
    }
    const { list } = await this.privatePostOrderCreateBatch({ orders: asked.map(({ request }) => request) })
    return list.map((result, i) => {
      const placed = this.placedBefore(asked[i].request, asked[i].own, result.details)
      return this.parseCreateResult(placed ?? result, this.market(orders[i].symbol))
    })
  }
  /** The items of a batch. */
  batchOf(items, name) {
    if (!Array.isArray(items) || items.length === 0 || items.length > BATCH_MAX)
      throw new BadRequest(`${this.id} ${name} must be a list of 1 to ${BATCH_MAX}`)
    return items
  }
  /** An order of a batch: `rejected` if it was refused, without a status if its outcome is unknown. */
  parseCreateResult(result, market) {
    const order = this.parseOrder(result, market)
    if (result.code === "OK") return order
    const isFault = result.code === "INTERNAL" || result.code === "SERVICE_UNAVAILABLE"
    const isUnknown = isFault && !UNCHANGED.has(result.details?.reason)
    return { ...order, id: undefined, status: isUnknown ? undefined : "rejected" }
  }
  /** A reference to an order: its id, or its client order id. */
  referenceOf(id, clientOrderId) {
    if (clientOrderId !== undefined) return { order_link_id: this.text(clientOrderId, "clientOrderId") }
    return { order_id: this.text(id, "id") }
  }
  async editOrder(id, symbol, type = undefined, side = undefined, amount = undefined, price = undefined, params = {}) {
    const market = await this.marketOf(symbol)
    const { clientOrderId, triggerPrice, ...rest } = this.paramsOf(params)
    const request = { ...(await this.ownMarket(symbol, rest)), ...this.referenceOf(id, clientOrderId) }
    if (amount !== undefined) request.qty = this.amountToPrecision(market.symbol, this.decimal(amount, "amount"))
    if (price !== undefined) request.price = this.priceToPrecision(market.symbol, this.decimal(price, "price"))
    if (triggerPrice !== undefined) request.trigger = this.triggerOf(market, triggerPrice)
    return this.parseOrder(await this.privatePostOrderAmend(request), market)
  }
  async cancelOrder(id, symbol = undefined, params = {}) {
    const market = await this.marketOf(symbol)
    const { clientOrderId, ...rest } = this.omit(this.paramsOf(params), ["trigger", "stop"])
    const request = { ...(await this.ownMarket(symbol, rest)), ...this.referenceOf(id, clientOrderId) }
    return this.parseOrder(await this.privatePostOrderCancel(request), market)
  }
  async cancelOrders(ids, symbol = undefined, params = {}) {
    const market = await this.marketOf(symbol)
    const own = await this.ownMarket(symbol, this.paramsOf(params))
    const orders = this.batchOf(ids, "ids").map((id) => ({ ...own, ...this.referenceOf(id, undefined) }))
    const { list } = await this.privatePostOrderCancelBatch({ orders })
    // an order that was final already has its final status
    return list.map((result, i) => {
      const order = { order_id: ids[i], ...result, order_status: result.details?.order_status }
      return { ...this.parseOrder(order, market), info: result }
    })
  }
  async cancelAllOrders(symbol = undefined, params = {}) {
    const { market, request } = await this.ownFilters(
      symbol,
      undefined,
      undefined,
      this.omit(this.paramsOf(params), "stop")
    )
    const { trigger, ...rest } = request
    if (trigger !== undefined) rest.order_filter = trigger === true ? "Conditional" : "Active"
    const { list } = await this.privatePostOrderCancelAll(rest)
    return list.map((order) => this.parseOrder(order, market))
  }
  /** The dead-man's switch: `timeout` in ms, 0 ends it. */
  async cancelAllOrdersAfter(timeout, params = {}) {
    await this.loadMarkets()
    const milliseconds = this.whole(timeout, "timeout")
    if (milliseconds === undefined) throw new ArgumentsRequired(`${this.id} needs a timeout`)
    const request = { sub_account_address: await this.subAccount(this.paramsOf(params)), enabled: milliseconds > 0 }
    if (milliseconds > 0) request.time_window = Math.ceil(milliseconds / 1000)
    return this.privatePostOrderDisconnectCancelAll({ ...request, ...params })
  }
  /** Closes the whole position at the market. */
  async closePosition(symbol, side = undefined, params = {}) {
    const sub_account_address = await this.subAccount(this.paramsOf(params))
    const { contracts, side: held } = await this.fetchPosition(symbol, { sub_account_address })
    if (held === undefined) throw new InvalidOrder(`${this.id} has no position in ${symbol}`)
    const way = held === "long" ? "sell" : "buy"
    return this.createOrder(symbol, "market", way, contracts, undefined, { reduceOnly: true, ...params })
  }

  async fetchOrder(id, symbol = undefined, params = {}) {
    await this.loadMarkets()
    const { clientOrderId, ...rest } = this.paramsOf(params)
    const own = { sub_account_address: await this.subAccount(rest), ...rest }
    const { list } = await this.privateGetOrderHistory({ ...own, ...this.referenceOf(id, clientOrderId) })
    if (list.length === 0) throw new OrderNotFound(`${this.id} order ${clientOrderId ?? id} not found`)
    return this.parseOrder(list[0], this.safeMarket(list[0].symbol, undefined, "-", "swap"))
  }
  async fetchOpenOrder(id, symbol = undefined, params = {}) {
    return this.ofStatus(await this.fetchOrder(id, symbol, params), "open", true)
  }
  async fetchClosedOrder(id, symbol = undefined, params = {}) {
    return this.ofStatus(await this.fetchOrder(id, symbol, params), "open", false)
  }
  ofStatus(order, status, isWanted) {
    if ((order.status === status) === isWanted) return order
    throw new OrderNotFound(`${this.id} order ${order.id} is ${order.status}`)
  }
  async fetchOpenOrders(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const known = await this.ownFilters(symbol, undefined, limit, this.omit(params, "trigger"))
    const list = await this.rowsOf("privateGetOrderRealtime", known, true)
    return this.parseOrders(list, known.market, this.whole(since, "since"), known.limit)
  }
  async fetchOrders(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const known = await this.ownFilters(symbol, since, limit, params)
    const list = await this.rowsOf("privateGetOrderHistory", known)
    return this.parseOrders(list, known.market, known.since, known.limit)
  }
  async fetchClosedOrders(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    return this.fetchOrders(symbol, since, limit, { order_status: "Filled", ...this.paramsOf(params) })
  }
  async fetchCanceledOrders(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const order_status = "Canceled,PartiallyFilledCanceled,Deactivated"
    return this.fetchOrders(symbol, since, limit, { order_status, ...this.paramsOf(params) })
  }
  async fetchCanceledAndClosedOrders(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const order_status = "Filled,Canceled,PartiallyFilledCanceled,Deactivated,Rejected,Expired"
    return this.fetchOrders(symbol, since, limit, { order_status, ...this.paramsOf(params) })
  }
  async fetchMyTrades(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    const known = await this.ownFilters(symbol, since, limit, params)
    const list = await this.rowsOf("privateGetExecutionList", known, false, this.isTrade)
    return this.parseTrades(list, known.market, known.since, known.limit)
  }
  async fetchOrderTrades(id, symbol = undefined, since = undefined, limit = undefined, params = {}) {
    return this.fetchMyTrades(symbol, since, limit, { ...this.referenceOf(id, undefined), ...this.paramsOf(params) })
  }
}
