/** Positions of private topics, message by message. */
import { assert, describe, it } from "vitest"
import type { UserMessage } from "../../src/client/FeedEvent.ts"
import { StreamPositions } from "../../src/client/StreamPositions.ts"
import type { PrivateTopic } from "../../src/domain/Topic.ts"
import { snapshot, update } from "./FakeSockets.ts"

const take = (positions: StreamPositions, kind: PrivateTopic, data: object) =>
  positions.advance({ kind, topic: kind, server_ts_ms: 1, data } as UserMessage)
/** Topics of one subscribe frame, each with its snapshot. */
const begun = (seqs: { readonly [K in PrivateTopic]?: number }) => {
  const positions = new StreamPositions()
  const topics = Object.keys(seqs) as Array<PrivateTopic>
  positions.subscribed(topics, undefined, false)
  for (const topic of topics) assert.strictEqual(take(positions, topic, snapshot(seqs[topic]!)), "begins")
  return positions
}

describe("the position of a private topic", () => {
  it("accepts a first event that follows the last one of the snapshot, and no later one", () => {
    assert.strictEqual(take(begun({ order: 10 }), "order", update(11, 10)), "next")
    assert.strictEqual(take(begun({ order: 10 }), "order", update(12, 11)), "gap")
    // from then on each event must name the one before
    const positions = begun({ order: 10 })
    assert.strictEqual(take(positions, "order", update(12, 4)), "next")
    assert.strictEqual(take(positions, "order", update(13, 11)), "gap")
    assert.strictEqual(take(positions, "order", update(13, 12)), "next")
  })

  it("accepts after a stored position what a snapshot at that position would be followed by", () => {
    const positions = new StreamPositions()
    positions.begin(["order", "execution"], { stream_id: "s1", seq: 5 })
    assert.strictEqual(take(positions, "execution", update(6, 6)), "gap")
    assert.strictEqual(take(positions, "order", update(7, 3)), "next")
    assert.strictEqual(take(positions, "order", update(7, 3)), "repetition")
    assert.deepStrictEqual(positions.since("order"), { stream_id: "s1", seq: 7 })
  })

  it("is confirmed by messages of the same frame, and never taken back by them", () => {
    const positions = begun({ order: 3, execution: 3, position: 10 })
    assert.strictEqual(take(positions, "order", update(5, 2)), "next")
    assert.deepStrictEqual(
      (["order", "execution", "position"] as const).map((topic) => positions.since(topic)!.seq),
      [5, 5, 10]
    )
    // what the snapshot contains is not passed on again
    assert.strictEqual(take(positions, "position", update(9, 8)), "repetition")
  })

  it("shares a frame with another one only where stream and seq are equal", () => {
    const positions = new StreamPositions()
    positions.begin(["order"], { stream_id: "s1", seq: 5 })
    positions.begin(["execution"], { stream_id: "s2", seq: 5 })
    positions.begin(["position"], { stream_id: "s1", seq: 5 })
    assert.deepStrictEqual(positions.frames(["order", "execution", "position", "account_balance"]), [
      { args: ["order", "position"], since: { stream_id: "s1", seq: 5 } },
      { args: ["execution"], since: { stream_id: "s2", seq: 5 } },
      { args: ["account_balance"], since: undefined }
    ])
  })

  it("is forgotten with its topic: the next subscription begins with a snapshot", () => {
    const positions = begun({ order: 10, execution: 10 })
    positions.remove(["order", "trade.BTC-USDC"])
    assert.isUndefined(positions.since("order"))
    assert.strictEqual(take(positions, "order", update(11, 10)), "gap")
    assert.strictEqual(take(positions, "order", snapshot(12)), "begins")
    assert.strictEqual(take(positions, "execution", update(11, 10)), "next")
  })
})
