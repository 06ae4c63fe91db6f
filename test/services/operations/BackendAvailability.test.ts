import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import {
  BackendAvailability,
  MARKET_DATA_AGE_MAX_MS,
  READ_UNAVAILABLE
} from "../../../src/services/operations/BackendAvailability.ts"
import { BackendHealth, type LinkState } from "../../../src/services/operations/BackendHealth.ts"
import type { DomainError } from "../../../src/services/DomainError.ts"

const well: LinkState = {
  connected: true,
  unhealthy: false,
  unhealthy_for_ms: 0,
  lag_events: 0,
  lag_ms: 0,
  age_ms: 5
}
const lagging: LinkState = { ...well, unhealthy: true, lag_events: 70_000, lag_ms: 900 }

/** What the guards answer while the backends are in these states: a value, or reason, text and details of a refusal. */
const answers = (sequencer: LinkState, referee = sequencer) =>
  Effect.gen(function* () {
    const guards = yield* BackendAvailability
    const answer = (guard: Effect.Effect<unknown, DomainError>) =>
      Effect.match(guard, {
        onSuccess: (value) => value ?? "passes",
        onFailure: ({ details, message, reason }) => [reason, message, details] as const
      })
    return {
      sequencer: yield* answer(guards.sequencer),
      referee: yield* answer(guards.referee),
      marketData: yield* answer(guards.marketData)
    }
  }).pipe(
    Effect.provide(
      BackendAvailability.layer.pipe(
        Layer.provide(Layer.mock(BackendHealth)({ sequencer: () => sequencer, referee: () => referee } as never))
      )
    )
  )

describe("calls while a backend is", () => {
  it.effect("well, also with a lag: pass", () =>
    Effect.gen(function* () {
      const passes = { sequencer: "passes", referee: "passes", marketData: "passes" }
      assert.deepStrictEqual(yield* answers(well), passes)
      assert.deepStrictEqual(yield* answers({ ...lagging, unhealthy: false }), passes)
    })
  )

  it.effect("behind: are refused with the lag; market reads return data of at most a minute, with its age", () =>
    Effect.gen(function* () {
      const refused = ["BackendLagging", undefined, { lag_events: 70_000, lag_ms: 900 }]
      assert.deepStrictEqual(yield* answers({ ...lagging, age_ms: MARKET_DATA_AGE_MAX_MS }), {
        sequencer: refused,
        referee: refused,
        marketData: MARKET_DATA_AGE_MAX_MS
      })
      const { marketData } = yield* answers({ ...lagging, age_ms: MARKET_DATA_AGE_MAX_MS + 1 })
      assert.deepStrictEqual(marketData, refused)
    })
  )

  it.effect("away: a read is refused with a text of its own", () =>
    Effect.gen(function* () {
      const away = { ...lagging, connected: false, age_ms: MARKET_DATA_AGE_MAX_MS + 1 }
      const read = ["BackendUnavailable", READ_UNAVAILABLE, {}]
      assert.deepStrictEqual(yield* answers(away), {
        sequencer: ["BackendUnavailable", undefined, {}],
        referee: read,
        marketData: read
      })
    })
  )

  it.effect("well, while the database takes no commits: are refused because of the database", () =>
    Effect.gen(function* () {
      const refused = ["DatabaseUnavailable", undefined, {}]
      const { referee, sequencer } = yield* answers({ ...lagging, fault: "stalled" })
      assert.deepStrictEqual([sequencer, referee], [refused, refused])
    })
  )

  it.effect("well, and the other one is not: pass", () =>
    Effect.gen(function* () {
      const { referee, sequencer } = yield* answers(well, lagging)
      assert.strictEqual(sequencer, "passes")
      assert.include(referee as ReadonlyArray<unknown>, "BackendLagging")
    })
  )
})
