/** The supervisor of the thread in which the backend runs. */
import { EventEmitter } from "node:events"
import { syncBuiltinESMExports } from "node:module"
import threads from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Fiber, Logger, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, beforeEach, vi } from "vitest"
import * as Embedded from "../../src/backend/Embedded.ts"

/** A thread that runs, answers and dies when the test says so. */
class Thread extends EventEmitter {
  readonly requests: Array<unknown> = []
  /** Whether it does not stop when it is asked to. */
  hangs = false
  constructor() {
    super()
    Queue.offerUnsafe(started, this)
  }
  runs(): void {
    this.emit("message", "running")
  }
  ends(code = 1): void {
    this.emit("exit", code)
  }
  postMessage(request: unknown): void {
    this.requests.push(request)
    if (request === "stop" && !this.hangs) this.ends(0)
  }
  terminate(): void {
    this.requests.push("terminate")
  }
}

const { Worker } = threads
let started: Queue.Queue<Thread>
let now_ms = 0

const replaceWorker = (worker: unknown): void => {
  Object.assign(threads, { Worker: worker })
  syncBuiltinESMExports()
}

beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => now_ms)
  replaceWorker(Thread)
})
afterEach(() => {
  replaceWorker(Worker)
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A supervisor, its first thread, and a queue with an item for each end of a thread that it has seen. */
const supervisor = Effect.gen(function* () {
  started = yield* Queue.unbounded<Thread>()
  const ended = yield* Queue.unbounded<void>()
  const logger = Logger.make(() => Queue.offerUnsafe(ended, undefined))
  const made = yield* Embedded.make.pipe(
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromUnknown({ DATA_DIR: "unused", SIM_MAKER: "off" })
    ),
    Effect.provide(Logger.layer([logger])),
    Effect.forkScoped
  )
  const first = yield* Queue.take(started)
  first.runs()
  return { embedded: yield* Fiber.join(made), first, ended }
})

describe("the thread of an embedded backend", () => {
  it.effect("is started again after a pause, which doubles to a maximum until the thread has served for 30 s", () =>
    Effect.gen(function* () {
      const { embedded, ended, first } = yield* supervisor
      let thread = first
      for (const [served_ms, pause_ms] of [
        [0, 100],
        [0, 200],
        [0, 400],
        [0, 800],
        [0, 1600],
        [0, 3200],
        [0, 5000],
        [29_999, 5000],
        [30_000, 100],
        [0, 200]
      ] as const) {
        now_ms += served_ms
        thread.ends()
        yield* Queue.take(ended)
        assert.isUndefined(embedded.worker())
        yield* TestClock.adjust(pause_ms - 1)
        assert.strictEqual(yield* Queue.size(started), 0, `before ${pause_ms} ms`)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* Queue.size(started), 1, `after ${pause_ms} ms`)
        thread = yield* Queue.take(started)
        thread.runs()
      }
      assert.strictEqual<unknown>(embedded.worker(), thread)
    })
  )

  it.effect("answers all who ask for its metrics at once; there are none after a second, nor between two threads", () =>
    Effect.gen(function* () {
      const { embedded, ended, first } = yield* supervisor
      const asked = yield* Effect.forkChild(Effect.all([embedded.metrics, embedded.metrics], { concurrency: 2 }))
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(first.requests, ["metrics", "metrics"])
      first.emit("message", { metrics: "all 1" })
      assert.deepStrictEqual(yield* Fiber.join(asked), ["all 1", "all 1"])

      const late = yield* Effect.forkChild(embedded.metrics)
      yield* TestClock.adjust(1000)
      assert.strictEqual(yield* Fiber.join(late), "")

      first.ends()
      yield* Queue.take(ended)
      assert.strictEqual(yield* embedded.metrics, "")
    })
  )

  it.effect("is asked to stop, and is terminated where it has not ended after 10 s", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { first } = yield* Scope.provide(supervisor, scope)
      first.hangs = true
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Effect.yieldNow
      const seen = [0, 9_999, 1].map((ms) => {
        vi.advanceTimersByTime(ms)
        return [...first.requests]
      })
      const isClosed = closing.pollUnsafe() !== undefined
      first.ends()
      yield* Fiber.join(closing)
      assert.deepStrictEqual(seen, [["stop"], ["stop"], ["stop", "terminate"]])
      assert.isFalse(isClosed, "it waits for the end of the thread")
      assert.strictEqual(yield* Queue.size(started), 0)
    })
  )
})
