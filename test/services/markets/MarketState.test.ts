import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as FastCheck from "fast-check"
import { Book } from "../../../src/domain/Book.ts"
import type { Event } from "../../../src/domain/Event.ts"
import { flat } from "../../../src/domain/Candles.ts"
import type { Candle, Level } from "../../../src/domain/Market.ts"
import { type ModelPosition, Projecting } from "../../../src/domain/Projection.ts"
import { DAY_MS, MINUTE_MS } from "../../../src/domain/Time.ts"
import { type BookRead, MarketState } from "../../../src/services/markets/MarketState.ts"
import type { MarketChange } from "../../../src/services/markets/MarketView.ts"
import {
  alert,
  body,
  event,
  instrument,
  pool,
  prices,
  START,
  symbol,
  trade
} from "../../../verification/harness/Records.ts"

const NOW = 1_800_000_000_000
const clock = { ...Effect.runSync(Clock.Clock), currentTimeMillisUnsafe: () => NOW } as Clock.Clock

/** Markets fed as the projector feeds them. */
const setting = () => {
  const markets = new MarketState(clock)
  let projecting = new Projecting({ position: undefined, heads: [], candles: [] })
  const changes: Array<MarketChange> = []
  markets.view.follow((more) => changes.push(...more))
  let seq = 0
  const apply = (bodies: ReadonlyArray<Event["body"]>, fields: Partial<Event> = {}) => {
    const events = bodies.map((each) => event(++seq, each, fields))
    markets.apply(events, projecting.next("e1", events))
  }
  return {
    markets,
    changes,
    view: markets.view,
    seq: () => seq,
    apply: (...bodies: ReadonlyArray<Event["body"]>) => apply(bodies),
    applyAt: (ts_ms: number, ...bodies: ReadonlyArray<Event["body"]>) => apply(bodies, { ts_ms }),
    /** Begins again before the first event of another history, as after a restore. */
    restart: (stream: string) => {
      seq = 0
      const position: ModelPosition = { epoch: "e1", seq, began: 0, ts_ms: 0, stream }
      projecting = new Projecting({ position, heads: [], candles: [] })
      markets.start(position, [])
    },
    /** Answers the reads that are wanted now. */
    read: (answer: Partial<BookRead>) => {
      const wanted = markets.booksToRead()
      for (const { done } of wanted) done({ bids: [], asks: [], book_seq: 0, mts: START, as_of_seq: 0, ...answer })
      return wanted.length
    }
  }
}
/** Fails if an answer changed while the revision stood; to be called after every step. */
const revisionCheck = (view: MarketState["view"]) => {
  const answers = () =>
    JSON.stringify([
      view.instruments(),
      view.book(symbol),
      { ...view.ticker(symbol), ts: 0 },
      view.recentTrades(symbol, 1_000),
      Math.floor(view.now() / MINUTE_MS)
    ])
  let revision = view.revision()
  let before = answers()
  return () => {
    const after = answers()
    if (view.revision() === revision) assert.strictEqual(after, before)
    revision = view.revision()
    before = after
  }
}
const bid = (price: number, qty: number | string = 1): Level => [String(price), String(qty)]

