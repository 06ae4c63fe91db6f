import { assert, describe, it } from "vitest"
import { BLOCK_BYTES_MAX, FRAME_BYTES } from "../../../src/backend/journal/EventBlocks.ts"
import { EventLog } from "../../../src/backend/journal/EventLog.ts"
import { type Event, StreamEventsResponse } from "../../../src/proto/gateway/v1/sequencer.ts"

/** A small seeded random generator (mulberry32). */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

const event = (seq: number, step: number, bytes: number): Event => ({
  seq,
  ts_ms: seq,
  step,
  command_id: "x".repeat(bytes),
  event: undefined
})

/** Reads the log from a seq to its end; returns the seqs, and asserts that no frame splits a step. */
const readFrom = (log: EventLog, from: number): ReadonlyArray<number> => {
  const start = log.seek(from)
  if (start === undefined) return assert.fail(`${from} is not kept`)
  const found: Array<Event> = []
  const take = (frame: Buffer) => {
    const { epoch, events } = StreamEventsResponse.decode(frame)
    assert.strictEqual(epoch, log.epoch)
    assert.notStrictEqual(events[0]?.step, found.at(-1)?.step)
    found.push(...events)
  }
  if (start.frame !== undefined) take(start.frame)
  let { cursor } = start
  while (cursor < log.end) {
    const next = log.read(cursor)
    take(next.frame)
    cursor = next.cursor
  }
  return found.map(({ seq }) => seq)
}

/** A checksum for each seq. */
const append = (log: EventLog, events: ReadonlyArray<Event>) => {
  for (const event of events) log.encoder.add(event, 7 * event.seq)
  log.add(log.encoder.take())
}

describe("EventLog", () => {
  for (const seed of [1, 2, 3]) {
    it(`serves every stored seq to the end, in frames of whole steps, within its limits (seed ${seed})`, () => {
      const next = random(seed)
      const limits = { events_kept_max: 400, bytes_kept_max: 6 * FRAME_BYTES }
      const log = new EventLog("e", limits)
      let step = 0
      for (let turn = 0; turn < 300; turn++) {
        const events: Array<Event> = []
        for (let steps = 1 + Math.floor(next() * 4); steps > 0; steps--) {
          step++
          for (let n = 1 + Math.floor(next() * 5); n > 0; n--) {
            events.push(event(log.head + events.length + 1, step, Math.floor(next() ** 4 * 30_000)))
          }
        }
        append(log, events)
        assert.isAtMost(log.head - log.oldest, limits.events_kept_max + 20)
        if (turn % 10 !== 0) continue
        for (const from of [
          log.oldest,
          log.head,
          log.head + 1,
          log.oldest + Math.floor(next() * (log.head - log.oldest))
        ]) {
          const expected = Array.from({ length: log.head - from + 1 }, (_, i) => from + i)
          assert.deepStrictEqual(readFrom(log, from), expected)
        }
        for (const seq of [log.oldest, log.head]) assert.strictEqual(log.checksumAt(seq), 7 * seq)
        assert.isUndefined(log.checksumAt(log.oldest - 1))
        assert.isUndefined(log.seek(log.oldest - 1))
        assert.isUndefined(log.seek(log.head + 2))
      }
      assert.isAbove(log.oldest, 1)
      assert.isTrue(log.isGone(0))
    })
  }

  it("serves every stored seq after thousands of dropped blocks", () => {
    const log = new EventLog("e", { events_kept_max: 100, bytes_kept_max: 1e9 })
    for (let seq = 1; seq <= 5_000; seq++) {
      append(log, [event(seq, seq, 1)])
      if (seq % 50 !== 0) continue
      const expected = Array.from({ length: seq - log.oldest + 1 }, (_, i) => log.oldest + i)
      assert.deepStrictEqual(readFrom(log, log.oldest), expected)
      assert.lengthOf(expected, Math.min(seq, 100))
    }
  })

  it("has the checksum of its head where it begins after earlier events", () => {
    const log = new EventLog("e1")
    log.skipTo(100, 77)
    assert.deepStrictEqual([log.checksumAt(100), log.checksumAt(99)], [77, undefined])
    append(log, [event(101, 101, 1)])
    assert.deepStrictEqual([log.checksumAt(101), log.checksumAt(100)], [707, undefined])
  })

  it("refuses events that do not follow the head", () => {
    const log = new EventLog("e")
    append(log, [event(1, 1, 0)])
    assert.throws(() => append(log, [event(3, 2, 0)]), /does not follow/)
  })

  it("cuts a step of many events into frames of a limited size, each with its checksums", () => {
    const log = new EventLog("e")
    append(
      log,
      Array.from({ length: 5_000 }, (_, i) => event(i + 1, 1, 400))
    )
    const sizes: Array<number> = []
    const seqs: Array<number> = []
    let { cursor } = log.seek(1)!
    while (cursor < log.end) {
      const next = log.read(cursor)
      const { checksums, events } = StreamEventsResponse.decode(next.frame)
      assert.deepStrictEqual(
        checksums,
        events.map(({ seq }) => 7 * seq)
      )
      sizes.push(next.frame.length)
      seqs.push(...events.map(({ seq }) => seq))
      cursor = next.cursor
    }
    assert.deepStrictEqual(
      seqs,
      Array.from({ length: 5_000 }, (_, i) => i + 1)
    )
    assert.isAtMost(Math.max(...sizes), BLOCK_BYTES_MAX + 16 * 1024)
    assert.isAtLeast(sizes[0]!, BLOCK_BYTES_MAX)
    const middle = log.seek(2_500)!
    assert.strictEqual(StreamEventsResponse.decode(middle.frame!).events[0]?.seq, 2_500)
  })

  it("joins small steps into one frame", () => {
    const log = new EventLog("e")
    for (const seq of [1, 2, 3]) append(log, [event(seq, seq, 0)])
    const { cursor, frame } = log.read(log.seek(1)!.cursor)
    const { events } = StreamEventsResponse.decode(frame)
    assert.deepStrictEqual([events.map(({ seq }) => seq), cursor], [[1, 2, 3], log.end])
  })

  it("keeps a step that is a little larger in one frame", () => {
    const log = new EventLog("e")
    append(
      log,
      [1, 2, 3].map((seq) => event(seq, 1, FRAME_BYTES))
    )
    assert.deepStrictEqual(readFrom(log, 1), [1, 2, 3])
    assert.deepStrictEqual(readFrom(log, 2), [2, 3])
  })
})
