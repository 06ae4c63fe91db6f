import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import type { Event, EventBody } from "../../src/domain/Event.ts"
import { type Projection, Projecting, type ModelState, streamIdOf } from "../../src/domain/Projection.ts"
import * as RecordJson from "../../src/domain/RecordJson.ts"
import {
  balance,
  body,
  event,
  execution,
  order,
  position,
  START,
  userOf,
  uuid
} from "../../verification/harness/Records.ts"

/** The state that a history keeps of projections, to compare and to resume from. */
class Kept {
  standing: ModelState = { position: undefined, heads: [], candles: [] }
  readonly rows = new Map<string, unknown>()
  readonly userEvents: Array<unknown> = []

  take(projection: Projection): void {
    const first = (key: string, row: { readonly seq: number }) =>
      (this.rows.get(key) as { readonly seq: number } | undefined)?.seq ?? row.seq
    for (const row of projection.orders) {
      const key = `order ${row.order.order_id}`
      this.rows.set(key, { ...row, seq: first(key, row) })
    }
    for (const row of projection.executions) this.rows.set(`execution ${row.seq}`, row)
    projection.trades.forEach((row) => {
      let n = 0
      while (this.rows.has(`trade ${row.seq} ${n}`)) n++
      this.rows.set(`trade ${row.seq} ${n}`, row)
    })
    for (const { kind, symbol, closed, last } of projection.candles) {
      for (const { interval, candle } of closed)
        this.rows.set(`${kind} ${symbol} ${interval} ${candle.start_time}`, candle)
      this.rows.set(`last ${kind} ${symbol}`, last)
    }
    this.userEvents.push(...projection.userEvents)
    const heads = new Map(this.standing.heads.map((head) => [head.user_id, head]))
    for (const head of projection.heads) heads.set(head.user_id, head)
    const candles = new Map(this.standing.candles.map((each) => [`${each.kind} ${each.symbol}`, each]))
    for (const each of projection.candles) candles.set(`${each.kind} ${each.symbol}`, each)
    this.standing = { position: projection.position, heads: [...heads.values()], candles: [...candles.values()] }
  }
}

const bodies: FastCheck.Arbitrary<EventBody> = FastCheck.oneof(
  FastCheck.record({
    id: FastCheck.integer({ min: 1, max: 4 }),
    status: FastCheck.constantFrom("New" as const, "PartiallyFilled" as const, "Filled" as const)
  }).map(({ id, status }) => body.order({ order_id: uuid(id), order_status: status })),
  FastCheck.integer({ min: 1, max: 99 }).map((n) => body.execution({ exec_id: uuid(n) })),
  FastCheck.constantFrom("BTC-USDC", "ETH-USDC").map((symbol) => body.position({ symbol })),
  FastCheck.integer({ min: 0, max: 9 }).map((n) => body.balance({ wallet_balance: String(n) })),
  FastCheck.record({ price: FastCheck.integer({ min: 1, max: 9 }), count: FastCheck.integer({ min: 1, max: 3 }) }).map(
    ({ price, count }) => body.trades(...Array.from({ length: count }, () => ({ price: String(price) })))
  ),
  FastCheck.integer({ min: 1, max: 9 }).map((price) => body.prices({ mark_price: String(price) }))
)

/** A stream whose time moves on by up to ten minutes an event. */
const stream = FastCheck.array(
  FastCheck.record({
    of: bodies,
    wait: FastCheck.integer({ min: 0, max: 600_000 }),
    user: FastCheck.integer({ min: 1, max: 3 })
  }),
  { minLength: 1, maxLength: 40 }
).map((steps) => {
  let now = START
  return steps.map(({ of, wait, user }, i): Event => {
    now += wait
    const timed: EventBody =
      of.type === "trades"
        ? { ...of, trades: of.trades.map((trade) => ({ ...trade, timestamp: now })) }
        : of.type === "prices"
          ? { ...of, prices: of.prices.map((prices) => ({ ...prices, ts_ms: now })) }
          : of
    return event(i + 1, timed, { ts_ms: now, ...(of.type === "trades" || of.type === "prices" ? {} : userOf(user)) })
  })
})

