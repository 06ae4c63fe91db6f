/**
 * The gateway's feeds as CCXT's `watch` methods. Books are verified by sequence and checksum, and reloaded after a fault. After a
 * reconnect the private topics resume at their last event. What cannot be resumed begins with a snapshot, and what that lacks is read by REST.
 */
import { NetworkError } from "ccxt"
import { Rest } from "./Rest.js"
import { Updates } from "./Updates.js"

const DEPTHS = [1, 50, 200, 1000]
/** Levels per side that a checksum covers. */
const CHECKSUM_LEVELS = 25
/** Records that are kept of each kind, or candles of each market. */
const KEPT_MAX = 1000
/** Most time in ms by which the event of an order follows its creation. */
const EVENT_LATE_MAX_MS = 60_000

/** The name of a topic's records; those of a private topic are apart for each sub-account. */
const feedOf = (topic, address) => (address === undefined ? topic : `${topic}::${address}`)

/** Levels of one side with the gateway's texts, which the checksum needs. */
class Ladder {
  #sign
  levels = []
  constructor(isBids) {
    this.#sign = isBids ? -1 : 1
  }
  set([price, qty]) {
    const key = Number(price) * this.#sign
    let [low, high] = [0, this.levels.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.levels[middle].key < key) low = middle + 1
      else high = middle
    }
    const isKnown = this.levels[low]?.key === key
    this.levels.splice(low, isKnown ? 1 : 0, ...(qty === "0" ? [] : [{ key, price, qty }]))
  }
}

export class TradingGateway extends Rest {
  /** Books by topic, records by topic and sub-account, and candles by topic. */
  #books = new Map()
  #updates = new Map()
  #candles = new Map()
  /** Position in the stream of each private topic, and the time of its last event. */
  #since = new Map()
  #times = new Map()
  /** Names of watchers that did not wait when fills were lost: their next call fails. */
  #losses = new Set()
  #balance = { list: [] }

  // ---- connections