describe("MarketState, books", () => {
  it("joins a read that is older than the stream with the changes that came meanwhile", () => {
    const { apply, markets, changes, view } = setting()
    apply(body.instrument())
    const [wanted] = markets.booksToRead()
    assert.deepStrictEqual(markets.booksToRead(), [], "one read at a time")
    apply(body.book(6, [bid(10)], []), body.book(7, [bid(11)], []))
    assert.isUndefined(view.book(symbol))
    wanted!.done({ bids: [bid(9)], asks: [bid(20)], book_seq: 5, mts: START, as_of_seq: 1 })
    assert.deepStrictEqual(view.book(symbol), {
      symbol,
      bids: [bid(11), bid(10), bid(9)],
      asks: [bid(20)],
      seq: 7,
      mts: START + 3
    })
    assert.isTrue(changes.at(-1)!.reset)
    assert.isUndefined(changes.at(-1)!.book)
  })

  it("delays a read ahead of the stream until the stream has reached it", () => {
    const { apply, markets, view } = setting()
    apply(body.instrument())
    const [wanted] = markets.booksToRead()
    apply(body.book(1, [bid(10)], []))
    wanted!.done({ bids: [bid(10), bid(9)], asks: [], book_seq: 2, mts: START, as_of_seq: 3 })
    assert.isUndefined(view.book(symbol), "event 3 is not committed yet")
    apply(body.book(2, [bid(9)], []), body.book(3, [bid(9, 0)], []))
    assert.deepStrictEqual(view.book(symbol)!.bids, [bid(10)])
    assert.strictEqual(view.book(symbol)!.seq, 3)
  })

  it("reads again where the read is too old, or a change is missing", () => {
    const { apply, read, view } = setting()
    apply(body.instrument(), body.prices({}), body.prices({}))
    assert.strictEqual(read({ book_seq: 0, as_of_seq: 2 }), 1)
    assert.isUndefined(view.book(symbol), "changes between 2 and 3 may have been missed")
    assert.strictEqual(read({ book_seq: 1, as_of_seq: 3, bids: [bid(5)] }), 1)
    assert.strictEqual(view.book(symbol)!.seq, 1)
    apply(body.book(3, [bid(6)], []))
    assert.isUndefined(view.book(symbol), "nobody sees a book with a hole")
    apply(body.book(4, [bid(7)], []))
    assert.strictEqual(read({ book_seq: 4, as_of_seq: 5, bids: [bid(7)] }), 1)
    assert.deepStrictEqual(view.book(symbol)!.bids, [bid(7)])
    assert.strictEqual(read({}), 0)
  })

  it("is level with the sequencer's book whenever it shows one, however reads and stream interleave", () => {
    const step = FastCheck.oneof(
      FastCheck.record({
        do: FastCheck.constant("change" as const),
        price: FastCheck.integer({ min: 1, max: 6 }),
        qty: FastCheck.integer({ min: 0, max: 3 }),
        ask: FastCheck.boolean()
      }),
      // a read is asked, is answered by the sequencer as it is then, or arrives
      FastCheck.record({
        do: FastCheck.constantFrom("ask" as const, "answer" as const, "arrive" as const, "stream" as const)
      })
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { maxLength: 80 }), (steps) => {
        const { apply, markets, view } = setting()
        apply(body.instrument())
        const truth = new Book()
        const at = new Map<number, ReadonlyArray<ReadonlyArray<Level>>>([[0, [[], []]]])
        const waiting: Array<Event["body"]> = []
        let done: ((read: BookRead) => void) | undefined
        let answer: BookRead | undefined
        let head = 1
        const checkRevision = revisionCheck(view)
        const check = () => {
          checkRevision()
          const book = view.book(symbol)
          if (book !== undefined) assert.deepStrictEqual([book.bids, book.asks], at.get(book.seq))
        }
        for (const each of steps) {
          if (each.do === "change") {
            const level: Level = [String(each.ask ? each.price + 10 : each.price), String(each.qty)]
            const [bids, asks] = each.ask ? [[], [level]] : [[level], []]
            truth.apply(bids, asks, truth.seq + 1)
            at.set(truth.seq, [truth.bids(), truth.asks()])
            waiting.push(body.book(truth.seq, bids, asks))
            head++
          } else if (each.do === "ask") done ??= markets.booksToRead()[0]?.done
          else if (each.do === "answer" && done !== undefined && answer === undefined) {
            answer = { bids: truth.bids(), asks: truth.asks(), book_seq: truth.seq, mts: START, as_of_seq: head }
          } else if (each.do === "arrive" && answer !== undefined) {
            done!(answer)
            done = undefined
            answer = undefined
          } else if (each.do === "stream" && waiting.length > 0)
            apply(...waiting.splice(0, Math.ceil(waiting.length / 2)))
          check()
        }
        // in the end it always gets there
        while (waiting.length > 0) apply(...waiting.splice(0))
        if (done !== undefined)
          done(answer ?? { bids: truth.bids(), asks: truth.asks(), book_seq: truth.seq, mts: START, as_of_seq: head })
        for (const { done } of markets.booksToRead()) {
          done({ bids: truth.bids(), asks: truth.asks(), book_seq: truth.seq, mts: START, as_of_seq: head })
        }
        check()
        assert.strictEqual(view.book(symbol)!.seq, truth.seq)
      }),
      { numRuns: 200 }
    )
  })

  it("reads a book again whose changes during a read are too many to keep", () => {
    const { apply, markets } = setting()
    apply(body.instrument())
    assert.lengthOf(markets.booksToRead(), 1)
    const changes = (from: number, count: number) =>
      apply(...Array.from({ length: count }, (_, i) => body.book(from + i, [bid(1)], [])))
    changes(1, 50_000)
    assert.lengthOf(markets.booksToRead(), 0)
    changes(50_001, 1)
    assert.lengthOf(markets.booksToRead(), 1)
  })

  it("shows levels in canonical form, and the time of the last change", () => {
    const { apply, read, view } = setting()
    apply(body.instrument())
    read({ as_of_seq: 1, bids: [["10.0", "1.50"]] })
    assert.deepInclude(view.book(symbol), { bids: [bid(10, "1.5")], mts: START })
    apply(body.book(1, [["11.00", "2.0"]], []))
    assert.deepInclude(view.book(symbol), { bids: [bid(11, 2), bid(10, "1.5")], mts: START + 2 })
  })

  it("reports the net change of a batch, from the seq before it to the seq after it", () => {
    const { apply, read, changes } = setting()
    apply(body.instrument())
    read({ as_of_seq: 1 })
    changes.length = 0
    apply(
      body.book(1, [bid(10), bid(9)], []),
      body.book(2, [bid(10, 0)], [bid(20)]),
      body.book(3, [], [bid(20, 5)]),
      body.trades({ trade_id: "1" })
    )
    assert.strictEqual(changes.length, 1)
    const { book, prints, reset, tickerChanged } = changes[0]!
    assert.deepStrictEqual(book, {
      prev_seq: 0,
      seq: 3,
      mts: START + 4,
      bids: [bid(10, 0), bid(9)],
      asks: [bid(20, 5)]
    })
    assert.deepStrictEqual(
      prints.map((print) => print.map((each) => each.trade_id)),
      [["1"]]
    )
    assert.isFalse(reset)
    assert.isTrue(tickerChanged)
  })

  it("follows a book that shares its numbers with fills, and reads it again if a change is missing", () => {
    const { apply, read, view } = setting()
    apply(body.instrument())
    read({ as_of_seq: 1, book_seq: 4 })
    const linked = (book_seq: number, prev_book_seq: number, price: number) => ({
      ...body.book(book_seq, [bid(price)], []),
      prev_book_seq
    })
    apply(linked(7, 4, 10), linked(8, 7, 11))
    assert.deepStrictEqual([view.book(symbol)!.seq, view.book(symbol)!.bids.length], [8, 2])
    apply(linked(8, 7, 12))
    assert.deepStrictEqual([view.book(symbol)?.seq, view.book(symbol)?.bids.length], [8, 2], "a repeated change")
    apply(linked(12, 10, 12))
    assert.isUndefined(view.book(symbol), "a change is missing")
  })

  it("shows open interest and volume of the same trades in one ticker", () => {
    const { apply, view } = setting()
    apply(body.instrument(), body.prices({ open_interest: "2" }))
    apply({ ...body.trades({ qty: "0.5" }), open_interest: "2.5" } as Event["body"])
    assert.deepInclude(view.ticker(symbol), { volume_24h: "0.5", open_interest: "2.5", open_interest_value: "150000" })
    apply(body.prices({ open_interest: "3" }))
    assert.strictEqual(view.ticker(symbol)!.open_interest, "3")
  })

  it("starts readers from a snapshot after the sequencer was lost and regained", () => {
    const { apply, markets, read, changes, view } = setting()
    apply(body.instrument())
    read({ as_of_seq: 1, bids: [bid(3)] })
    changes.length = 0
    markets.regained()
    assert.deepStrictEqual(changes, [])
    markets.interrupted()
    markets.regained()
    assert.deepStrictEqual(
      changes.map((change) => [change.symbol, change.reset]),
      [[symbol, true]]
    )
    assert.deepStrictEqual(view.book(symbol)!.bids, [bid(3)])
  })
})

