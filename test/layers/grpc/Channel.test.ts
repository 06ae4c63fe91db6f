/** Streams that reopen, and backends that are checked, over calls whose frames and end the test decides. */
import { EventEmitter } from "node:events"
import { type Client, type ClientReadableStream, Metadata, status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Effect, Logger, References, Stream } from "effect"
import * as Channel from "../../../src/layers/grpc/Channel.ts"
import * as Leader from "../../../src/layers/grpc/Leader.ts"
import { eventually } from "../../doubles/Eventually.ts"

class Call extends EventEmitter {
  cancels = 0
  cancel(): void {
    this.cancels++
  }
  lose(): void {
    this.emit("error", Object.assign(new Error("lost"), { code: status.UNAVAILABLE, details: "lost" }))
  }
}

describe("a stream that is followed", () => {
  // not the timers of fibers: these run by the test's clock
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
  afterEach(() => void vi.useRealTimers())

  const followed = Effect.gen(function* () {
    const calls: Array<Call> = []
    const levels: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel }) => void levels.push(logLevel))
    yield* Channel.follow<number, number, never>({
      name: "test",
      channel: { onMove: () => () => {} },
      open: () => {
        calls.push(new Call())
        return calls.at(-1) as unknown as ClientReadableStream<number>
      },
      read: (frame) => [frame],
      lost: -1,
      final: () => undefined
    }).pipe(
      Stream.runDrain,
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.forkScoped
    )
    const opened = (count: number) =>
      Effect.map(
        eventually(`call ${count}`, () => calls.length === count),
        () => calls[count - 1]!
      )
    return { levels, opened }
  })

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
      third.lose()
      yield* opened(4)
      assert.deepStrictEqual(levels, ["Warn", "Debug", "Warn"])
    })
  )
})

describe("the choice of a backend", () => {
  it.effect("checks the health of several, and not that of a single one", () =>
    Effect.gen(function* () {
      const checked: Array<string> = []
      const clientOf = (name: string): Client => {
        const makeUnaryRequest = () => {
          checked.push(name)
          return { cancel: () => {} }
        }
        return { makeUnaryRequest } as unknown as Client
      }
      yield* Leader.make([clientOf("alone")], () => new Metadata())
      yield* Leader.make([clientOf("first"), clientOf("second")], () => new Metadata())
      // checks begin in the order of their leaders
      yield* eventually("both are checked", () => checked.includes("first") && checked.includes("second"))
      assert.notInclude(checked, "alone")
    })
  )
})