  urlOf(isPrivate) {
    const base = this.urls.api.ws ?? this.urls.api.rest.replace(/^http/u, "ws")
    return `${base.replace(/\/$/u, "")}/ws/${isPrivate ? "private" : "public"}`
  }
  ping() {
    return { op: "ping", req_id: "ping" }
  }
  /** Follows a topic and resolves with its next message. */
  async follow(topic, hash = topic, isPrivate = false) {
    const url = this.urlOf(isPrivate)
    // CCXT needs it for ws:// without TLS
    await this.loadHttpProxyAgent()
    if (isPrivate) await this.authenticate(url)
    const since = this.#since.get(topic)
    const message = this.omitUndefined({ op: "subscribe", args: [topic], req_id: topic, since })
    return this.watch(url, hash, message, topic, topic)
  }
  async authenticate(url) {
    const client = this.client(url)
    const future = client.reusableFuture("authenticated")
    if (client.subscriptions.authenticated === undefined) {
      const { nonce, signature, timestamp } = this.signed((time, fresh) => `SERVICE_WS|AUTH|${time}|${fresh}`)
      const frame = { op: "auth", req_id: "auth", api_key: this.apiKey, signature, timestamp_ms: timestamp, nonce }
      this.watch(url, "authenticated", frame, "authenticated")
    }
    return future
  }
  handleMessage(client, message) {
    // a connection that was given up may still deliver what it had received
    if (this.clients[client.url] !== client) return
    switch (message.op) {
      case "pong":
        client.lastPong = this.milliseconds()
        break
      case "auth":
        this.handleAuth(client, message)
        break
      case "error":
        this.handleError(client, message)
        break
      case "event":
        this.handleEvent(client, message)
    }
  }
  handleAuth(client, message) {
    // the future stays, for topics that are followed later
    if (message.success) return client.futures.authenticated?.resolve(true)
    delete client.subscriptions.authenticated
    client.reject(this.errorOf(401, message), "authenticated")
  }
  /** A snapshot that follows a position: the events between them are lost. */
  handleGap(client, topic, list) {
    if (topic === "account_balance") return undefined // its snapshot is complete
    if (topic === "execution") return this.loseFills(client)
    const [since, time] = [this.#since.get(topic), this.#times.get(topic)]
    return this.readMissed(client, topic, time, list).catch((error) => {
      // the next connection finds the same gap, and reads again
      this.#since.set(topic, since)
      this.#times.set(topic, time)
      const current = this.clients[client.url]
      current?.onError(error)
      current?.close()
    })
  }
  /** Reads what a snapshot lacks: orders that became final since a time, and positions that were closed. */
  async readMissed(client, topic, time, list) {
    const isOrder = topic === "order"
    const keyOf = ({ order_id, sub_account_address, symbol }) =>
      isOrder ? order_id : `${sub_account_address} ${symbol}`
    const isOpen = ({ side, status }) => (isOrder ? status === "open" : side !== undefined)
    const shown = new Set(list.map(keyOf))
    const feeds = [...this.#updates].filter(([feed]) => feed.split("::")[0] === topic)
    const known = feeds.flatMap(([, updates]) => updates.all().map((record) => ({ record, updates })))
    const missed = []
    for (const { record, updates } of known) {
      if (!isOpen(record) || shown.has(keyOf(record.info))) continue
      const { order_id, sub_account_address, symbol } = record.info
      const { list: rows } = isOrder
        ? await this.privateGetOrderHistory({ sub_account_address, order_id })
        : await this.privateGetPositionList({ sub_account_address, symbol })
      // an event that arrived meanwhile is newer
      if (updates.has(record)) missed.push(...rows)
    }
    if (isOrder) {
      for (const { record } of known) shown.add(keyOf(record.info))
      const request = { start_time: Math.max(0, time - EVENT_LATE_MAX_MS) }
      // older ones would not be kept
      const rows = await this.rowsOf("privateGetOrderHistory", { request, limit: KEPT_MAX })
      const created = rows.filter((row) => !shown.has(row.order_id) && !isOpen(this.parseOrder(row)))
      missed.push(...created.toReversed())
    }
    this.handleRecords(client, topic, missed, PARSERS[topic].bind(this))
  }
  /** Fills have no snapshot, and one that is reported late could be counted twice: their watchers fail once. */
  loseFills(client) {
    for (const [feed, updates] of this.#updates) {
      if (feed.split("::")[0] !== "execution") continue
      this.#updates.delete(feed)
      for (const hash of updates.hashes) {
        if (hash in client.futures) client.reject(this.lossError(), hash)
        else this.#losses.add(hash)
      }
    }
  }
  lossError() {
    return new NetworkError(`${this.id} fills were lost with a connection: read them with fetchMyTrades`)
  }
  /** An error of a topic ends its watchers; another one ends all, since it does not name the message that was refused. */
  handleError(client, message) {
    const { code, topic } = message
    const status = { NOT_FOUND: 404, SERVICE_UNAVAILABLE: 503, UNAUTHORIZED: 401, RateLimitExceeded: 429 }[code] ?? 400
    const error = this.errorOf(status, message)
    if (topic === undefined) {
      client.subscriptions = {}
      return client.reject(error)
    }
    delete client.subscriptions[topic]
    for (const hash of Object.keys(client.futures)) if (hash.split("::")[0] === topic) client.reject(error, hash)
  }
  onClose(client, error) {
    for (const book of this.#books.values()) if (book.client === client) book.isSound = false
    super.onClose(client, error)
  }
  handleEvent(client, { data, topic }) {
    const [kind] = topic.split(".")
    if (kind === "orderbook") this.handleOrderBook(client, topic, data)
    else if (kind === "ticker") this.handleTicker(client, topic, data)
    else if (kind === "trade")
      this.handleRecords(client, topic, data.list, (trade) => this.parseTrade({ ...trade, symbol: data.symbol }))
    else if (kind === "kline") this.handleCandles(client, topic, data)
    else if (data.stream_id !== undefined) {
      if (data.type === "snapshot" && this.#since.has(topic)) this.handleGap(client, topic, data.list)
      this.#since.set(topic, { stream_id: data.stream_id, seq: data.seq })
      this.#times.set(topic, data.mts)
      if (kind === "account_balance") this.handleBalance(client, topic, data)
      else this.handleRecords(client, topic, data.list.filter(this.isTrade), PARSERS[kind].bind(this))
    }
  }

  // ---- market data

  async watchTicker(symbol, params = {}) {
    this.paramsOf(params)
    const market = await this.marketOf(symbol)
    return this.follow(`ticker.${market.id}`)
  }
  handleTicker(client, topic, data) {
    const ticker = this.parseTicker(data)
    this.tickers[ticker.symbol] = ticker
    client.resolve(ticker, topic)
  }
  async watchTickers(symbols = undefined, params = {}) {
    await this.loadMarkets()
    this.paramsOf(params)
    const wanted = this.symbolsOf(symbols) ?? this.symbols
    const ticker = await Promise.race(wanted.map((symbol) => this.watchTicker(symbol)))
    return this.newUpdates ? { [ticker.symbol]: ticker } : this.filterByArray(this.tickers, "symbol", wanted)
  }

  async watchOrderBook(symbol, limit = undefined, params = {}) {
    this.paramsOf(params)
    const market = await this.marketOf(symbol)
    const rows = this.whole(limit, "limit") ?? 50
    const depth = DEPTHS.find((known) => known >= rows) ?? DEPTHS.at(-1)
    const book = await this.follow(`orderbook.${depth}.${market.id}`)
    return { ...book, bids: book.bids.slice(0, rows), asks: book.asks.slice(0, rows) }
  }
  handleOrderBook(client, topic, data) {
    let book = this.#books.get(topic)
    if (data.type === "snapshot") {
      book = { client, bids: new Ladder(true), asks: new Ladder(false), isSound: true }
      this.#books.set(topic, book)
    } else if (book?.isSound !== true) return undefined
    else if (data.prev_seq !== book.seq) return this.reload(client, topic, book)
    for (const level of data.bids) book.bids.set(level)
    for (const level of data.asks) book.asks.set(level)
    book.seq = data.seq
    if (this.checksumOf(book) !== data.checksum) return this.reload(client, topic, book)
    const side = (ladder) => ladder.levels.map(({ price, qty }) => [Number(price), Number(qty)])
    const symbol = this.symbolOf(data.symbol)
    const times = this.timesOf(data, "ts")
    const unified = { symbol, bids: side(book.bids), asks: side(book.asks), ...times, nonce: data.seq }
    this.orderbooks[symbol] = unified
    return client.resolve(unified, topic)
  }
  checksumOf({ asks, bids }) {
    const parts = []
    for (let i = 0; i < CHECKSUM_LEVELS; i++) {
      for (const level of [bids.levels[i], asks.levels[i]]) if (level !== undefined) parts.push(level.price, level.qty)
    }
    return parts.length === 0 ? 0 : this.crc32(parts.join(":"), false)
  }
  /** Subscribes again after a fault; the next snapshot repairs the book. */
  reload(client, topic, book) {
    book.isSound = false
    client.send({ op: "subscribe", args: [topic], req_id: topic }).catch((error) => client.onError(error))
  }

  async watchTrades(symbol, since = undefined, limit = undefined, params = {}) {
    this.paramsOf(params)
    const market = await this.marketOf(symbol)
    return this.records(`trade.${market.id}`, undefined, [undefined], since, limit)
  }
  async watchOHLCV(symbol, timeframe = "1m", since = undefined, limit = undefined, params = {}) {
    this.paramsOf(params)
    const market = await this.marketOf(symbol)
    const start = this.whole(since, "since")
    const rows = this.whole(limit, "limit")
    const candles = await this.follow(`kline.${this.intervalOf(timeframe)}.${market.id}`)
    return this.filterBySinceLimit(candles, start, rows, 0, true)
  }
  handleCandles(client, topic, data) {
    const known = this.#candles.get(topic) ?? new Map()
    this.#candles.set(topic, known)
    for (const candle of data.list) {
      const row = this.parseOHLCV(candle)
      known.set(row[0], row)
      if (known.size > KEPT_MAX) known.delete(known.keys().next().value)
    }
    client.resolve([...known.values()], topic)
  }

  // ---- the caller's own records

  /**
   * Records of a topic, of a sub-account if it is private: those since the last call, or all with `newUpdates` false. `symbols`:
   * `undefined` as an entry selects all.
   */
  async records(topic, address, symbols, since, limit) {
    const feed = feedOf(topic, address)
    const start = this.whole(since, "since")
    const rows = this.whole(limit, "limit")
    const hashes = symbols.map((symbol) => (symbol === undefined ? feed : `${feed}::${symbol}`))
    const lost = hashes.filter((hash) => this.#losses.delete(hash))
    if (lost.length > 0) throw this.lossError()
    const updates = this.updatesOf(feed)
    for (const hash of hashes) updates.hashes.add(hash)
    const next = Promise.race(hashes.map((hash) => this.follow(topic, hash, address !== undefined)))
    if (symbols.some((symbol) => updates.hasFresh(symbol))) next.catch(() => {})
    else await next
    const taken = symbols.flatMap((symbol) => updates.take(symbol, !this.newUpdates))
    return this.filterBySinceLimit(taken, start, rows, "timestamp", true)
  }
  updatesOf(feed) {
    const [kind] = feed.split(/[.:]/u)
    const idOf = kind === "position" ? ({ symbol }) => symbol : ({ id }) => id
    const areFinal = kind === "trade" || kind === "execution"
    if (!this.#updates.has(feed)) this.#updates.set(feed, new Updates(KEPT_MAX, idOf, areFinal))
    return this.#updates.get(feed)
  }
  handleRecords(client, topic, list, parse) {
    const hashes = new Set()
    for (const item of list) {
      const record = parse(item)
      const feed = feedOf(topic, item.sub_account_address)
      if (this.updatesOf(feed).append(record)) hashes.add(feed).add(`${feed}::${record.symbol}`)
    }
    for (const hash of hashes) client.resolve(true, hash)
  }
  async ownRecords(topic, symbol, since, limit, params) {
    await this.loadMarkets()
    const address = await this.subAccount(this.paramsOf(params))
    const market = symbol === undefined || symbol === null ? undefined : await this.marketOf(symbol)
    return this.records(topic, address, [market?.symbol], since, limit)
  }
  async watchOrders(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    return this.ownRecords("order", symbol, since, limit, params)
  }
  async watchMyTrades(symbol = undefined, since = undefined, limit = undefined, params = {}) {
    return this.ownRecords("execution", symbol, since, limit, params)
  }
  async watchPositions(symbols = undefined, since = undefined, limit = undefined, params = {}) {
    await this.loadMarkets()
    const address = await this.subAccount(this.paramsOf(params))
    return this.records("position", address, this.symbolsOf(symbols) ?? [undefined], since, limit)
  }
  async watchBalance(params = {}) {
    await this.loadMarkets()
    const { sub_account_address } = this.paramsOf(params)
    const address = await this.subAccount({ sub_account_address })
    await this.follow("account_balance", "account_balance", true)
    const list = this.#balance.list.filter((balance) => balance.sub_account_address === address)
    return this.parseBalance({ list })
  }
  handleBalance(client, topic, data) {
    const keyOf = ({ asset, sub_account_address }) => `${sub_account_address} ${asset}`
    const known = new Map(this.#balance.list.map((balance) => [keyOf(balance), balance]))
    for (const balance of data.list) known.set(keyOf(balance), balance)
    this.#balance = { list: [...known.values()] }
    client.resolve(this.#balance, topic)
  }
}

const PARSERS = {
  order(record) {
    return this.parseOrder(record)
  },
  execution(record) {
    return this.parseTrade(record)
  },
  position(record) {
    return this.parsePosition(record)
  }
}

export default TradingGateway
