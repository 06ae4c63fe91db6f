/** Frames of the event stream for a broker: what is split, and where the frames begin. */
import { status } from "@grpc/grpc-js"
import { assert, describe, it } from "vitest"
import { Effect, Logger, Stream } from "effect"
import * as EventFrames from "../../../src/layers/grpc/EventFrames.ts"
import type { StreamPosition } from "../../../src/domain/Event.ts"
import type { StreamEventsRequest } from "../../../src/proto/gateway/v1/sequencer.ts"
import { type Events, hostile } from "../../doubles/HostileBackend.ts"

const event = (seq: number) => ({
  seq,
  ts_ms: 0,
  step: seq,
  event: {
    $case: "liquidation_started",
    value: { symbol: "S".repeat(100), side: 1, size: "1", bust_price: "1" }
  }
})
const heartbeat = (head_seq: number) => ({
  head_seq,
  server_ts_ms: 1,
  refusing: [],
  warnings: [],
  checksum: head_seq + 1_000
})
const frame = (seqs: ReadonlyArray<number>, more: object = {}) => ({
  epoch: "e",
  events: seqs.map((seq) => event(seq)),
  heartbeat: undefined,
  fork: "f",
  checksums: seqs.map((seq) => 1_000 + seq),
  ...more
})

/** The first frames of a backend that answers each request of the stream with the next script. */
const framesOf = async (
  count: number,
  position: StreamPosition | undefined,
  bytes_max: number,
  ...scripts: ReadonlyArray<Events>
) => {
  const asked: Array<StreamEventsRequest> = []
  const streamEvents: Events = (call) => {
    call.on("error", () => {})
    const script = scripts[Math.min(asked.length, scripts.length - 1)]!
    asked.push(call.request)
    script(call)
  }
  const backend = await hostile({
    sequencer: {
      streamEvents,
      getHead: (_: unknown, answer: (error: null, value: object) => void) =>
        answer(null, { epoch: "e", head_seq: 40, server_ts_ms: 1, fork: "f", checksum: 1_040, first_seq: 30 })
    }
  })
  const frames = await Effect.runPromise(
    EventFrames.follow(backend.endpoint, position, bytes_max).pipe(
      Stream.take(count),
      Stream.runCollect,
      Effect.provide(Logger.layer([]))
    )
  ).finally(backend.close)
  return { asked, frames: [...frames] }
}
const start = { epoch: "e", seq: 0, fork: "f", checksum: 1_000 }

describe("a frame for the broker", () => {
  it("that is too large is split into frames that follow each other, and its heartbeat is in the last one", async () => {
    const { frames } = await framesOf(4, start, 400, (call) =>
      call.write(frame([1, 2, 3, 4, 5, 6, 7, 8], { heartbeat: heartbeat(8) }))
    )
    assert.deepStrictEqual(
      frames.map(({ before, checksum, first, last }) => [first, last, before, checksum]),
      [
        [1, 2, 1_000, 1_002],
        [3, 4, 1_002, 1_004],
        [5, 6, 1_004, 1_006],
        [7, 8, 1_006, 1_008]
      ]
    )
    for (const { bytes } of frames) assert.isAtMost(bytes.length, 400)
    const read = frames.flatMap(({ bytes }) => EventFrames.read(bytes))
    assert.deepStrictEqual(
      read.flatMap((one): ReadonlyArray<number | string> =>
        one.type === "events" ? one.events.map(({ seq }) => seq) : [one.type]
      ),
      [1, 2, 3, 4, 5, 6, 7, 8, "heartbeat"]
    )
    assert.deepStrictEqual(
      read.flatMap((one) => (one.type === "events" ? (one.checksums ?? []) : [])),
      [1, 2, 3, 4, 5, 6, 7, 8].map((seq) => 1_000 + seq)
    )
  })

  it("of one event keeps it, whatever its size", async () => {
    const { frames } = await framesOf(2, start, 10, (call) => call.write(frame([1, 2])))
    assert.deepStrictEqual(
      frames.map(({ first, last }) => [first, last]),
      [
        [1, 1],
        [2, 2]
      ]
    )
  })

  it("of a heartbeat begins after the head, which is its last one", async () => {
    const { frames } = await framesOf(1, { ...start, seq: 8, checksum: 1_008 }, 400, (call) =>
      call.write(frame([], { heartbeat: heartbeat(8) }))
    )
    const [{ before, checksum, first, last }] = frames as [EventFrames.EventFrame]
    assert.deepStrictEqual([first, last, before, checksum], [9, 8, undefined, 1_008])
  })

  it("with a repetition names no checksum before its first event", async () => {
    const { frames } = await framesOf(2, start, 4_000, (call) => {
      call.write(frame([1, 2, 3]))
      call.write(frame([2, 3, 4]))
    })
    assert.deepStrictEqual(
      frames.map(({ before, checksum, first }) => [first, before, checksum]),
      [
        [1, 1_000, 1_003],
        [2, undefined, 1_004]
      ]
    )
  })
})

describe("the frames of a sequencer", () => {
  it("are requested again from the missing event after a gap, and none after the gap is passed on", async () => {
    const { asked, frames } = await framesOf(
      2,
      start,
      4_000,
      (call) => {
        call.write(frame([1, 2]))
        call.write(frame([4]))
      },
      (call) => call.write(frame([3, 4]))
    )
    assert.deepStrictEqual(
      frames.map(({ first, last }) => [first, last]),
      [
        [1, 2],
        [3, 4]
      ]
    )
    assert.deepStrictEqual(
      asked.map(({ checksum, epoch, fork, from_seq }) => [epoch, fork, from_seq, checksum]),
      [
        ["e", "f", 1, 1_000],
        ["e", "f", 3, 1_002]
      ]
    )
  })

  it("have no fork where the history has none, and its name where it has one", async () => {
    const forkOf = async (fork: string) => {
      const position = { ...start, fork: fork === "" ? undefined : fork }
      const { frames } = await framesOf(1, position, 4_000, (call) => call.write(frame([1], { fork })))
      return EventFrames.read(frames[0]!.bytes).map((each) => each.type === "events" && each.fork)
    }
    assert.deepStrictEqual(await forkOf(""), [undefined])
    assert.deepStrictEqual(await forkOf("f"), ["f"])
  })

  for (const [what, position] of [
    ["without a position", undefined],
    ["that no longer keeps the position", start]
  ] as const)
    it(`${what} begin after its head`, async () => {
      const { asked, frames } = await framesOf(1, position, 4_000, (call) => {
        if (call.request.from_seq === 1) call.emit("error", { code: status.OUT_OF_RANGE, details: "expired" })
        else call.write(frame([41]))
      })
      assert.deepStrictEqual([frames[0]!.first, frames[0]!.before], [41, 1_040])
      assert.deepStrictEqual(
        asked.map(({ fork, from_seq }) => [from_seq, fork]),
        position === undefined
          ? [[41, "f"]]
          : [
              [1, "f"],
              [41, "f"]
            ]
      )
    })
})
