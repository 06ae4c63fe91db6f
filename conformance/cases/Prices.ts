/** Prices of the referee and parameters of the markets, which every gateway needs at its start. */
import { Effect } from "effect"
import { RefereeService, type StreamPricesResponse } from "../../src/proto/gateway/v1/referee.ts"
import { SequencerService } from "../../src/proto/gateway/v1/sequencer.ts"
import { type Case } from "../Case.ts"
import * as Exact from "../Exact.ts"
import { abandon } from "../Link.ts"
import { World } from "../World.ts"
import { broken, expect, expectEqual } from "../Expect.ts"

const isPositive = (text: string) => Exact.isCanonical(text) && Exact.parse(text)! > 0n

const instruments: Case = {
  name: "instruments",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (ListInstruments), docs/contract/conventions.md#decimals",
  claim: "each market has a unique symbol and positive steps and limits in canonical decimals",
  run: Effect.gen(function* () {
    const { ask } = yield* World
    const { instruments } = yield* ask.sequencer(SequencerService.listInstruments, {})
    const symbols = instruments.map(({ symbol }) => symbol)
    yield* expectEqual("symbols that are named twice", symbols.length - new Set(symbols).size, 0)
    for (const market of instruments) {
      const { base_asset, quote_asset, symbol } = market
      yield* expect(/^[A-Z0-9]{2,12}-[A-Z0-9]{2,12}$/u.test(symbol), `${symbol} is no symbol`)
      yield* expectEqual("the symbol of a market's assets", symbol, `${base_asset}-${quote_asset}`)
      for (const field of ["tick_size", "qty_step", "min_order_qty", "max_order_qty", "max_price"] as const)
        yield* expect(isPositive(market[field]), `${field} of ${symbol} is "${market[field]}"`)
    }
  })
}

const prices: Case = {
  name: "prices",
  level: "core",
  clause: "docs/contract/boundary.md#referee (GetPrices)",
  claim: "GetPrices returns mark and index of the given markets, or of all markets",
  run: Effect.gen(function* () {
    const { ask, symbol } = yield* World
    const { instruments } = yield* ask.sequencer(SequencerService.listInstruments, {})
    const all = yield* ask.referee(RefereeService.getPrices, { symbols: [] })
    yield* expectEqual(
      "the markets of GetPrices",
      all.prices.map(({ symbol }) => symbol).toSorted(),
      instruments.map(({ symbol }) => symbol).toSorted()
    )
    const one = yield* ask.referee(RefereeService.getPrices, { symbols: [symbol] })
    yield* expectEqual(
      "the markets of GetPrices with one named",
      one.prices.map(({ symbol }) => symbol),
      [symbol]
    )
    for (const { index_price, mark_price, symbol } of all.prices) {
      yield* expect(isPositive(mark_price), `mark_price of ${symbol} is "${mark_price}"`)
      yield* expect(isPositive(index_price), `index_price of ${symbol} is "${index_price}"`)
    }
  })
}

const stream: Case = {
  name: "price-stream",
  level: "core",
  clause: "docs/contract/boundary.md#referee (StreamPrices), docs/contract/boundary.md#lagging",
  claim: "StreamPrices sends prices of the given markets only, and heartbeats with the applied seq",
  run: Effect.gen(function* () {
    const { link, options, record, symbol } = yield* World
    const frames = yield* Effect.callback<ReadonlyArray<StreamPricesResponse>>((resume) => {
      const frames: Array<StreamPricesResponse> = []
      const call = link.referee.read(RefereeService.streamPrices, { symbols: [symbol] })
      const stop = () => resume(Effect.succeed(frames))
      call.on("error", stop)
      call.on("end", stop)
      call.on("data", (frame: StreamPricesResponse) => {
        frames.push(frame)
        const priced = frames.some(({ prices }) => prices.length > 0)
        if (priced && frames.some(({ heartbeat }) => heartbeat !== undefined)) stop()
      })
      return Effect.sync(() => abandon(call))
    }).pipe(
      Effect.timeoutOrElse({
        duration: options.patience_ms,
        orElse: () => broken(`no prices, or no heartbeat, arrived within ${options.patience_ms} ms`)
      })
    )
    const named = new Set(frames.flatMap(({ prices }) => prices.map(({ symbol }) => symbol)))
    yield* expectEqual("the markets of the stream", [...named], [symbol])
    const beat = frames.find(({ heartbeat }) => heartbeat !== undefined)?.heartbeat
    const first = record.events[0]?.seq ?? 1
    yield* expect(
      beat !== undefined && beat.applied_seq >= first - 1,
      `a heartbeat has applied_seq ${beat?.applied_seq}; the run began at event ${first}`
    )
  })
}

export const cases: ReadonlyArray<Case> = [instruments, prices, stream]
