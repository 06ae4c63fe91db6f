import { EventEmitter } from "node:events"
import { status } from "@grpc/grpc-js"
import { assert, describe, it } from "vitest"
import { EventLog, FRAME_BYTES } from "../../../src/backend/journal/EventLog.ts"
import {
  type EventCall,
  EventStream,
  SUBSCRIBER_STALL_MS,
  SUBSCRIBERS_MAX
} from "../../../src/backend/server/EventStream.ts"
import type { Event } from "../../../src/proto/gateway/v1/sequencer.ts"

/** A call whose client reads as many frames as the test allows. */
class FakeCall extends EventEmitter {
  readonly request = { epoch: "", from_seq: 1 }
  readonly frames: Array<Buffer> = []
  readonly codes: Array<status> = []
  readonly takes: number
  constructor(takes: number) {
    super()
    this.takes = takes
    this.on("error", (error: { readonly code: status }) => this.codes.push(error.code))
  }
  write(frame: Buffer): boolean {
    return this.frames.push(frame) < this.takes
  }
}
const asCall = (call: FakeCall) => call as unknown as EventCall

const grow = (log: EventLog) => {
  const event: Event = {
    seq: log.head + 1,
    ts_ms: 0,
    step: log.head + 1,
    command_id: "x".repeat(FRAME_BYTES),
    event: undefined
  }
  log.append([event])
}

describe("EventStream", () => {
  it("writes nothing to a client that does not read, and ends its stream after the time limit", async () => {
    let now = 0
    const log = new EventLog("e")
    const stream = new EventStream(log, () => now)
    const [slow, quick] = [new FakeCall(3), new FakeCall(Number.POSITIVE_INFINITY)]
    stream.subscribe(asCall(slow))
    stream.subscribe(asCall(quick))
    for (let i = 0; i < 10; i++) {
      grow(log)
      stream.publish()
    }
    assert.deepStrictEqual([slow.frames.length, quick.frames.length], [3, 11])
    assert.strictEqual(stream.count, 2)
    now = SUBSCRIBER_STALL_MS
    await new Promise((resolve) => slow.once("error", resolve))
    assert.deepStrictEqual(slow.codes, [status.RESOURCE_EXHAUSTED])
    assert.deepStrictEqual([slow.frames.length, stream.count], [3, 1])
    stream.stop()
    assert.deepStrictEqual(quick.codes, [status.UNAVAILABLE])
  })

  it("resumes a slow client where it stopped reading", () => {
    const log = new EventLog("e")
    const stream = new EventStream(log, () => 0)
    const call = new FakeCall(2)
    stream.subscribe(asCall(call))
    for (let i = 0; i < 5; i++) {
      grow(log)
      stream.publish()
    }
    assert.strictEqual(call.frames.length, 2)
    for (let i = 0; i < 4; i++) call.emit("drain")
    assert.strictEqual(call.frames.length, 6)
    stream.stop()
  })

  it("shares one encoded frame among all subscribers", () => {
    const log = new EventLog("e")
    const stream = new EventStream(log, () => 0)
    const calls = [new FakeCall(99), new FakeCall(99)]
    for (const call of calls) stream.subscribe(asCall(call))
    grow(log)
    stream.publish()
    assert.strictEqual(calls[0]!.frames[1], calls[1]!.frames[1])
    stream.stop()
  })

  it("limits the subscribers, and frees the slot of a closed stream", () => {
    const stream = new EventStream(new EventLog("e"), () => 0)
    const calls = Array.from({ length: SUBSCRIBERS_MAX + 1 }, () => new FakeCall(99))
    for (const call of calls) stream.subscribe(asCall(call))
    assert.deepStrictEqual(calls.at(-1)!.codes, [status.RESOURCE_EXHAUSTED])
    calls[0]!.emit("cancelled")
    const late = new FakeCall(99)
    stream.subscribe(asCall(late))
    assert.deepStrictEqual(late.codes, [])
    stream.stop()
  })
})
