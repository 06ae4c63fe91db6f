/** When a gateway is not ready, and the reported reasons. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { BackendHealth } from "../../src/services/operations/BackendHealth.ts"
import { Sequencer } from "../../src/services/Sequencer.ts"
import { History, HistoryUnavailable } from "../../src/services/History.ts"
import { Lifecycle } from "../../src/services/operations/Lifecycle.ts"
import { MarketView } from "../../src/services/markets/MarketView.ts"
import { UNHEALTHY_MAX_MS, Readiness } from "../../src/services/Readiness.ts"
import { CredentialLease } from "../../src/services/identity/CredentialLease.ts"
import { ManualLease } from "../doubles/ManualLease.ts"
import { btc } from "../http/Fixture.ts"

const world = (
  database: { up: boolean } = { up: true },
  lease = new ManualLease(),
  commands = { down_ms: 0 },
  markets = [btc]
) =>
  Readiness.layer.pipe(
    Layer.provide(Layer.succeed(CredentialLease, lease)),
    Layer.provideMerge(
      Layer.mergeAll(
        BackendHealth.layer,
        Lifecycle.layer,
        Layer.mock(Sequencer)({ commands_down_ms: () => commands.down_ms }),
        Layer.mock(MarketView)({ instruments: () => markets } as never),
        Layer.mock(History)({
          position: Effect.suspend(() =>
            database.up ? Effect.undefined : Effect.fail(new HistoryUnavailable({ cause: "gone" }))
          )
        })
      )
    )
  )
const reasons = Effect.flatMap(Readiness, ({ check }) =>
  Effect.map(check, ({ ready, reasons }) => {
    assert.strictEqual(ready, reasons.length === 0)
    return reasons
  })
)
const wellNow = Effect.map(BackendHealth, (health) => {
  health.sequencerProgress({ head_seq: 1, applied_seq: 1, oldest_unapplied_ms: undefined })
  health.refereeProgress({ applied_seq: 1 })
})

describe("/ready reports why the gateway should not receive traffic", () => {
  it.effect("a start that is not over", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reasons, ["Starting"])
      yield* wellNow
      assert.deepStrictEqual(yield* reasons, [])
    }).pipe(Effect.provide(world()))
  )

  it.effect("markets that are not loaded", () => {
    const markets: Array<typeof btc> = []
    return Effect.gen(function* () {
      yield* wellNow
      assert.deepStrictEqual(yield* reasons, ["Starting"])
      markets.push(btc)
      assert.deepStrictEqual(yield* reasons, [])
    }).pipe(Effect.provide(world(undefined, undefined, undefined, markets)))
  })

  it.effect("histories that take no event, as a database that is unavailable", () =>
    Effect.gen(function* () {
      yield* wellNow
      const health = yield* BackendHealth
      health.historyProgress({ unwritten_events: 1, written_seq: 1 })
      for (let seconds = 0; seconds < 16; seconds++) {
        yield* TestClock.adjust("1 second")
        yield* wellNow
      }
      assert.deepStrictEqual(yield* reasons, ["DatabaseUnavailable"])
    }).pipe(Effect.provide(world()))
  )

  it.effect("changes of credentials that cannot be read for a second", () => {
    const lease = new ManualLease()
    return Effect.gen(function* () {
      yield* wellNow
      lease.end()
      const short = yield* Effect.forkChild(reasons)
      yield* TestClock.adjust("999 millis")
      lease.renew()
      assert.deepStrictEqual(yield* Fiber.join(short), [])
      lease.end()
      const long = yield* Effect.forkChild(reasons)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(long), ["DatabaseUnavailable"])
    }).pipe(Effect.provide(world(undefined, lease)))
  })

  it.effect("the reasons of the backend's last heartbeat, until another replaces them", () =>
    Effect.gen(function* () {
      const health = yield* BackendHealth
      yield* wellNow
      for (const reason of ["DiskFull", "JournalStopped"]) {
        health.sequencerReports({ refusing: [reason], warnings: [] })
        assert.deepStrictEqual(yield* reasons, [reason])
        health.sequencerLost()
        assert.deepStrictEqual(yield* reasons, [reason])
        yield* wellNow
        health.sequencerReports({ refusing: [], warnings: [] })
        assert.deepStrictEqual(yield* reasons, [])
      }
    }).pipe(Effect.provide(world()))
  )

  it.effect("Amendment 25: no command can be submitted while events arrive", () => {
    const commands = { down_ms: UNHEALTHY_MAX_MS }
    return Effect.gen(function* () {
      const health = yield* BackendHealth
      yield* wellNow
      assert.deepStrictEqual(yield* reasons, [])
      commands.down_ms = UNHEALTHY_MAX_MS + 1
      assert.deepStrictEqual(yield* reasons, ["CommandsUnavailable"])
      health.sequencerLost()
      yield* TestClock.adjust(UNHEALTHY_MAX_MS + 1)
      assert.notInclude(yield* reasons, "CommandsUnavailable")
      yield* wellNow
      commands.down_ms = 0
      yield* TestClock.adjust(UNHEALTHY_MAX_MS)
      yield* wellNow
      assert.notInclude(yield* reasons, "CommandsUnavailable")
    }).pipe(Effect.provide(world(undefined, undefined, commands)))
  })

  it.effect("a lost database, lost backends and a stop, all at once", () => {
    const database = { up: true }
    return Effect.gen(function* () {
      const health = yield* BackendHealth
      yield* wellNow
      health.sequencerLost()
      yield* TestClock.adjust(UNHEALTHY_MAX_MS)
      assert.notInclude(yield* reasons, "SequencerUnavailable")
      yield* TestClock.adjust(1)
      yield* TestClock.adjust(UNHEALTHY_MAX_MS)
      database.up = false
      yield* (yield* Lifecycle).stop
      assert.deepStrictEqual(yield* reasons, [
        "Stopping",
        "DatabaseUnavailable",
        "SequencerUnavailable",
        "RefereeLagging"
      ])
    }).pipe(Effect.provide(world(database)))
  })
})
