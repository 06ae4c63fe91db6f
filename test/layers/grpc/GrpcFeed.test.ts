import { Metadata, status } from "@grpc/grpc-js"
import { Effect, Fiber, Logger, Stream } from "effect"
import { assert, describe, it } from "vitest"
import * as GrpcFeed from "../../../src/layers/grpc/GrpcFeed.ts"
import { WireError } from "../../../src/layers/grpc/Enums.ts"
import type { Event, StreamEventsResponse } from "../../../src/proto/gateway/v1/sequencer.ts"
import { Feed } from "../../../src/services/Feed.ts"
import { start, submitAll, temporary } from "../../doubles/FakeBackend.ts"
import { deposit } from "../../doubles/FakeMachine.ts"
import { type Events, hostile } from "../../doubles/HostileBackend.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"

const event = (seq: number): Event => ({ seq, ts_ms: 0, step: seq, event: undefined })
const frame = (epoch: string, ...seqs: ReadonlyArray<number>): StreamEventsResponse => ({
  epoch,
  events: seqs.map(event),
  heartbeat: undefined,
  fork: "f",
  checksums: seqs.map((seq) => 1_000 + seq)
})
const seqs = (frames: ReturnType<GrpcFeed.Reader["read"]>) =>
  frames.flatMap((frame) => (frame.type === "events" ? frame.events.map((event) => event.seq) : []))

describe("Reader", () => {
  it("drops repeated events, and requests a frame with a gap again", () => {
    const reader = new GrpcFeed.Reader({ epoch: "e", seq: 4 })
    assert.deepStrictEqual(reader.request, { epoch: "e", from_seq: 5, fork: "", checksum: undefined })
    assert.deepStrictEqual(seqs(reader.read(frame("e", 3, 4, 5, 6))), [5, 6])
    assert.throws(() => reader.read(frame("e", 7, 9)), WireError)
    assert.deepStrictEqual(reader.request, { epoch: "e", from_seq: 7, fork: "f", checksum: 1_006 })
    assert.deepStrictEqual(seqs(reader.read(frame("e", 7, 8, 9))), [7, 8, 9])
  })

  it("gives each event its own checksum, also behind repeated ones, and none where the backend sends too few", () => {
    const reader = new GrpcFeed.Reader({ epoch: "e", seq: 4 })
    const read = (message: StreamEventsResponse) =>
      reader
        .read(message)
        .flatMap((one) => (one.type === "events" ? [[one.events.map(({ seq }) => seq), one.checksums]] : []))
    assert.deepStrictEqual(read(frame("e", 3, 4, 5, 6)), [
      [
        [5, 6],
        [1_005, 1_006]
      ]
    ])
    assert.deepStrictEqual(read({ ...frame("e", 7, 8), checksums: [1_008] }), [[[7, 8], undefined]])
    assert.deepStrictEqual(read(frame("e", 7, 8)), [])
    assert.strictEqual(reader.request.checksum, 1_008)
    // a frame without a history leaves the known one
    assert.lengthOf(read({ ...frame("e", 9), fork: "" }), 1)
    assert.deepStrictEqual(reader.request, { epoch: "e", from_seq: 10, fork: "f", checksum: 1_009 })
  })

  it("takes the running epoch if it has none, and ends when the epoch changes", () => {
    const reader = new GrpcFeed.Reader(undefined)
    assert.deepStrictEqual(reader.request, { epoch: "", from_seq: 1, fork: "", checksum: undefined })
    reader.read(frame("e", 1))
    assert.deepStrictEqual(reader.request, { epoch: "e", from_seq: 2, fork: "f", checksum: 1_001 })
    assert.throws(() => reader.read(frame("f", 1)), /epoch changed/)
    assert.isTrue(reader.gone)
  })
})

describe("GrpcFeed", () => {
  it.each([
    [status.OUT_OF_RANGE, undefined, "Expired"],
    [status.FAILED_PRECONDITION, "Forked", "Forked"],
    [status.FAILED_PRECONDITION, undefined, "Restarted"]
  ] as const)(
    "ends where the backend refuses a position with %i and the reason %s: %s",
    async (code, reason, expected) => {
      const metadata = new Metadata()
      if (reason !== undefined) metadata.set("error-reason", reason)
      const streamEvents: Events = (call) => void call.emit("error", { code, details: "no", metadata })
      const { channel, close } = await hostile({ sequencer: { streamEvents } })
      const feed = GrpcFeed.make(channel)
      const gone = await Effect.runPromise(Effect.flip(Stream.runDrain(feed.follow({ epoch: "e", seq: 4 }))))
      assert.deepInclude(gone, { _tag: "FeedGone", reason: expected })
      await close()
    }
  )

  it("resumes without a gap or a repetition over many cuts, and reports each loss", async () => {
    const { directory, remove } = temporary()
    const backend = await start(directory)
    const proxy = await FaultProxy.start(backend.port)
    const endpoint = { address: `127.0.0.1:${proxy.port}`, secret: undefined, tls: undefined }
    const found: Array<number> = []
    let losses = 0
    const reading = Effect.runFork(
      Effect.scoped(
        Effect.gen(function* () {
          const feed = yield* Feed
          yield* feed.follow(undefined).pipe(
            Stream.tap((frame) =>
              Effect.sync(() => {
                if (frame.type === "interrupted") losses++
                if (frame.type === "events") for (const { seq } of frame.events) found.push(seq)
              })
            ),
            Stream.takeUntil(() => found.length >= 4000),
            Stream.runDrain
          )
        }).pipe(Effect.provide(GrpcFeed.layer(endpoint)), Effect.provide(Logger.layer([])))
      )
    )
    for (let i = 0; i < 20; i++) {
      await submitAll(backend.client, [Array.from({ length: 100 }, () => deposit(1))])
      if (i % 4 === 1) {
        await new Promise((resolve) => setTimeout(resolve, 150))
        proxy.cut()
      }
    }
    await Effect.runPromise(Fiber.join(reading))
    assert.deepStrictEqual(
      found,
      Array.from({ length: found.length }, (_, i) => i + 1)
    )
    assert.isAtLeast(losses, 3)
    await proxy.close()
    await backend.stop()
    remove()
  })
})