describe("MarketState, events of another history", () => {
  const at = (second: number) => START + second * 1_000
  const fills = (second: number) =>
    [
      body.trades({ trade_id: String(second), timestamp: at(second) }),
      body.execution({
        side: "Sell",
        order_price: "40033",
        exec_time: String(at(second)),
        seq: second,
        create_type: "CreateByLiq"
      })
    ] as const
  const announced = (changes: ReadonlyArray<MarketChange>) => ({
    trades: changes.flatMap(({ prints }) => prints.flat().map(({ trade_id }) => trade_id)),
    liquidations: changes.flatMap(({ liquidations }) => liquidations.map(({ seq }) => seq))
  })

  it("reports trades and liquidations once, though all are read again", () => {
    const { applyAt, changes, read, restart, view } = setting()
    for (const second of [1, 2, 3]) applyAt(at(second), ...fills(second))
    assert.deepStrictEqual(announced(changes.splice(0)), { trades: ["1", "2", "3"], liquidations: [1, 2, 3] })
    // a restore of the second 2; the exchange goes on at the second 4
    restart("f2-0")
    for (const second of [1, 2]) applyAt(at(second), ...fills(second))
    // the model is loaded once more meanwhile
    restart("f2-0")
    for (const second of [1, 2, 4]) applyAt(at(second), ...fills(second))
    assert.deepStrictEqual(announced(changes), { trades: ["4"], liquidations: [4] })
    assert.deepStrictEqual(
      view.recentTrades(symbol, 10).map(({ trade_id }) => trade_id),
      ["4", "2", "1"]
    )
    // after the restart every trade is new, though the clock of the restored backend is behind
    changes.length = 0
    read({ as_of_seq: 2 })
    applyAt(at(3), ...fills(3))
    assert.deepStrictEqual(announced(changes), { trades: ["3"], liquidations: [3] })
  })

  it("restarts the followers of a market until its book is read", () => {
    const { apply, changes, read, restart } = setting()
    const restarting = () => changes.splice(0).map((change) => [change.isRestarting, change.reset])
    apply(body.book(1, [bid(5)], []))
    read({ book_seq: 1, as_of_seq: 1 })
    assert.deepStrictEqual(restarting(), [
      [false, false],
      [false, true]
    ])
    for (const load of ["first", "second"]) {
      restart("f2-0")
      apply(body.book(1, [bid(4)], []))
      assert.deepStrictEqual(restarting(), [[true, false]], load)
    }
    read({ book_seq: 1, as_of_seq: 1 })
    apply(body.book(2, [bid(3)], []))
    assert.deepStrictEqual(restarting(), [
      [true, true],
      [false, false]
    ])
    // a load of the same history, as after a failure
    restart("f2-0")
    apply(body.book(1, [bid(4)], []))
    assert.deepStrictEqual(restarting(), [[false, false]])
  })
})

