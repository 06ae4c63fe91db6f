/** Streams that reopen, and backends that are checked, over calls whose frames and end the test decides. */
import { EventEmitter } from "node:events"
import { MessageChannel } from "node:worker_threads"
import { type ClientReadableStream, status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, References, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import * as Channel from "../../../src/layers/grpc/Channel.ts"
import { type Connection, RECONNECT_MS_MAX, RECONNECT_MS_MIN } from "../../../src/layers/grpc/Connection.ts"
import * as Leader from "../../../src/layers/grpc/Leader.ts"
import { HealthService } from "../../../src/proto/grpc/health/v1/health.ts"
import { SequencerService } from "../../../src/proto/gateway/v1/sequencer.ts"
import { CurrentTracer } from "../../../src/services/operations/Tracing.ts"
import { eventually } from "../../doubles/Eventually.ts"

class Call extends EventEmitter {
  cancels = 0
  pauses = 0
  resumes = 0
  cancel(): void {
    this.cancels++
  }
  pause(): void {
    this.pauses++
  }
  resume(): void {
    this.resumes++
  }
  lose(code = status.UNAVAILABLE, details = "lost"): void {
    this.emit("error", Object.assign(new Error("lost"), { code, details }))
  }
}

describe("a stream that is followed", () => {
  // not the timers of fibers: these run by the test's clock
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())

  /** `take`: what the reader does with each value. */
  const following = Effect.fnUntraced(function* (take: (value: number) => Effect.Effect<void>) {
    const calls: Array<Call> = []
    const movers = new Set<(isAlive: boolean) => void>()
    const levels: Array<string> = []
    const details: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ fiber, logLevel }) => {
      levels.push(logLevel)
      details.push(fiber.getRef(References.CurrentLogAnnotations)["details"])
    })
    yield* Channel.follow<number, number, never>({
      name: "test",
      channel: {
        onMove: (moved) => {
          movers.add(moved)
          return () => movers.delete(moved)
        }
      },
      open: () => {
        calls.push(new Call())
        return calls.at(-1) as unknown as ClientReadableStream<number>
      },
      read: (frame) => [frame],
      lost: -1,
      final: () => undefined
    }).pipe(
      Stream.runForEach(take),
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.forkScoped
    )
    const opened = (count: number) =>
      Effect.map(
        eventually(`call ${count}`, () => calls.length === count),
        () => calls[count - 1]!
      )
    return { details, levels, movers, opened }
  })
  const followed = following(() => Effect.void)

  it.effect("is cancelled when another backend leads, and reopened there", () =>
    Effect.gen(function* () {
      const { movers, opened } = yield* followed
      const first = yield* opened(1)
      for (const moved of movers) moved(true)
      assert.strictEqual(first.cancels, 1)
      first.lose()
      const second = yield* opened(2)
      // the lost call follows the leader no more, and has no timer
      assert.deepStrictEqual([movers.size, vi.getTimerCount()], [1, 1])
      for (const moved of movers) moved(false)
      assert.strictEqual(second.cancels, 1)
    })
  )

  it.effect("passes on nothing that still arrives on a lost call", () =>
    Effect.gen(function* () {
      const taken: Array<number> = []
      const { opened } = yield* following((value) => Effect.sync(() => void taken.push(value)))
      const first = yield* opened(1)
      first.emit("data", 1)
      first.lose()
      first.emit("data", 2)
      const second = yield* opened(2)
      second.emit("data", 3)
      yield* eventually("the next call is read", () => taken.includes(3))
      assert.deepStrictEqual(taken, [1, -1, 3])
    })
  )

  it.effect("is held back while its reader takes no frames, which is no silence, and loses none", () =>
    Effect.gen(function* () {
      const goOn = yield* Deferred.make<void>()
      const taken: Array<number> = []
      const { opened } = yield* following((value) =>
        Effect.andThen(
          Deferred.await(goOn),
          Effect.sync(() => void taken.push(value))
        )
      )
      const call = yield* opened(1)
      const count = Channel.FRAMES_WAITING_MAX + 10
      let sent = 0
      while (call.pauses === 0 && sent < 2 * count) call.emit("data", ++sent)
      assert.strictEqual(call.pauses, 1)
      vi.advanceTimersByTime(10 * Channel.SILENCE_MS_MAX)
      assert.deepStrictEqual([call.cancels, call.resumes], [0, 0])
      yield* Deferred.succeed(goOn, undefined)
      yield* eventually("the call goes on", () => call.resumes === 1 && taken.length === sent)
      assert.deepStrictEqual(
        taken,
        Array.from({ length: sent }, (_, i) => i + 1)
      )
      vi.advanceTimersByTime(2 * Channel.SILENCE_MS_MAX)
      assert.isAbove(call.cancels, 0)
    })
  )

  it.effect("is cancelled when it brings nothing, and not while it brings frames", () =>
    Effect.gen(function* () {
      const { opened } = yield* followed
      const call = yield* opened(1)
      for (let frame = 1; frame <= 10; frame++) {
        vi.advanceTimersByTime(Channel.SILENCE_MS_MAX / 2)
        call.emit("data", frame)
      }
      assert.strictEqual(call.cancels, 0)
      vi.advanceTimersByTime(2 * Channel.SILENCE_MS_MAX)
      assert.isAbove(call.cancels, 0)
    })
  )

  it.effect("warns once a loss, and again after it brought a frame; failed attempts are details", () =>
    Effect.gen(function* () {
      const { levels, opened } = yield* followed
      ;(yield* opened(1)).lose()
      ;(yield* opened(2)).lose()
      const third = yield* opened(3)
      third.emit("data", 1)
      yield* TestClock.adjust(Channel.SAME_LOSS_MS)
      third.lose()
      yield* opened(4)
      assert.deepStrictEqual(levels, ["Warn", "Debug", "Warn"])
    })
  )

  it.effect("warns of an error that repeats itself every 10 s, not at each of its reconnects", () =>
    Effect.gen(function* () {
      const { levels, opened } = yield* followed
      for (let n = 1; n <= 4; n++) {
        const call = yield* opened(n)
        // a heartbeat, and then the event that cannot be read
        call.emit("data", n)
        call.lose(status.DATA_LOSS, "event 7: price is not a decimal")
      }
      ;(yield* opened(5)).lose(status.DATA_LOSS, "event 8: price is not a decimal")
      const last = yield* opened(6)
      yield* TestClock.adjust(Channel.SAME_LOSS_MS)
      last.lose(status.DATA_LOSS, "event 8: price is not a decimal")
      yield* opened(7)
      assert.deepStrictEqual(levels, ["Warn", "Debug", "Debug", "Debug", "Warn", "Warn"])
    })
  )

  it.effect("says that a silent stream was silent", () =>
    Effect.gen(function* () {
      const { details, opened } = yield* followed
      const call = yield* opened(1)
      vi.advanceTimersByTime(2 * Channel.SILENCE_MS_MAX)
      call.lose(status.CANCELLED, "Cancelled on client")
      yield* opened(2)
      assert.deepStrictEqual(details, ["the stream brought no frame and no heartbeat for 5 s"])
    })
  )
})

