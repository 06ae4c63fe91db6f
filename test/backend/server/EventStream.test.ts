import { EventEmitter } from "node:events"
import { status } from "@grpc/grpc-js"
import { assert, describe, it, onTestFinished, vi } from "vitest"
import { FRAME_BYTES } from "../../../src/backend/journal/EventBlocks.ts"
import { EventLog } from "../../../src/backend/journal/EventLog.ts"
import {
  type EventCall,
  EventStream,
  HEARTBEAT_MS,
  REPLAYS_MAX,
  type ReplaySink,
  SUBSCRIBER_STALL_MS,
  SUBSCRIBERS_MAX
} from "../../../src/backend/server/EventStream.ts"
import { type Event, StreamEventsResponse } from "../../../src/proto/gateway/v1/sequencer.ts"

/** A call whose client reads as many frames as the test allows. */
class FakeCall extends EventEmitter {
  readonly request = { epoch: "", from_seq: 1, fork: "", checksum: undefined as number | undefined }
  readonly frames: Array<Buffer> = []
  readonly codes: Array<status> = []
  readonly details: Array<string> = []
  readonly takes: number
  constructor(takes: number) {
    super()
    this.takes = takes
    this.on("error", ({ code, details }: { readonly code: status; readonly details: string }) => {
      this.codes.push(code)
      this.details.push(details)
    })
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
  log.encoder.add(event, 1_000 + event.seq)
  log.add(log.encoder.take())
}

describe("EventStream", () => {
  it("accepts positions on its history, refuses others as Forked, and reports one that is ahead in its own fork", () => {
    // fork b began after event 4, fork c after event 6
    const log = new EventLog("a", undefined, "c")
    for (let i = 0; i < 9; i++) grow(log)
    const forkOf = (fork: string, head_seq: number) => ({ fork, head_seq, position: head_seq, made_at_ms: 0 })
    const ahead: Array<number> = []
    const stream = new EventStream(log, () => 0, undefined, {
      forks: [forkOf("a", 0), forkOf("b", 4), forkOf("c", 6)],
      onAhead: (seq) => void ahead.push(seq)
    })
    const ask = (fork: string, seq: number, checksum?: number) => {
      const call = new FakeCall(Number.POSITIVE_INFINITY)
      call.request.fork = fork
      call.request.from_seq = seq + 1
      call.request.checksum = checksum
      stream.subscribe(asCall(call))
      return call.codes[0] ?? "accepted"
    }
    const own = (seq: number) => 1_000 + seq
    for (const [fork, seq] of [
      ["a", 4],
      ["b", 5],
      ["b", 6],
      ["c", 6],
      ["c", 9],
      ["", 8]
    ] as const)
      assert.strictEqual(ask(fork, seq, own(seq)), "accepted", `${fork} ${seq}`)
    assert.strictEqual(ask("c", 9), "accepted", "no checksum")
    for (const [fork, seq, checksum] of [
      ["a", 5, own(5)],
      ["b", 7, own(7)],
      ["x", 2, own(2)],
      ["c", 9, own(8)],
      ["c", 3, 7],
      ["", 3, 7]
    ] as const)
      assert.strictEqual(ask(fork, seq, checksum), status.FAILED_PRECONDITION, `${fork} ${seq}`)
    assert.deepStrictEqual(ahead, [])
    assert.strictEqual(ask("c", 10, own(10)), status.FAILED_PRECONDITION)
    assert.deepStrictEqual(ahead, [10])
    stream.stop()
  })

  it("accepts its own epoch and none, begins at the first event for seq 0, and refuses events that memory lacks", () => {
    const log = new EventLog("e", { events_kept_max: 3, bytes_kept_max: Infinity })
    for (let i = 0; i < 3; i++) grow(log)
    const stream = new EventStream(log, () => 0)
    const refused: Array<string> = []
    const ask = (from_seq: number, epoch = "") => {
      const call = new FakeCall(Number.POSITIVE_INFINITY)
      Object.assign(call.request, { from_seq, epoch })
      stream.subscribe(asCall(call))
      refused.push(...call.details)
      return call.codes[0] ?? call.frames.flatMap((frame) => StreamEventsResponse.decode(frame).events).length
    }
    assert.deepStrictEqual([ask(0), ask(1, "e"), ask(3), ask(4)], [3, 3, 1, 0])
    assert.strictEqual(ask(1, "another"), status.FAILED_PRECONDITION)
    assert.strictEqual(ask(5), status.OUT_OF_RANGE)
    grow(log)
    assert.deepStrictEqual([log.oldest, ask(1), ask(2)], [2, status.OUT_OF_RANGE, 3])
    assert.deepStrictEqual(refused.slice(1), ["from_seq must be between 1 and 4", "from_seq must be between 2 and 5"])
    assert.strictEqual(stream.count, 5)
    stream.stop()
  })

  it("reports head, checksum and state in heartbeats, the last one before the stream ends, and none after it", () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const log = new EventLog("e")
    grow(log)
    const state = { refusing: ["DiskFull"], warnings: ["ClockOffset"] }
    const stream = new EventStream(
      log,
      () => 7,
      () => state
    )
    const call = new FakeCall(99)
    call.request.from_seq = 2
    stream.subscribe(asCall(call))
    const beat = { head_seq: 1, server_ts_ms: 7, checksum: 1_001, ...state }
    const beats = () => call.frames.splice(0).map((frame) => StreamEventsResponse.decode(frame).heartbeat)
    assert.deepStrictEqual(beats(), [beat])
    vi.advanceTimersByTime(HEARTBEAT_MS)
    assert.deepStrictEqual(beats(), [beat])
    state.refusing = ["JournalStopped"]
    stream.stop()
    assert.deepStrictEqual(beats(), [{ ...beat, refusing: ["JournalStopped"] }])
    assert.deepStrictEqual([call.codes, stream.count, vi.getTimerCount()], [[status.UNAVAILABLE], 0, 0])
    const late = new FakeCall(99)
    stream.subscribe(asCall(late))
    assert.deepStrictEqual([late.codes, late.frames, stream.count], [[status.UNAVAILABLE], [], 0])
  })

  it("ends a client that does not read at the next heartbeat where the log has dropped its next event", () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const log = new EventLog("e", { events_kept_max: 2, bytes_kept_max: Infinity })
    const stream = new EventStream(log, () => 0)
    // the heartbeat fills its buffer
    const [behind, near, reading] = [new FakeCall(1), new FakeCall(1), new FakeCall(1)]
    for (const call of [behind, reading]) stream.subscribe(asCall(call))
    for (let i = 0; i < 4; i++) grow(log)
    near.request.from_seq = 4
    stream.subscribe(asCall(near))
    // a client that reads again before the heartbeat
    reading.emit("drain")
    assert.deepStrictEqual([reading.codes, reading.frames.length], [[status.RESOURCE_EXHAUSTED], 1])
    assert.deepStrictEqual(behind.codes, [])
    vi.advanceTimersByTime(HEARTBEAT_MS)
    assert.deepStrictEqual([behind.codes, near.codes], [[status.RESOURCE_EXHAUSTED], []])
    stream.stop()
  })

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
    for (const event of ["cancelled", "close"]) {
      calls.shift()!.emit(event)
      const late = new FakeCall(99)
      stream.subscribe(asCall(late))
      assert.deepStrictEqual(late.codes, [], event)
    }
    assert.strictEqual(stream.count, SUBSCRIBERS_MAX)
    stream.stop()
  })

  describe("with a replay of old events", () => {
    /** A log that keeps its newest two events of 9, and the replays that its subscribers start. */
    const setting = () => {
      const log = new EventLog("e", { events_kept_max: 2, bytes_kept_max: Infinity })
      const whole = new EventLog("e")
      for (let i = 0; i < 9; i++) {
        grow(log)
        grow(whole)
      }
      const started: Array<{ readonly seq: number; readonly sink: ReplaySink; isEnded: boolean }> = []
      const failures: Array<string> = []
      const stream = new EventStream(log, () => 0, undefined, undefined, {
        start: ({ seq }, sink) => {
          const replay = { seq, sink, isEnded: false }
          started.push(replay)
          return () => void (replay.isEnded = true)
        },
        onFailure: (message) => void failures.push(message)
      })
      const subscribe = (from_seq: number, takes = 99) => {
        const call = new FakeCall(takes)
        call.request.from_seq = from_seq
        stream.subscribe(asCall(call))
        return call
      }
      /** The block of an event, as a replay builds it. */
      const block = (seq: number, checksum = 1_000 + seq) => ({
        first: seq,
        last: seq,
        checksum,
        bytes: whole.read(seq - 1).frame
      })
      return { log, started, failures, stream, subscribe, block }
    }
    const seqsOf = ({ frames }: FakeCall) =>
      frames.flatMap((frame) => StreamEventsResponse.decode(frame).events.map(({ seq }) => seq))

    it("sends the events of the replay, then those of the log from where the two meet, and then new ones", () => {
      const { block, log, started, stream, subscribe } = setting()
      const call = subscribe(3)
      assert.deepStrictEqual(
        started.map(({ seq }) => seq),
        [3]
      )
      const { sink } = started[0]!
      const { oldest } = log
      let taken = 0
      for (let seq = 3; seq <= oldest; seq++) sink.onBlock(block(seq), () => taken++)
      assert.isTrue(started[0]!.isEnded)
      // what the thread sent before it ended
      sink.onBlock(block(oldest + 1), () => taken++)
      grow(log)
      stream.publish()
      assert.deepStrictEqual(seqsOf(call), [3, 4, 5, 6, 7, 8, 9, 10])
      assert.strictEqual(taken, oldest - 3)
      stream.stop()
    })

    it("lets the replay continue when the subscriber has taken what was sent", () => {
      const { block, started, stream, subscribe } = setting()
      // the heartbeat fills its buffer
      const call = subscribe(1, 1)
      let taken = 0
      started[0]!.sink.onBlock(block(1), () => taken++)
      assert.strictEqual(taken, 0)
      call.emit("drain")
      assert.strictEqual(taken, 1)
      stream.stop()
    })

    it("ends a subscriber whose replay has another checksum than the log, and reports it", () => {
      const { block, failures, log, started, stream, subscribe } = setting()
      const call = subscribe(1)
      started[0]!.sink.onBlock(block(log.oldest, 7), () => {})
      assert.deepStrictEqual(call.codes, [status.OUT_OF_RANGE])
      assert.match(failures[0]!, /another checksum/)
      assert.isTrue(started[0]!.isEnded)
      stream.stop()
    })

    it("answers a journal that does not replay, another history, the end of the journal, and a lost replay", () => {
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const { failures, started, stream, subscribe } = setting()
      const calls = [subscribe(1), subscribe(1)]
      started[0]!.sink.onError("damaged")
      started[1]!.sink.onEnd("Forked")
      calls.push(subscribe(1), subscribe(1))
      started[2]!.sink.onEnd("AtHead")
      // the subscriber must not take its events for gone
      started[3]!.sink.onLost("no memory")
      vi.advanceTimersByTime(999)
      assert.deepStrictEqual(calls[3]!.codes, [])
      vi.advanceTimersByTime(1)
      assert.deepStrictEqual(
        calls.map(({ codes }) => codes),
        [[status.OUT_OF_RANGE], [status.FAILED_PRECONDITION], [status.UNAVAILABLE], [status.UNAVAILABLE]]
      )
      assert.deepStrictEqual(failures, ["damaged", "no memory"])
      stream.stop()
    })

    it("begins no replay for events that the log has, and ends no stream twice", () => {
      const { failures, log, started, stream, subscribe } = setting()
      const own = subscribe(log.oldest)
      assert.deepStrictEqual([started.length, seqsOf(own)], [0, [8, 9]])
      const call = subscribe(log.oldest - 1)
      assert.strictEqual(started.length, 1)
      call.emit("cancelled")
      // what the thread sent before it ended
      started[0]!.sink.onEnd("Forked")
      started[0]!.sink.onError("late")
      assert.deepStrictEqual([call.codes, failures], [[], ["late"]])
      stream.stop()
    })

    it("limits the replays, and ends that of a closed stream", () => {
      const { started, stream, subscribe } = setting()
      const calls = Array.from({ length: REPLAYS_MAX + 1 }, () => subscribe(1))
      assert.deepStrictEqual(calls.at(-1)!.codes, [status.RESOURCE_EXHAUSTED])
      calls[0]!.emit("cancelled")
      assert.isTrue(started[0]!.isEnded)
      assert.deepStrictEqual(subscribe(1).codes, [])
      stream.stop()
    })
  })
})
