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