describe("MarketState, tickers and trades", () => {
  it("returns a ticker over a window of 24 hours that moves with the engine's time", () => {
    const { apply, read, view } = setting()
    const at = (hours: number) => START + hours * 60 * MINUTE_MS
    assert.isUndefined(view.ticker(symbol))
    apply(body.instrument(), body.prices({ mark_price: "101", index_price: "100.50", open_interest: "3" }))
    const quiet = view.ticker(symbol)!
    assert.strictEqual(quiet.last_price, "101", "the mark price where nothing was traded")
    assert.strictEqual(quiet.price_24h_pcnt, "0")
    assert.strictEqual(quiet.index_price, "100.5")
    assert.strictEqual(quiet.open_interest_value, "303")
    assert.strictEqual(quiet.next_funding_time, "2026-01-01T08:00:00.000Z")
    assert.strictEqual(quiet.ts, NOW)
    assert.isFalse("bid1_price" in quiet)
    apply(body.trades({ price: "100", qty: "1", timestamp: at(0) }))
    apply(body.trades({ price: "140", qty: "2", timestamp: at(1) }))
    apply(body.trades({ price: "120", qty: "1", timestamp: at(23) }, { price: "125", qty: "1", timestamp: at(23) + 5 }))
    read({ as_of_seq: view.now() - START, bids: [bid(124, "0.5")], asks: [] })
    const day = view.ticker(symbol)!
    assert.deepStrictEqual(
      [day.last_price, day.high_price_24h, day.low_price_24h, day.volume_24h, day.turnover_24h, day.prev_price_24h],
      ["125", "140", "100", "5", "625", "100"]
    )
    assert.strictEqual(day.price_24h_pcnt, "0.25")
    assert.deepStrictEqual([day.bid1_price, day.bid1_size, day.ask1_price], ["124", "0.5", undefined])
    // the first two minutes leave, one after the other
    apply(body.prices({ ts_ms: at(24) + MINUTE_MS }))
    assert.deepStrictEqual(
      [view.ticker(symbol)!.prev_price_24h, view.ticker(symbol)!.low_price_24h, view.ticker(symbol)!.volume_24h],
      ["100", "120", "4"]
    )
    apply(body.prices({ ts_ms: at(25) + MINUTE_MS }))
    const later = view.ticker(symbol)!
    assert.deepStrictEqual(
      [later.prev_price_24h, later.high_price_24h, later.low_price_24h, later.volume_24h, later.price_24h_pcnt],
      ["140", "125", "120", "2", "-0.107142857142857142"]
    )
    apply(body.prices({ ts_ms: at(24) + 3 * DAY_MS }))
    const still = view.ticker(symbol)!
    assert.deepStrictEqual(
      [still.last_price, still.high_price_24h, still.volume_24h, still.price_24h_pcnt],
      ["125", "125", "0", "0"]
    )
  })

  it("shows a trade in the ticker at once", () => {
    const { apply, changes, view } = setting()
    apply(body.instrument(), body.prices({ mark_price: "101" }))
    assert.strictEqual(view.ticker(symbol)!.last_price, "101")
    apply(body.trades({ price: "100" }))
    assert.isTrue(changes.at(-1)!.tickerChanged)
    assert.strictEqual(view.ticker(symbol)!.last_price, "100")
  })

  it("shows the best ask in the ticker as soon as it changes", () => {
    const { apply, changes, read, view } = setting()
    apply(body.instrument(), body.prices({ funding_rate: "0.00010" }))
    read({ as_of_seq: 2, asks: [bid(20, 3)] })
    assert.deepInclude(view.ticker(symbol), { ask1_price: "20", ask1_size: "3", funding_rate: "0.0001" })
    apply(body.book(1, [], [bid(19, 2)]))
    assert.isTrue(changes.at(-1)!.tickerChanged)
    assert.deepInclude(view.ticker(symbol), { ask1_price: "19", ask1_size: "2" })
    apply(body.book(2, [], [bid(21, 2)]))
    assert.isFalse(changes.at(-1)!.tickerChanged, "a deeper level")
  })

  it("keeps the last 1,000 trades, newest first", () => {
    const { apply, view } = setting()
    for (let n = 0; n < 2_500; n += 10) {
      apply(body.trades(...Array.from({ length: 10 }, (_, i) => ({ trade_id: String(n + i), timestamp: START + n }))))
    }
    const trades = view.recentTrades(symbol, 5_000)
    assert.strictEqual(trades.length, 1_000)
    assert.strictEqual(trades[0]!.trade_id, "2499")
    assert.strictEqual(trades[999]!.trade_id, "1500")
    assert.deepStrictEqual(
      view.recentTrades(symbol, 2).map((each) => each.trade_id),
      ["2499", "2498"]
    )
  })

  it("reports a candle once more when it closes, and returns a flat one after it", () => {
    const { apply, changes, view } = setting()
    assert.isUndefined(view.openCandle(symbol, "1"))
    apply(body.trades({ price: "100", timestamp: START + 1 }))
    assert.strictEqual(view.openCandle(symbol, "1")!.close, "100")
    const closing = () => changes.flatMap((change) => change.candles).filter(({ candle }) => candle.confirm)
    assert.deepStrictEqual(closing(), [])
    const projecting = changes.length
    apply(body.prices({ ts_ms: START + 3 * MINUTE_MS }))
    assert.isAbove(changes.length, projecting)
    assert.deepStrictEqual(
      closing().map(({ interval }) => interval),
      ["1", "3"]
    )
  })

  it("returns an open, flat candle for an interval in which this market has no event yet", () => {
    const { apply, applyAt, view } = setting()
    apply(body.trades({ price: "100", timestamp: START + 1 }), body.prices({ ts_ms: START + MINUTE_MS }))
    applyAt(START + 3 * MINUTE_MS, body.prices({ symbol: "ETH-USDC", ts_ms: START + 3 * MINUTE_MS }))
    assert.deepInclude(view.openCandle(symbol, "1"), {
      start_time: START + 3 * MINUTE_MS,
      close: "100",
      volume: "0",
      confirm: false
    })
  })
})

