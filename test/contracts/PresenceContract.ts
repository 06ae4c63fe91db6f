/** What every Presence keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { Presence } from "../../src/services/operations/Presence.ts"
import { eventually } from "./NoticesContract.ts"

/** The changes that a listener of this gateway received, in order. */
export const watched = Effect.gen(function* () {
  const { watch } = yield* Presence
  const changes: Array<string> = []
  yield* watch((user_id, here) => void changes.push(`${here ? "+" : "-"}${user_id}`))
  return changes
})

export const suite = <E>(name: string, layer: Layer.Layer<Presence, E>): void =>
  withLayer(layer, { excludeTestServices: true })(`Presence on ${name}`, (it) => {
    it.effect("reports a user's first and last connection while a listener is registered", () =>
      Effect.gen(function* () {
        const presence = yield* Presence
        const changes = yield* Effect.scoped(
          Effect.gen(function* () {
            const changes = yield* watched
            presence.connected("a")
            presence.connected("b")
            presence.connected("a")
            presence.disconnected("a")
            yield* presence.settled
            assert.isTrue(presence.isPresent("a"))
            assert.deepStrictEqual(changes, ["+a", "+b"])
            presence.disconnected("a")
            presence.disconnected("a")
            yield* eventually(() => changes.length > 2)
            assert.isFalse(presence.isPresent("a"))
            presence.connected("a")
            assert.isTrue(presence.isPresent("a"))
            return changes
          })
        )
        presence.disconnected("b")
        yield* eventually(() => !presence.isPresent("b"))
        assert.deepStrictEqual(changes, ["+a", "+b", "-a", "+a"])
      })
    )

    it.effect("has notified listeners of all known changes when it has settled", () =>
      Effect.gen(function* () {
        const presence = yield* Presence
        const changes = yield* watched
        for (let i = 0; i < 3; i++) {
          presence.connected("c")
          presence.disconnected("c")
          yield* presence.settled
          assert.isFalse(presence.isPresent("c"))
        }
        assert.deepStrictEqual(changes, ["+c", "-c", "+c", "-c", "+c", "-c"])
      })
    )
  })
