/** The steps that frames of the feed make, without a projector. */
import { assert, describe, it } from "vitest"
import type { Event } from "../../../src/domain/Event.ts"
import type { FeedFrame } from "../../../src/services/Feed.ts"
import { batchSteps } from "../../../src/services/read-model/EventBatches.ts"

/** A frame with the events of [from, to], each with its seq as the checksum. */
const events = (
  from: number,
  to: number,
  more: { readonly epoch?: string; readonly fork?: string } = {}
): FeedFrame => {
  const seqs = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  return { type: "events", epoch: "e1", events: seqs.map((seq) => ({ seq }) as Event), checksums: seqs, ...more }
}
const heartbeat: FeedFrame = { type: "heartbeat", epoch: "e1", head_seq: 9, server_ts_ms: 1, refusing: [] }

/** The steps as text, with the seqs and the checksum of a batch. */
const steps = (seq: number, ...frames: ReadonlyArray<FeedFrame>): ReadonlyArray<string> =>
  Array.from(batchSteps({ epoch: "e1", seq }, frames), (step) => {
    switch (step.type) {
      case "batch":
        return `${step.events[0]!.seq}-${step.events.at(-1)!.seq} #${step.history.checksum}${step.isFull ? " full" : ""}`
      case "heartbeat":
        return step.isIdle ? "idle heartbeat" : "heartbeat"
      case "broken":
        return step.message
      case "interrupted":
        return step.type
    }
  })

describe("frames that arrived together", () => {
  it("make one batch, which ends with the last of them", () => {
    assert.deepStrictEqual(steps(0, events(1, 2), events(3, 3)), ["1-3 #3"])
    assert.deepStrictEqual(steps(0), [])
    assert.deepStrictEqual(steps(0, { ...events(1, 1), events: [] } as FeedFrame), [])
  })
  it("make several batches where they have many events, each of which ends with a frame", () => {
    assert.deepStrictEqual(steps(0, events(1, 511), events(512, 600), events(601, 602)), [
      "1-600 #600 full",
      "601-602 #602"
    ])
  })
  it("lose the events that the position has", () => {
    assert.deepStrictEqual(steps(2, events(1, 3), events(2, 4)), ["3-4 #4"])
    assert.deepStrictEqual(steps(4, events(1, 3)), [])
  })
  it("are broken by a gap, after what is in front of it", () => {
    assert.deepStrictEqual(steps(0, events(2, 3)), ["event 2 follows 0"])
    assert.deepStrictEqual(steps(0, events(1, 2), events(4, 5), events(6, 6)), ["1-2 #2", "event 4 follows 2"])
  })
  it("are broken within a frame, and the batch ends with the checksum of its last event", () => {
    const [first, second] = [events(1, 3), events(5, 6)] as ReadonlyArray<
      Extract<FeedFrame, { readonly type: "events" }>
    >
    const frame = { ...first!, events: [...first!.events, ...second!.events], checksums: [1, 2, 3, 5, 6] }
    assert.deepStrictEqual(steps(1, frame), ["2-3 #3", "event 5 follows 3"])
  })
  it("are broken by another epoch, without what was in front of it", () => {
    assert.deepStrictEqual(steps(0, events(1, 1), events(2, 2, { epoch: "e2" })), ["epoch e2 follows e1"])
  })
  it("keep a heartbeat in its place, idle where no event is in front of it", () => {
    assert.deepStrictEqual(steps(0, heartbeat, events(1, 1), heartbeat), ["idle heartbeat", "heartbeat", "1-1 #1"])
  })
  it("show what arrived before an interruption", () => {
    assert.deepStrictEqual(steps(0, events(1, 2), { type: "interrupted" }, events(3, 3)), [
      "1-2 #2",
      "interrupted",
      "3-3 #3"
    ])
  })
})
