/**
 * A row for every topic: how it starts, what follows, and its events of the story.
 * Source: docs/contract/websocket.md#public-topics, #order-book, #private-topics.
 */
import { createHash } from "node:crypto"
import { assert } from "vitest"
import { LocalBook } from "../../src/client/LocalBook.ts"
import { depths, Interval } from "../../src/domain/Enumerations.ts"
import { call } from "../../verification/harness/RestClient.ts"
import type { Frame } from "../../verification/harness/Socket.ts"
import { type FeedStory, LAST, SYMBOL, TRADED } from "./FeedStory.ts"

export interface TopicRow {
  /** The names to subscribe to. */
  readonly names: (story: FeedStory) => ReadonlyArray<string>
  /** Whether a snapshot is first. */
  readonly begins: boolean
  /** The types of the following frames. */
  readonly follow: (name: string) => "snapshot" | "delta" | "update"
  /** The expected events of the story. */
  readonly done: (data: Frame, story: FeedStory) => boolean
  /** The expected frames together, in the order of arrival. */
  readonly whole?: (all: ReadonlyArray<Frame>, story: FeedStory, name: string) => Promise<void>
  /** The REST response that equals the snapshot, at the end of the story. */
  readonly asRest?: { readonly path: string; readonly of: (body: Frame) => Frame }
}

const ofMarket = (kind: string) => () => [`${kind}.${SYMBOL}`]
const always = (type: "snapshot" | "update") => () => type
const isTraded = ({ price, qty }: Frame) => price === TRADED.price && qty === TRADED.qty

/** Each update of a private topic refers to the one before it. */
const linked = async ([first, ...updates]: ReadonlyArray<Frame>): Promise<void> => {
  let last = 0
  for (const { prev_seq, seq, stream_id } of updates) {
    assert.strictEqual(stream_id, first.stream_id)
    assert.isAbove(seq, first.seq)
    if (last === 0) assert.isAtMost(prev_seq, first.seq)
    else assert.strictEqual(prev_seq, last)
    last = seq
  }
}
const own = (topic: string, done: (record: Frame) => boolean): TopicRow => ({
  names: () => [topic],
  begins: true,
  follow: always("update"),
  done: ({ list, type }) => type === "update" && list.some(done),
  whole: linked
})

/** By the name of the topic's message. */
export const topicRows: Readonly<Record<string, TopicRow>> = {
  orderbookEvent: {
    names: () => depths.map((depth) => `orderbook.${depth}.${SYMBOL}`),
    begins: true,
    follow: (name) => (name.startsWith("orderbook.1.") ? "snapshot" : "delta"),
    done: ({ bids }) => bids.some(([price, qty]: Frame) => price === LAST[0] && qty === LAST[1]),
    whole: async (all, { exchange }, name) => {
      const book = new LocalBook()
      for (const data of all) {
        assert.isUndefined(book.take(data))
        assert.isFalse(book.crossed())
      }
      const { body } = await call(
        exchange,
        "GET",
        `/api/v1/market/orderbook?symbol=${SYMBOL}&depth=${name.split(".")[1]}`
      )
      assert.deepStrictEqual([book.bids(body.depth), book.asks(body.depth), book.seq], [body.bids, body.asks, body.seq])
    }
  },
  tradeEvent: {
    names: ofMarket("trade"),
    begins: true,
    follow: always("update"),
    done: ({ list }) => list.some(isTraded),
    whole: async (all) => {
      const ids = all.flatMap(({ list }) => list.map(({ trade_id }: Frame) => trade_id))
      assert.strictEqual(new Set(ids).size, ids.length)
    },
    asRest: { path: `/market/recent-trade?symbol=${SYMBOL}`, of: ({ list }) => list.toReversed() }
  },
  aggregatedTradeEvent: {
    names: ({ market_addr }) => [`trade/${market_addr}`],
    begins: false,
    follow: always("update"),
    done: ({ list, market_addr }) =>
      list.some((each: Frame) => {
        const key = [market_addr, each.price, each.side, each.seq, each.timestamp].join("|")
        return isTraded(each) && each.id === createHash("sha256").update(key).digest("hex").slice(0, 32)
      })
  },
  tickerEvent: {
    names: ofMarket("ticker"),
    begins: true,
    follow: always("snapshot"),
    done: ({ index_price, last_price }) => index_price === "48000" && last_price === "60000"
  },
  klineEvent: {
    names: () => Interval.literals.map((interval) => `kline.${interval}.${SYMBOL}`),
    begins: true,
    follow: always("update"),
    done: ({ list }) => list.some(({ volume }: Frame) => Number(volume) >= 100),
    whole: async (all, _, name) => {
      for (const { interval } of all) assert.strictEqual(`kline.${interval}.${SYMBOL}`, name)
    }
  },
  liquidationsEvent: {
    names: ofMarket("all_liquidations"),
    begins: false,
    follow: always("update"),
    done: ({ list }) => list.some((each: Frame) => each.exec_type === "BustTrade" && each.qty === "100")
  },
  insurancePoolEvent: {
    names: ofMarket("insurance_pool"),
    begins: true,
    follow: always("snapshot"),
    done: ({ inventory }) => inventory.some(({ side, size }: Frame) => side === "Buy" && size === "100")
  },
  adlAlertEvent: {
    names: ofMarket("adl_alert"),
    begins: true,
    follow: always("update"),
    done: ({ latest_pnl_ratio }) => Number(latest_pnl_ratio) < -0.1
  },
  orderEvent: own("order", (each) => each.order_link_id === "taken" && each.order_status === "Filled"),
  executionEvent: own("execution", (each) => each.exec_price === TRADED.price && each.exec_qty === TRADED.qty),
  positionEvent: own("position", (each) => each.size === TRADED.qty && each.avg_price === TRADED.price),
  accountBalanceEvent: own("account_balance", (each) => each.reason === "trade")
}