describe("MarketState, candles", () => {
  it("returns a candle until it is closed, though an order of the next interval precedes the price sample", () => {
    const { applyAt, view } = setting()
    const next = START + MINUTE_MS
    applyAt(START + 1, body.trades({ price: "100", timestamp: START + 1 }))
    applyAt(next + 5, body.book(1, [bid(99)], []))
    assert.deepInclude(view.openCandle(symbol, "1"), { start_time: START, close: "100", volume: "0.2", confirm: false })
    applyAt(next + 40, body.prices({ ts_ms: next + 40 }))
    assert.deepInclude(view.openCandle(symbol, "1"), { start_time: next, close: "100", volume: "0", confirm: false })
  })

  it("returns the candle of a trade that is ahead of the engine's time", () => {
    const { apply, view } = setting()
    apply(body.trades({ price: "100", timestamp: START + 2 * MINUTE_MS }))
    assert.deepInclude(view.openCandle(symbol, "1"), { start_time: START + 2 * MINUTE_MS, close: "100", volume: "0.2" })
  })
})

describe("MarketState, revision", () => {
  it("changes with every change of a result, and every minute", () => {
    const { apply, markets, view } = setting()
    const check = revisionCheck(view)
    const moved = (change: () => void) => {
      const before = view.revision()
      change()
      check()
      return view.revision() !== before
    }
    assert.isTrue(moved(() => apply(body.instrument())))
    assert.isTrue(moved(() => markets.start(undefined, [])))
    assert.isTrue(moved(() => apply(body.instrument())))
    assert.isTrue(
      moved(() => apply(body.instrument({ status: "Closed" }))),
      "within the same minute"
    )
    assert.isTrue(moved(() => apply(body.prices({}))))
    const before = view.revision()
    assert.deepStrictEqual([view.instruments().length, view.revision()], [1, before], "reading moves nothing")
  })
})

