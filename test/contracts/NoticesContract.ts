/** What every board of notices that joins gateways promises. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import {
  type InvalidationsMissed,
  type Invalidation,
  InvalidationBus
} from "../../src/services/operations/InvalidationBus.ts"

const notices: ReadonlyArray<Invalidation> = [
  { type: "token", jti: "jti-1", expires_at_ms: 1_800_000_000_000 },
  { type: "api_key", public_key: "aa", api_key_id: "key-1", ended: true },
  { type: "api_key", public_key: "bb", api_key_id: "key-2", ended: false },
  { type: "ban", user_id: "user-1" }
]
const PROBE = "probe"
const isProbe = (notice: Invalidation | InvalidationsMissed) => notice.type === "ban" && notice.user_id === PROBE

/** Waits for a condition; the test's own limit of time is the limit. */
export const eventually = (condition: () => boolean) =>
  Effect.gen(function* () {
    while (!condition()) yield* Effect.sleep(20)
  })

/** Two gateways and more: `gateway` joins the others that it made before. */
export const suite = <E, R>(name: string, place: Layer.Layer<R, E>, gateway: Layer.Layer<never, never, R>): void =>
  withLayer(place, { excludeTestServices: true })(`Notices on ${name}`, (it) => {
    const join = Effect.gen(function* () {
      const context = yield* Layer.build(Layer.fresh(gateway))
      const board = yield* Effect.provide(InvalidationBus, context)
      const heard: Array<Invalidation | InvalidationsMissed> = []
      yield* board.listen((notice) => Effect.sync(() => void heard.push(notice)))
      return { ...board, heard, notices: () => heard.filter((notice) => notice.type !== "missed" && !isProbe(notice)) }
    })
    type Gateway = Effect.Success<typeof join>
    /** Each says something until each other one has heard it. */
    const acquainted = (all: ReadonlyArray<Gateway>) =>
      Effect.gen(function* () {
        while (!all.every(({ heard }) => heard.some(isProbe))) {
          for (const { publish } of all) yield* publish({ type: "ban", user_id: PROBE })
          yield* Effect.sleep(20)
        }
      })

    it.effect("reaches every other gateway, and not the publishing one", () =>
      Effect.gen(function* () {
        const [a, b, c] = [yield* join, yield* join, yield* join]
        yield* acquainted([a, b, c])
        for (const notice of notices) yield* a.publish(notice)
        yield* eventually(() => [b, c].every((other) => other.notices().length >= notices.length))
        assert.sameDeepMembers([...b.notices()], [...notices])
        assert.sameDeepMembers([...c.notices()], [...notices])
        yield* b.publish(notices[0]!)
        yield* eventually(() => a.notices().length > 0)
        assert.deepStrictEqual(a.notices(), [notices[0]!])
      })
    )

    it.effect("sends missed to a slow listener", () =>
      Effect.gen(function* () {
        const [a, b] = [yield* join, yield* join]
        yield* acquainted([a, b])
        const goOn = yield* Deferred.make<void>()
        const slow: Array<Invalidation | InvalidationsMissed> = []
        yield* b.listen((notice) =>
          Effect.andThen(
            Deferred.await(goOn),
            Effect.sync(() => void slow.push(notice))
          )
        )
        for (let i = 1; i <= 15; i++) {
          for (let j = 0; j < 100; j++) yield* a.publish(notices[0]!)
          yield* eventually(() => b.notices().length === i * 100)
        }
        yield* Deferred.succeed(goOn, undefined)
        yield* eventually(() => slow.some(({ type }) => type === "missed"))
        assert.isBelow(slow.length, 1_500)
      })
    )
  })
