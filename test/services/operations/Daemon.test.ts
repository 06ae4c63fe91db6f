/** Background work of a service, which no fiber awaits. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { History } from "../../../src/services/History.ts"
import * as Daemon from "../../../src/services/operations/Daemon.ts"
import { ReferralFees } from "../../../src/services/rewards/ReferralFees.ts"
import { ReferralStore } from "../../../src/services/rewards/ReferralStore.ts"
import { RewardStore } from "../../../src/services/rewards/RewardStore.ts"

const logging = () => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ cause }) => void lines.push(Cause.pretty(cause)))
  return { lines, layer: Logger.layer([logger]) }
}

describe("background work", () => {
  it.effect("goes on a second after a defect, which is logged, until its scope closes", () => {
    const { layer, lines } = logging()
    let runs = 0
    const work = Effect.suspend(() => {
      if (++runs === 1) throw new Error("a bug")
      return Effect.never
    })
    return Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Scope.provide(Daemon.repeat("work")(work), scope)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual([runs, lines.length], [1, 1])
      assert.include(lines[0], "a bug")
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(runs, 1)
      yield* TestClock.adjust(1)
      assert.strictEqual(runs, 2)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([runs, lines.length], [2, 1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("such as the counting of referral fees goes on once a damaged record is repaired", () => {
    const { layer, lines } = logging()
    let isDamaged = true
    let counted = 0
    const position = Effect.suspend(() => {
      if (isDamaged) throw new Error("the history is damaged: a record is no JSON")
      counted++
      return Effect.undefined
    })
    const fees = ReferralFees.layer.pipe(
      Layer.provide([
        Layer.mock(History)({ moment: (reads) => reads, position }),
        Layer.mock(ReferralStore)({}),
        Layer.mock(RewardStore)({ counted: () => Effect.succeed({ to: 0, through: 0, stream: undefined }) })
      ])
    )
    return Effect.gen(function* () {
      yield* ReferralFees
      yield* TestClock.adjust("10 seconds")
      assert.include(lines[0], "the history is damaged")
      isDamaged = false
      yield* TestClock.adjust("10 seconds")
      assert.isAbove(counted, 0)
    }).pipe(Effect.provide(fees), Effect.provide(layer))
  })
})
