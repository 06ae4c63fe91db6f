/** Which of several backends receives the calls, over health checks that the test answers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Connection } from "../../../src/layers/grpc/Connection.ts"
import * as Leader from "../../../src/layers/grpc/Leader.ts"
import { HealthCheckResponse_ServingStatus as Serving } from "../../../src/proto/grpc/health/v1/health.ts"

type Answer = "serving" | "standing by" | "refused" | "none"

/** A backend, its answer to health checks, and the services that were checked. */
class Backend {
  answer: Answer
  readonly checked: Array<string> = []
  /** Checks without an answer. */
  pending = 0
  constructor(answer: Answer) {
    this.answer = answer
  }
  readonly connection = {
    unary: (
      _rpc: object,
      { service }: { readonly service: string },
      _options: object,
      done: (error: Error | null, response?: { readonly status: Serving }) => void
    ) => {
      this.checked.push(service)
      this.pending++
      const settle = (error: Error | null, status?: Serving) => {
        this.pending--
        done(error, status === undefined ? undefined : { status })
      }
      if (this.answer === "serving") settle(null, Serving.SERVING)
      else if (this.answer === "standing by") settle(null, Serving.NOT_SERVING)
      else if (this.answer === "refused") settle(new Error("refused"))
      return () => void this.pending--
    }
  } as unknown as Connection
}

const choosing = Effect.fnUntraced(function* (...answers: ReadonlyArray<Answer>) {
  const backends = answers.map((answer) => new Backend(answer))
  const leader = yield* Leader.make(backends.map(({ connection }) => connection))
  const moves: Array<boolean> = []
  const leave = leader.onMove((isAlive) => void moves.push(isAlive))
  const current = () => backends.findIndex(({ connection }) => connection === leader.connection())
  yield* TestClock.adjust("1 second")
  return { backends, current, leave, moves }
})
const pass = TestClock.adjust("1 second")

describe("several backends", () => {
  it.effect("are called where one serves, and again at another one when that one serves alone", () =>
    Effect.gen(function* () {
      const { backends, current, moves } = yield* choosing("serving", "standing by")
      assert.deepStrictEqual([current(), moves], [0, []])
      backends[0]!.answer = "standing by"
      yield* pass
      // while none serves, the last one that did
      assert.deepStrictEqual([current(), moves], [0, []])
      backends[1]!.answer = "serving"
      yield* pass
      assert.deepStrictEqual([current(), moves], [1, [true]])
      backends[1]!.answer = "refused"
      backends[0]!.answer = "serving"
      yield* pass
      // the former leader does not respond
      assert.deepStrictEqual([current(), moves], [0, [true, false]])
    })
  )

  it.effect("stay with the one that serves when a second one claims to serve", () =>
    Effect.gen(function* () {
      const { backends, current, moves } = yield* choosing("refused", "serving", "standing by")
      assert.deepStrictEqual([current(), moves], [1, [false]])
      for (const { checked } of backends) assert.isTrue(checked.every((service) => service === "gateway.v1.Sequencer"))
      backends[0]!.answer = "serving"
      backends[2]!.answer = "serving"
      yield* pass
      assert.deepStrictEqual([current(), moves], [1, [false]])
    })
  )

  it.effect("call back no more after the removal, and check no more after the scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { backends, leave, moves } = yield* Scope.provide(choosing("serving", "standing by", "none"), scope)
      leave()
      backends[0]!.answer = "refused"
      backends[1]!.answer = "serving"
      yield* pass
      assert.deepStrictEqual(moves, [])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(backends[2]!.pending, 0)
      const counts = backends.map(({ checked }) => checked.length)
      yield* pass
      assert.deepStrictEqual(
        backends.map(({ checked }) => checked.length),
        counts
      )
    })
  )
})
