import { assert, describe, it } from "vitest"
import type { Event } from "../../../src/domain/Event.ts"
import { type ModelPosition, Projecting } from "../../../src/domain/Projection.ts"
import { Backlog } from "../../../src/services/read-model/Backlog.ts"
import { body, event, symbol, userOf } from "../../../verification/harness/Records.ts"

const [alice, bob] = [userOf(1).user_id, userOf(2).user_id]
const OTHER = "ETH-USDC"

/** A backlog with one entry for each group of events. */
const holding = (...groups: ReadonlyArray<ReadonlyArray<Event>>) => {
  const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
  const backlog = new Backlog(undefined)
  const projections = groups.map((events) => projecting.next("e1", events))
  projections.forEach((projection, i) => backlog.add(projection, i + 1))
  return { backlog, projections }
}
const balance = (seq: number, user_id: string) => event(seq, body.balance(), { user_id })

describe("a backlog", () => {
  it("names the seq that lists of a user and of a market need, until it is written", () => {
    const { backlog, projections } = holding(
      [balance(1, alice), balance(2, bob)],
      [balance(3, alice), event(4, body.trades({ symbol }))],
      [event(5, body.funding()), event(6, body.adl()), event(7, body.trades({ symbol: OTHER }))]
    )
    const needs = () => [
      backlog.userSeq(alice),
      backlog.userSeq(bob),
      backlog.marketSeq(symbol),
      backlog.marketSeq(OTHER),
      backlog.seq,
      backlog.writtenSeq,
      backlog.events,
      backlog.since_ms
    ]
    assert.deepStrictEqual(needs(), [4, 2, 7, 7, 7, 0, 7, 1])
    backlog.advance(projections[0]!.position)
    assert.deepStrictEqual(needs(), [4, 0, 7, 7, 7, 2, 5, 2])
    backlog.advance(projections[1]!.position)
    assert.deepStrictEqual(needs(), [0, 0, 7, 7, 7, 4, 3, 3])
    backlog.advance(projections[2]!.position)
    assert.deepStrictEqual(needs(), [0, 0, 0, 0, 7, 7, 0, undefined])
    assert.isTrue(backlog.isEmpty)
  })

  it("gives batches of at most so many events, but of one entry at least, and drops what is written already", () => {
    const { backlog, projections } = holding(
      [balance(1, alice), balance(2, alice)],
      [balance(3, alice)],
      [balance(4, alice)]
    )
    assert.deepStrictEqual(
      [1, 2, 3, 4].map((events_max) => backlog.batch(events_max).length),
      [1, 1, 2, 3]
    )
    backlog.advance({ ...projections[2]!.position, seq: 9 })
    assert.isTrue(backlog.isEmpty)
    backlog.add(projections[2]!, 5)
    assert.isTrue(backlog.isEmpty, "an entry below the written seq")
    const exact = new Backlog(undefined)
    exact.advance(projections[2]!.position)
    exact.add(projections[2]!, 5)
    assert.isTrue(exact.isEmpty, "an entry up to the written seq")
  })

  it("names the head of a user's stream that is written", () => {
    const { backlog, projections } = holding([balance(1, alice)], [balance(2, bob)], [balance(3, alice)])
    assert.deepStrictEqual([backlog.writtenHead(alice), backlog.writtenHead(bob)], [0, 0])
    backlog.advance(projections[0]!.position)
    assert.deepStrictEqual([backlog.writtenHead(alice), backlog.writtenHead(bob)], [1, 0])
    backlog.advance(projections[2]!.position)
    assert.deepStrictEqual([backlog.writtenHead(alice), backlog.writtenHead(bob)], [undefined, undefined])
  })

  it("has a divided entry where the history ends within the first one", () => {
    const { backlog, projections } = holding([balance(1, alice), balance(2, alice)], [balance(3, alice)])
    assert.isUndefined(backlog.divided)
    backlog.advance({ ...projections[0]!.position, seq: 1 })
    assert.strictEqual(backlog.divided, projections[0])
    backlog.replaceDivided({ ...projections[0]!, after: { ...projections[0]!.position, seq: 1 } })
    assert.isUndefined(backlog.divided)
    assert.deepStrictEqual([backlog.events, backlog.since_ms], [2, 1])
  })

  it("names why a position of the history does not follow it", () => {
    const at: ModelPosition = { epoch: "e1", began: 3, seq: 5, ts_ms: 0, stream: "s", version: 2 }
    const backlog = new Backlog(at)
    const rebuilt = "the read model was rebuilt"
    assert.deepStrictEqual(
      [
        at,
        { ...at, seq: 6 },
        { ...at, epoch: "e2" },
        { ...at, began: 4 },
        { ...at, stream: "t" },
        { ...at, version: 3 },
        { ...at, seq: 4 },
        undefined
      ].map((position) => backlog.faultOf(position)),
      [
        undefined,
        undefined,
        rebuilt,
        rebuilt,
        rebuilt,
        "the read model has version 3",
        "the history went back to 4",
        "the history is empty"
      ]
    )
  })
})
