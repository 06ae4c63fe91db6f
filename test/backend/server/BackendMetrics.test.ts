import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterEach, beforeEach, vi } from "vitest"
import * as BackendMetrics from "../../../src/backend/server/BackendMetrics.ts"

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }))
afterEach(() => vi.useRealTimers())

it.effect("report the longest delay of the event loop, in seconds, each ten seconds", () =>
  Effect.gen(function* () {
    const { text } = yield* BackendMetrics.make
    const delay = () => Number(/^backend_eventloop_delay_seconds (.+)$/mu.exec(text())![1])
    assert.strictEqual(delay(), 0)
    const began = performance.now()
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 120)))
    // after all timers that are due: the monitor measures from its first one, which a stall can put after the one above
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    const blocked = performance.now()
    while (performance.now() - blocked < 400);
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 120)))
    vi.advanceTimersByTime(10_000)
    assert.isAbove(delay(), 0.2)
    assert.isBelow(delay(), (performance.now() - began) / 1_000)
    // the next window begins anew
    vi.advanceTimersByTime(10_000)
    assert.strictEqual(delay(), 0)
  })
)

it.effect("count durations and commands in buckets whose limits dashboards use", () =>
  Effect.gen(function* () {
    const { text } = yield* BackendMetrics.make
    const limits = (name: string) =>
      [...text().matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"`, "gmu"))].map(([, limit]) => limit)
    const seconds = "0.0001 0.00025 0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf".split(" ")
    for (const name of ["backend_turn_seconds", "backend_journal_commit_seconds", "backend_snapshot_seconds"])
      assert.deepStrictEqual(limits(name), seconds)
    const counts = "0 1 2 4 8 16 32 64 128 256 512 1024 2048 4096 +Inf".split(" ")
    assert.deepStrictEqual(limits("backend_turn_commands"), counts)
  })
)
