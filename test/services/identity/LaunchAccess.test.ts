import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { LaunchAccess, type AccessMode } from "../../../src/services/identity/LaunchAccess.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Stop } from "../../doubles/Stop.ts"
import { aheadOf } from "../../../verification/harness/Clocks.ts"

const layer = (mode: AccessMode) => LaunchAccess.layer({ mode }).pipe(Layer.provideMerge(SqliteStores.accounts))
const passes = (root: string) =>
  Effect.gen(function* () {
    const { gate } = yield* LaunchAccess
    return yield* Effect.match(gate!(root), { onSuccess: () => true, onFailure: () => false })
  })

describe("Admission", () => {
  it.effect("restricts no wallet unless the launch is closed", () =>
    Effect.gen(function* () {
      for (const mode of ["off", "open"] as const) {
        assert.isUndefined((yield* Effect.provide(LaunchAccess, layer(mode))).gate)
      }
    })
  )

  it.effect("admits a wallet once it is on the whitelist, and refuses it once it is removed on this gateway", () =>
    Effect.gen(function* () {
      const [admission, accounts] = [yield* LaunchAccess, yield* Accounts]
      assert.isFalse(yield* passes("0x1"))
      yield* accounts.activate("0x1", { badge: false, multiplier_bps: 0 })
      assert.isTrue(yield* passes("0x1"))
      yield* admission.setWhitelisted("0x1", false)
      assert.isFalse(yield* passes("0x1"))
      yield* admission.setWhitelisted("0x1", true)
      assert.isTrue(yield* passes("0x1"))
      assert.isFalse(yield* passes("0x2"))
    }).pipe(Effect.provide(layer("closed")))
  )

  it.effect("refuses a wallet that is removed while it is looked up", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      yield* accounts.setWhitelisted("0x1", true)
      const reading = new Stop()
      const stopping = Layer.succeed(Accounts, {
        ...accounts,
        // the answer is on its way when the test removes the wallet
        isWhitelisted: (root) => Effect.tap(accounts.isWhitelisted(root), () => reading.here)
      })
      yield* Effect.gen(function* () {
        const admission = yield* LaunchAccess
        const first = yield* Effect.forkChild(passes("0x1"))
        yield* reading.reached
        yield* admission.setWhitelisted("0x1", false)
        yield* reading.release
        yield* Fiber.join(first)
        assert.isFalse(yield* passes("0x1"))
      }).pipe(Effect.provide(Layer.provide(LaunchAccess.layer({ mode: "closed" }), stopping)))
    }).pipe(Effect.provide(SqliteStores.accounts))
  )

  it.effect("refuses a wallet whose removal was written, though its caller left before the response", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const writing = new Stop()
      const stopping = Layer.succeed(Accounts, {
        ...accounts,
        setWhitelisted: (root, whitelisted) =>
          Effect.tap(accounts.setWhitelisted(root, whitelisted), () => writing.here)
      })
      yield* accounts.setWhitelisted("0x1", true)
      yield* Effect.gen(function* () {
        const admission = yield* LaunchAccess
        assert.isTrue(yield* passes("0x1"))
        const removal = yield* Effect.forkChild(admission.setWhitelisted("0x1", false))
        yield* writing.reached
        yield* Fiber.interrupt(removal)
        assert.isFalse(yield* passes("0x1"))
      }).pipe(Effect.provide(Layer.provide(LaunchAccess.layer({ mode: "closed" }), stopping)))
    }).pipe(Effect.provide(SqliteStores.accounts))
  )

  it.effect("applies a removal by another gateway within five seconds", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      yield* accounts.setWhitelisted("0x1", true)
      assert.isTrue(yield* passes("0x1"))
      yield* accounts.setWhitelisted("0x1", false)
      yield* TestClock.adjust(4999)
      assert.isTrue(yield* passes("0x1"))
      yield* TestClock.adjust(1)
      assert.isFalse(yield* passes("0x1"))
    }).pipe(Effect.provide(layer("closed")))
  )

  it.effect("applies a removal in time though the wall clock is set back by an hour", () =>
    Effect.gen(function* () {
      let ahead_ms = 0
      const clock = aheadOf(yield* Clock.Clock, () => ahead_ms)
      const accounts = yield* Accounts
      yield* accounts.setWhitelisted("0x1", true)
      assert.isTrue(yield* Effect.provideService(passes("0x1"), Clock.Clock, clock))
      yield* accounts.setWhitelisted("0x1", false)
      ahead_ms = -3_600_000
      yield* TestClock.adjust(5000)
      assert.isFalse(yield* Effect.provideService(passes("0x1"), Clock.Clock, clock))
    }).pipe(Effect.provide(layer("closed")))
  )
})