describe("MarketState, reads at the start", () => {
  it("change the revision where they change a result", () => {
    const { markets, view } = setting()
    const check = revisionCheck(view)
    markets.know([instrument()])
    check()
    markets.seed([prices({ mark_price: "101" })])
    check()
    assert.strictEqual(view.ticker(symbol)!.mark_price, "101")
  })

  it("have the trades, the open candle, the pool and the alert of a market", () => {
    const { markets, view } = setting()
    const position = { epoch: "e1", seq: 9, began: 0, ts_ms: START + 1, stream: "s" } as ModelPosition
    const open = { interval: "1", candle: flat("1", START, "140", false) } as const
    const trades = ["2", "1"].map((trade_id) => trade({ trade_id }))
    const market = { symbol, instrument: undefined, trades, candles: [open], minutes: [] }
    markets.start(position, [{ ...market, pool: pool(), alert: alert() }])
    assert.deepStrictEqual(
      view.recentTrades(symbol, 2).map(({ trade_id }) => trade_id),
      ["2", "1"]
    )
    assert.deepStrictEqual(view.openCandle(symbol, "1"), open.candle)
    assert.deepStrictEqual([view.pool(symbol), view.alert(symbol)], [pool(), alert()])
  })
})

describe("MarketState, risk", () => {
  it("reports the fills of liquidations, from executions of orders that took over a position", () => {
    const { apply, changes } = setting()
    const taken = { side: "Sell", order_price: "40033", exec_time: String(START), seq: 9 } as const
    apply(
      body.execution({ create_type: "CreateByUser" }),
      body.execution({ ...taken, exec_price: "40390.0", exec_qty: "0.20", create_type: "CreateByLiq" }),
      body.execution({
        ...taken,
        exec_price: "40033",
        exec_type: "BustTrade",
        create_type: "CreateByTakeOverPassThrough"
      }),
      body.execution({ ...taken, exec_type: "AdlTrade", create_type: "CreateByAdlPassThrough" })
    )
    const common = { symbol, side: "Buy", qty: "0.2", bust_price: "40033", timestamp: START, seq: 9 }
    assert.deepStrictEqual(
      changes.flatMap(({ liquidations }) => liquidations),
      [
        { ...common, price: "40390", exec_type: "Trade" },
        { ...common, price: "40033", exec_type: "BustTrade" }
      ]
    )
  })

  it("keeps the last pool and alert of a market, and reports each change", () => {
    const { apply, changes, view } = setting()
    assert.deepStrictEqual([view.pool(symbol), view.alert(symbol)], [undefined, undefined])
    apply(
      body.pool({ cash_balance: "5" }),
      body.adl(),
      body.adl({ adl_mode: "Active" }),
      body.pool({ cash_balance: "6" })
    )
    assert.deepStrictEqual(view.pool(symbol), pool({ cash_balance: "6" }))
    assert.deepStrictEqual(view.alert(symbol), alert({ adl_mode: "Active" }))
    assert.isTrue(changes.at(-1)!.poolChanged)
    assert.deepStrictEqual(changes.at(-1)!.alerts, [alert(), alert({ adl_mode: "Active" })])
    apply(body.prices({}))
    assert.deepStrictEqual([changes.at(-1)!.poolChanged, changes.at(-1)!.alerts], [false, []])
  })

  it("reads from the referee only what the stream has not reported", () => {
    const { apply, markets, changes, view } = setting()
    apply(body.pool({ cash_balance: "7" }))
    markets.seedPool(symbol, pool({ cash_balance: "0" }), alert())
    assert.deepStrictEqual([view.pool(symbol)!.cash_balance, view.alert(symbol)], ["7", alert()])
    assert.deepStrictEqual([changes.at(-1)!.poolChanged, changes.at(-1)!.alerts], [false, [alert()]])
    const count = changes.length
    markets.seedPool(symbol, pool(), alert({ adl_mode: "Active" }))
    assert.deepStrictEqual([changes.length, view.alert(symbol)], [count, alert()])
  })

  it("seeds prices only where the stream has reported none", () => {
    const { apply, markets, view } = setting()
    apply(body.instrument(), body.prices({ mark_price: "101" }))
    const prices = (of: string, mark_price: string) =>
      (body.prices({ symbol: of, mark_price }) as Extract<Event["body"], { type: "prices" }>).prices
    markets.seed([...prices(symbol, "99"), ...prices("ETH-USDC", "5")])
    assert.strictEqual(view.ticker(symbol)!.mark_price, "101")
    assert.strictEqual(view.ticker("ETH-USDC")!.mark_price, "5")
  })

  it("starts with the last day of a market: its open minute counts, what is older does not", () => {
    const { markets, view } = setting()
    const minute = (start_time: number, volume: string, close: string, confirm: boolean): Candle => ({
      ...flat("1", start_time, close, confirm),
      volume
    })
    const now = START + 2 * DAY_MS
    const position = { epoch: "e1", seq: 9, began: 0, ts_ms: now + 1, stream: "s" } as ModelPosition
    markets.start(position, [
      {
        symbol,
        instrument: undefined,
        trades: [],
        candles: [{ interval: "1", candle: minute(now, "4", "140", false) }],
        // newest first
        minutes: [minute(now - MINUTE_MS, "2", "120", true), minute(now - DAY_MS - 5 * MINUTE_MS, "1", "80", true)],
        pool: undefined,
        alert: undefined
      }
    ])
    markets.seed((body.prices({ mark_price: "150" }) as Extract<Event["body"], { type: "prices" }>).prices)
    assert.deepInclude(view.ticker(symbol), {
      volume_24h: "6",
      low_price_24h: "120",
      high_price_24h: "140",
      prev_price_24h: "80"
    })
  })

  it("shows the last price of the sample while the market has no trade, and no side of a book with a gap", () => {
    const { apply, read, view } = setting()
    apply(body.instrument(), body.prices({ mark_price: "101", last_price: "100.5" }))
    assert.strictEqual(view.ticker(symbol)!.last_price, "100.5")
    read({ as_of_seq: 2, book_seq: 1, bids: [bid(5)] })
    assert.strictEqual(view.ticker(symbol)!.bid1_price, "5")
    apply(body.book(3, [bid(6)], []))
    assert.isUndefined(view.ticker(symbol)!.bid1_price)
  })
})