describe("the pause before a reconnect", () => {
  it.effect("is longer after each failure, up to its limit, and differs by a fifth at most", () =>
    Effect.gen(function* () {
      const [least, most] = [RECONNECT_MS_MIN, RECONNECT_MS_MAX]
      for (const [failures, bound] of [
        [0, least],
        [1, 2 * least],
        [2, most],
        [100, most]
      ] as const) {
        const pauses = yield* Effect.forEach(Array.from({ length: 50 }), () =>
          Effect.forkChild(Channel.pause(failures))
        )
        const isOver = (pause: Fiber.Fiber<void>) => pause.pollUnsafe() !== undefined
        yield* TestClock.adjust(0.8 * bound - 1)
        assert.isFalse(pauses.some(isOver))
        yield* TestClock.adjust(0.2 * bound)
        assert.isTrue(pauses.some(isOver) && !pauses.every(isOver))
        yield* TestClock.adjust(0.2 * bound + 2)
        assert.isTrue(pauses.every(isOver))
      }
    })
  )
})

it.effect("a read that has ended leaves the liveness probe at the pace of no pending call", () =>
  Effect.gen(function* () {
    let checks = 0
    const open = (path: string) => {
      if (path === HealthService.check.path) checks++
      // no thread runs: each call fails at once
      return undefined
    }
    const channel = yield* Channel.make({ open }, "sequencer")
    const read = yield* Effect.forkChild(channel.read(SequencerService.getHead, {}, 60_000))
    yield* eventually("the read fails", () => read.pollUnsafe() !== undefined)
    const before = checks
    for (let step = 0; step < 200; step++) {
      yield* TestClock.adjust("50 millis")
      yield* Effect.promise(() => new Promise(setImmediate))
    }
    assert.isAbove(checks, before)
    assert.isAtMost(checks - before, 11)
  })
)

it.live("a read of a backend in a thread that is interrupted ends its span", () =>
  Effect.gen(function* () {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const channel = yield* Effect.provideService(
      Channel.make({ open: () => new MessageChannel().port1 }, "sequencer"),
      CurrentTracer,
      tracer
    )
    const read = yield* Effect.forkChild(channel.read(SequencerService.getHead, {}, 60_000), { startImmediately: true })
    yield* Fiber.interrupt(read)
    assert.deepStrictEqual(
      spans.map(({ attributes, status }) => [attributes.get("error.type"), status._tag]),
      [["CANCELLED", "Ended"]]
    )
  })
)

describe("the choice of a backend", () => {
  it.effect("checks the health of several, and not that of a single one", () =>
    Effect.gen(function* () {
      const checked: Array<string> = []
      const connectionTo = (name: string): Connection => {
        const unary = () => {
          checked.push(name)
          return () => {}
        }
        return { unary } as unknown as Connection
      }
      yield* Leader.make([connectionTo("alone")])
      yield* Leader.make([connectionTo("first"), connectionTo("second")])
      // checks begin in the order of their leaders
      yield* eventually("both are checked", () => checked.includes("first") && checked.includes("second"))
      assert.notInclude(checked, "alone")
    })
  )
})
