/** What every BanStore keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type Ban, BanStore } from "../../src/services/identity/BanStore.ts"

const ban = (n: number, fields: Partial<Ban> = {}): Ban => ({
  root_address: `0x${n}`,
  user_id: `user-${n}`,
  banned: true,
  reason: "test",
  changed_time: n,
  ...fields
})

export const suite = <E>(name: string, layer: Layer.Layer<BanStore, E>) =>
  withLayer(layer)(`BanStore on ${name}`, (it) => {
    it.effect("keeps one state per wallet, and returns the changes since a time", () =>
      Effect.gen(function* () {
        const store = yield* BanStore
        assert.deepStrictEqual(yield* store.since(0), [])
        yield* store.put(ban(1))
        yield* store.put(ban(2))
        assert.deepStrictEqual(yield* store.since(2), [ban(2)])
        const lifted = ban(1, { banned: false, reason: "a mistake", changed_time: 3 })
        yield* store.put(lifted)
        assert.deepStrictEqual(
          (yield* store.since(0)).toSorted((a, b) => a.changed_time - b.changed_time),
          [ban(2), lifted]
        )
        assert.deepStrictEqual(yield* store.since(4), [])
      })
    )
  })
