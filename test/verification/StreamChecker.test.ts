/** The checker of user streams finds what it is for. */
import { assert, describe, it } from "vitest"
import { Findings, StreamChecker, UserEvents } from "../../verification/streams/StreamChecker.ts"
import type { FeedEvent } from "../../src/client/Feed.ts"
import { privateTopics, type PrivateTopic } from "../../src/domain/Topic.ts"

/** An event as it arrives from the wire. */
const eventOf = (kind: PrivateTopic, data: object): FeedEvent =>
  JSON.parse(
    JSON.stringify({ kind, topic: kind, server_ts_ms: 1, data: { stream_id: "s", ts: 1, mts: 1, list: [], ...data } })
  )
const update = (kind: PrivateTopic, seq: number, prev_seq: number, list: ReadonlyArray<object> = []) =>
  eventOf(kind, { type: "update", seq, prev_seq, list })
const snapshots = (seq: number) => privateTopics.map((kind) => eventOf(kind, { type: "snapshot", seq }))
const unrecovered: FeedEvent = {
  kind: "resume",
  recovered: false,
  topics: privateTopics,
  since: { stream_id: "s", seq: 1 }
}

/** Findings for a client that receives `events`, after another client that received everything up to 3. */
const found = (events: ReadonlyArray<FeedEvent>, head: number) => {
  const user = new UserEvents()
  const findings = new Findings()
  const other = new StreamChecker("other", user, findings)
  for (const event of [...snapshots(0), update("order", 1, 0), update("execution", 2, 0), update("order", 3, 1)]) {
    other.take(event)
  }
  other.audit(3)
  assert.deepStrictEqual([findings.faults, findings.messages], [[], 3])
  const ledger = new StreamChecker("one", user, findings)
  for (const event of events) ledger.take(event)
  ledger.audit(head)
  const { differences, gaps, repetitions, unrecovered } = findings
  return { gaps, repetitions, differences, unrecovered, faults: findings.faults.length }
}
const nothing = { gaps: 0, repetitions: 0, differences: 0, unrecovered: 0, faults: 0 }

describe("the ledger of a client", () => {
  it("finds nothing where each event arrives once, in the order of its topic", () => {
    assert.deepStrictEqual(
      found([...snapshots(0), update("execution", 2, 0), update("order", 1, 0), update("order", 3, 1)], 3),
      nothing
    )
    assert.deepStrictEqual(found([...snapshots(0), unrecovered, ...snapshots(2), update("order", 3, 1)], 3), {
      ...nothing,
      unrecovered: 1
    })
  })

  const wrong: ReadonlyArray<readonly [what: string, events: ReadonlyArray<FeedEvent>, kind: keyof typeof nothing]> = [
    ["an event that is missing in the middle", [...snapshots(0), update("order", 3, 1)], "gaps"],
    ["one that is missing at the end", [...snapshots(0), update("order", 1, 0), update("execution", 2, 0)], "gaps"],
    ["one that came before its snapshot", [update("order", 3, 1), ...snapshots(3)], "gaps"],
    ["a snapshot that was not announced", [...snapshots(0), ...snapshots(3)], "gaps"],
    ["one that came twice", [...snapshots(2), update("order", 3, 1), update("order", 3, 1)], "repetitions"],
    ["one that the snapshot holds", [...snapshots(3), update("order", 3, 1)], "repetitions"],
    ["one that others received differently", [...snapshots(2), update("order", 3, 1, [{}])], "differences"]
  ]
  for (const [what, events, kind] of wrong) {
    it(`finds ${what}`, () => {
      const result = found(events, 3)
      assert.isAbove(result[kind], 0, JSON.stringify(result))
      assert.isAbove(result.faults, 0)
    })
  }
})
