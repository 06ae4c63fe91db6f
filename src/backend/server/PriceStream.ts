/**
 * Streams prices to subscribers: all prices first, then changed ones, at most every 200 ms per market, and a heartbeat
 * every second. Only the newest price matters, so a slow subscriber gets all current prices once it reads again.
 * Source: docs/contract/boundary.md#referee.
 */
import { type ServerWritableStream, status } from "@grpc/grpc-js"
import { type StreamPricesRequest, StreamPricesResponse } from "../../proto/gateway/v1/referee.ts"
import { Prices } from "../../proto/gateway/v1/types.ts"
import { fail, HEARTBEAT_MS, SUBSCRIBER_STALL_MS, SUBSCRIBERS_MAX } from "./EventStream.ts"

/** Source: docs/contract/boundary.md#referee. */
export const PRICES_MS = 200

export type PriceCall = ServerWritableStream<StreamPricesRequest, StreamPricesResponse>

interface Subscriber {
  readonly call: PriceCall
  /** Empty: all markets. */
  readonly symbols: ReadonlySet<string>
  stalledSince: number | undefined
}

export interface PriceSource {
  readonly prices: () => ReadonlyArray<Prices>
  readonly appliedSeq: () => number
  readonly now: () => number
  /** Calls back when no turn is half applied; by default at once. */
  readonly whenConsistent?: (read: () => void) => void
  /** Calls back once what the prices follow from is durable; by default at once. */
  readonly whenDurable?: (send: () => void) => void
}

const same = (a: Prices, b: Prices | undefined): boolean =>
  b !== undefined &&
  a.mark_price === b.mark_price &&
  a.index_price === b.index_price &&
  a.funding_rate === b.funding_rate &&
  a.next_funding_time_ms === b.next_funding_time_ms &&
  a.open_interest === b.open_interest &&
  a.last_price === b.last_price

export class PriceStream {
  private readonly source: PriceSource
  private readonly subscribers = new Set<Subscriber>()
  private readonly timers: ReadonlyArray<NodeJS.Timeout>
  private published = new Map<string, Prices>()
  private stopped = false

  constructor(source: PriceSource) {
    this.source = source
    this.timers = [
      setInterval(() => this.whenConsistent(() => this.publish()), PRICES_MS),
      setInterval(() => this.sendHeartbeats(), HEARTBEAT_MS)
    ]
  }

  subscribe(call: PriceCall): void {
    if (this.stopped) return void fail(call, status.UNAVAILABLE, "the backend is stopping")
    if (this.subscribers.size >= SUBSCRIBERS_MAX) {
      return void fail(call, status.RESOURCE_EXHAUSTED, "too many subscribers")
    }
    const subscriber: Subscriber = { call, symbols: new Set(call.request.symbols), stalledSince: undefined }
    this.subscribers.add(subscriber)
    const leave = () => this.subscribers.delete(subscriber)
    call.on("cancelled", leave)
    call.on("close", leave)
    const sendAll = () =>
      this.whenConsistent(() => {
        if (!this.subscribers.has(subscriber)) return
        const prices = this.source.prices()
        this.whenDurable(() => this.send(subscriber, prices))
      })
    call.on("drain", () => {
      subscriber.stalledSince = undefined
      sendAll()
    })
    this.write(subscriber, { prices: [], heartbeat: this.heartbeat() })
    sendAll()
  }

  private whenConsistent(read: () => void): void {
    if (this.source.whenConsistent === undefined) read()
    else this.source.whenConsistent(read)
  }
  private whenDurable(send: () => void): void {
    if (this.source.whenDurable === undefined) send()
    else this.source.whenDurable(send)
  }

  stop(): void {
    this.stopped = true
    for (const timer of this.timers) clearInterval(timer)
    for (const { call } of this.subscribers) fail(call, status.UNAVAILABLE, "the backend is stopping")
    this.subscribers.clear()
  }

  private publish(): void {
    if (this.subscribers.size === 0) return
    const prices = this.source.prices()
    const changed = prices.filter((price) => !same(price, this.published.get(price.symbol)))
    if (changed.length === 0) return
    this.published = new Map(prices.map((price) => [price.symbol, price]))
    this.whenDurable(() => {
      for (const subscriber of this.subscribers) this.send(subscriber, changed)
    })
  }

  private sendHeartbeats(): void {
    const heartbeat = this.heartbeat()
    for (const subscriber of this.subscribers) {
      if (subscriber.stalledSince === undefined) this.write(subscriber, { prices: [], heartbeat })
      else if (heartbeat.server_ts_ms - subscriber.stalledSince >= SUBSCRIBER_STALL_MS) {
        this.subscribers.delete(subscriber)
        fail(subscriber.call, status.RESOURCE_EXHAUSTED, "too slow: no frame was read")
      }
    }
  }

  private heartbeat() {
    return { applied_seq: this.source.appliedSeq(), server_ts_ms: this.source.now() }
  }

  private send(subscriber: Subscriber, prices: ReadonlyArray<Prices>): void {
    if (subscriber.stalledSince !== undefined) return
    const { symbols } = subscriber
    const wanted = prices.filter((price) => symbols.size === 0 || symbols.has(price.symbol))
    if (wanted.length > 0) this.write(subscriber, { prices: wanted, heartbeat: undefined })
  }

  private write(subscriber: Subscriber, frame: StreamPricesResponse): void {
    if (!subscriber.call.write(frame)) subscriber.stalledSince = this.source.now()
  }
}
