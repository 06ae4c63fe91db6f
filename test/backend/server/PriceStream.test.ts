import { EventEmitter } from "node:events"
import { status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { HEARTBEAT_MS, SUBSCRIBER_STALL_MS, SUBSCRIBERS_MAX } from "../../../src/backend/server/EventStream.ts"
import { type PriceCall, PRICES_MS, PriceStream } from "../../../src/backend/server/PriceStream.ts"
import type { StreamPricesResponse } from "../../../src/proto/gateway/v1/referee.ts"
import type { Prices } from "../../../src/proto/gateway/v1/types.ts"

/** A call whose client reads while `reads` is set. */
class FakeCall extends EventEmitter {
  readonly request: { readonly symbols: ReadonlyArray<string> }
  readonly frames: Array<StreamPricesResponse> = []
  readonly codes: Array<status> = []
  reads = true
  constructor(symbols: ReadonlyArray<string> = []) {
    super()
    this.request = { symbols }
    this.on("error", (error: { readonly code: status }) => this.codes.push(error.code))
  }
  write(frame: StreamPricesResponse): boolean {
    this.frames.push(frame)
    return this.reads
  }
  /** Symbols of the frames with prices since the last call. */
  taken(): ReadonlyArray<ReadonlyArray<string>> {
    return this.frames
      .splice(0)
      .filter(({ prices }) => prices.length > 0)
      .map(({ prices }) => prices.map(({ symbol }) => symbol))
  }
}

const btc: Prices = {
  symbol: "BTC-USDC",
  mark_price: "60000",
  index_price: "60001",
  funding_rate: "0.0001",
  next_funding_time_ms: 28_800_000,
  open_interest: "3",
  last_price: "60002",
  ts_ms: 1
}
const eth: Prices = { ...btc, symbol: "ETH-USDC", mark_price: "3000" }

describe("PriceStream", () => {
  let prices: ReadonlyArray<Prices>
  let stream: PriceStream
  const subscribe = (call = new FakeCall()): FakeCall => {
    stream.subscribe(call as unknown as PriceCall)
    return call
  }

  beforeEach(() => {
    vi.useFakeTimers()
    prices = [btc, eth]
    stream = new PriceStream({ prices: () => prices, appliedSeq: () => 7, now: () => Date.now() })
  })
  afterEach(() => {
    stream.stop()
    vi.useRealTimers()
  })

  it("sends all prices first, then those that changed, and nothing while none does", () => {
    const all = subscribe()
    const one = subscribe(new FakeCall(["ETH-USDC"]))
    assert.deepStrictEqual([all.taken(), one.taken()], [[["BTC-USDC", "ETH-USDC"]], [["ETH-USDC"]]])
    // the first look compares with nothing
    vi.advanceTimersByTime(PRICES_MS)
    assert.deepStrictEqual([all.taken().length, one.taken().length], [1, 1])
    // a new time alone is no change
    prices = [
      { ...btc, ts_ms: 2 },
      { ...eth, ts_ms: 2 }
    ]
    vi.advanceTimersByTime(5 * PRICES_MS)
    assert.deepStrictEqual([all.taken(), one.taken()], [[], []])
    for (const change of [
      { mark_price: "1" },
      { index_price: "1" },
      { funding_rate: "1" },
      { next_funding_time_ms: 1 },
      { open_interest: "1" },
      { last_price: "1" }
    ]) {
      prices = [{ ...prices[0]!, ...change }, eth]
      vi.advanceTimersByTime(PRICES_MS)
      assert.deepStrictEqual(
        one.frames.filter(({ heartbeat }) => heartbeat === undefined),
        []
      )
      assert.deepStrictEqual([all.taken(), one.taken()], [[["BTC-USDC"]], []], Object.keys(change)[0])
    }
  })

  it("sends a heartbeat every second", () => {
    const call = subscribe()
    call.frames.length = 0
    vi.advanceTimersByTime(3 * HEARTBEAT_MS)
    const beats = call.frames.flatMap(({ heartbeat }) => heartbeat ?? [])
    assert.deepStrictEqual(
      beats.map(({ applied_seq }) => applied_seq),
      [7, 7, 7]
    )
  })

  it("sends the current prices to a slow client once it reads again, and ends one that does not", () => {
    const [late, stuck] = [new FakeCall(), new FakeCall()]
    for (const call of [late, stuck]) {
      call.reads = false
      subscribe(call)
    }
    // the first frame was not taken
    assert.deepStrictEqual([late.taken(), stuck.taken()], [[], []])
    prices = [{ ...btc, mark_price: "1" }, eth]
    vi.advanceTimersByTime(HEARTBEAT_MS)
    assert.deepStrictEqual([late.frames, stuck.frames], [[], []])
    late.reads = true
    late.emit("drain")
    assert.deepStrictEqual(late.taken(), [["BTC-USDC", "ETH-USDC"]])
    vi.advanceTimersByTime(SUBSCRIBER_STALL_MS)
    assert.deepStrictEqual([late.codes, stuck.codes], [[], [status.RESOURCE_EXHAUSTED]])
    assert.deepStrictEqual(stuck.frames, [])
  })

  it("limits the subscribers, frees the slot of a closed stream, and ends all when it stops", () => {
    const calls = Array.from({ length: SUBSCRIBERS_MAX }, () => subscribe())
    assert.deepStrictEqual(subscribe().codes, [status.RESOURCE_EXHAUSTED])
    calls[0]!.emit("cancelled")
    calls[1]!.emit("close")
    const [first, second] = [subscribe(), subscribe()]
    assert.deepStrictEqual([first.codes, second.codes, subscribe().codes], [[], [], [status.RESOURCE_EXHAUSTED]])
    stream.stop()
    assert.deepStrictEqual(
      [calls[0]!.codes, calls[2]!.codes, first.codes],
      [[], [status.UNAVAILABLE], [status.UNAVAILABLE]]
    )
    assert.deepStrictEqual(subscribe().codes, [status.UNAVAILABLE])
  })
})