describe("Projecting", () => {
  it("derives the same rows, numbers and candles however the stream is cut, restarts included", () => {
    FastCheck.assert(
      FastCheck.property(
        stream,
        FastCheck.array(FastCheck.record({ size: FastCheck.integer({ min: 1, max: 7 }), crash: FastCheck.boolean() }), {
          minLength: 1
        }),
        (events, cuts) => {
          const whole = new Kept()
          whole.take(new Projecting(whole.standing).next("e", events))
          const parts = new Kept()
          let projecting = new Projecting(parts.standing)
          for (let at = 0, i = 0; at < events.length; i++) {
            const { crash, size } = cuts[i % cuts.length]!
            parts.take(projecting.next("e", events.slice(at, at + size)))
            at += size
            if (crash) projecting = new Projecting(parts.standing)
          }
          assert.deepStrictEqual(parts.userEvents, whole.userEvents)
          assert.deepStrictEqual(
            [...parts.rows].sort(([a], [b]) => a.localeCompare(b)),
            [...whole.rows].sort(([a], [b]) => a.localeCompare(b))
          )
          assert.deepStrictEqual(parts.standing.position, whole.standing.position)
        }
      ),
      { numRuns: 60 }
    )
  })

  it("begins a history without a position at 0, and keeps where a later one began", () => {
    const events = [event(1, body.prices({}), { ts_ms: START })]
    const next = (position: ModelState["position"]) =>
      new Projecting({ position, heads: [], candles: [] }).next("e", events).position
    assert.deepStrictEqual(next(undefined), { epoch: "e", seq: 1, began: 0, ts_ms: START })
    assert.strictEqual(next({ epoch: "e", seq: 0, began: 7, ts_ms: 0 }).began, 7)
  })

  it("numbers each user's events without a gap over all topics, and links those of a topic", () => {
    FastCheck.assert(
      FastCheck.property(stream, (events) => {
        const { userEvents, heads } = new Projecting({ position: undefined, heads: [], candles: [] }).next("e", events)
        const last = new Map<string, number>()
        for (const { user_id, seq, prev_seq, topic, record } of userEvents) {
          assert.strictEqual(seq, (last.get(user_id) ?? 0) + 1)
          assert.strictEqual(prev_seq, last.get(`${user_id} ${topic}`) ?? 0)
          last.set(user_id, seq).set(`${user_id} ${topic}`, seq)
          if (topic === "position" || topic === "account_balance") {
            assert.strictEqual((JSON.parse(record) as { readonly seq: number }).seq, seq)
          }
        }
        for (const head of heads) assert.strictEqual(head.seq, last.get(head.user_id))
      }),
      { numRuns: 60 }
    )
  })

  it("begins another identity of the numbers with another epoch or beginning", () => {
    assert.strictEqual(streamIdOf({ epoch: "a", began: 0 }), "a-0")
    assert.notStrictEqual(streamIdOf({ epoch: "a", began: 0 }), streamIdOf({ epoch: "a", began: 1 }))
  })
})

describe("Record", () => {
  it("writes records in the order of their schema, with canonical decimals and without absent fields", () => {
    const text = RecordJson.order(order({ price: "60000.0", qty: "0.50", order_link_id: "a-1" }))
    assert.isTrue(text.startsWith('{"avg_price":"0","close_on_trigger":false,"created_time":"1767225600000"'))
    const record = JSON.parse(text) as { readonly [key: string]: unknown }
    assert.strictEqual(record["price"], "60000")
    assert.strictEqual(record["qty"], "0.5")
    assert.isFalse("trigger" in record)
    assert.isBelow(text.indexOf('"reject_reason"'), text.indexOf('"version"'))
    assert.strictEqual(RecordJson.execution(execution({ exec_price: "100" })).indexOf('{"base_fee"'), 0)
    const held = JSON.parse(RecordJson.position(position(), 5)) as { readonly [key: string]: unknown }
    assert.deepStrictEqual(held, { ...position(), seq: 5 })
    assert.strictEqual(Object.keys(held).at(-1), "seq")
    assert.deepStrictEqual(JSON.parse(RecordJson.balance(balance(), 6, "trade")), {
      ...balance(),
      seq: 6,
      reason: "trade"
    })
  })

  it("keeps a whole conditional order with its legs", () => {
    const conditional = order({
      order_status: "Untriggered",
      trigger: { trigger_by: "IndexPrice", trigger_direction: "Up", trigger_price: "61000" },
      tpsl: { mode: "Full", take_profit: { market: { trigger_by: "LastPrice", trigger_price: "62000" } } },
      parent_order_id: uuid(2),
      reject_message: 'he said "no"'
    })
    assert.deepStrictEqual(JSON.parse(RecordJson.order(conditional)), conditional)
  })
})

describe("rows of a projection", () => {
  it("samples the open interest once an interval", () => {
    const kept = new Kept()
    let projecting = new Projecting(kept.standing)
    const start = START - (START % 3_600_000)
    const rowsAt = (seq: number, ts_ms: number) => {
      const prices = event(seq, body.prices({ ts_ms, open_interest: String(seq) }), { ts_ms })
      const projection = projecting.next("e1", [prices])
      kept.take(projection)
      return projection.openInterest.map(({ interval, record }) => [interval, record.timestamp])
    }
    assert.isAbove(rowsAt(1, start).length, 1)
    assert.deepStrictEqual(rowsAt(2, start + 60_000), [])
    projecting = new Projecting(kept.standing)
    assert.deepStrictEqual(rowsAt(3, start + 299_999), [])
    assert.deepStrictEqual(rowsAt(4, start + 300_000), [["5", start + 300_000]])
  })

  it("gives a result the seq of the first fill of its batch", () => {
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    const order_id = uuid(9)
    const closed = (seq: number) => event(seq, body.closing({ exec_id: uuid(seq), order_id }))
    const { closedPnls } = projecting.next("e1", [closed(1), closed(2), event(3, body.balance()), closed(4)])
    assert.deepStrictEqual(
      closedPnls.map(({ seq }) => seq),
      [1]
    )
  })
})

describe("a payment of funding", () => {
  const times = (...bodies: ReadonlyArray<EventBody>) => {
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    // 17 ms after a minute
    const events = bodies.map((each, i) => event(i + 1, each, { user_id: userOf(1).user_id, ts_ms: START + 60_017 }))
    return projecting.next("e1", events).fundingPayments.map(({ payment }) => payment.funding_time_ms)
  }

  it("has the time of its settlement, or of its minute where no settlement was announced", () => {
    assert.deepStrictEqual(times(body.funding({ funding_time_ms: START + 5 }), body.funded()), [START + 5])
    assert.deepStrictEqual(times(body.funded()), [START + 60_000])
  })
})
