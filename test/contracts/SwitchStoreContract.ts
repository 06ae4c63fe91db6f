/** What every store of dead-man's switches keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { DeadMansSwitchStore } from "../../src/services/trading/DeadMansSwitchStore.ts"

const address = (n: number) => `0x${n.toString(16).padStart(64, "0")}`
const setting = (n: number, enabled: boolean, time_window = 10) => ({
  sub_account_address: address(n),
  enabled,
  time_window
})

export const suite = <E>(name: string, layer: Layer.Layer<DeadMansSwitchStore, E>) =>
  withLayer(layer)(`SwitchStore on ${name}`, (it) => {
    it.effect("returns the last settings, by address, of their user only", () =>
      Effect.gen(function* () {
        const store = yield* DeadMansSwitchStore
        yield* store.set("alice", setting(2, true, 3))
        yield* store.set("alice", setting(1, false))
        yield* store.set("bob", setting(3, true))
        yield* store.set("alice", setting(2, true, 300))
        assert.deepStrictEqual(yield* store.of("alice"), [setting(1, false), setting(2, true, 300)])
        assert.deepStrictEqual(yield* store.of("bob"), [setting(3, true)])
        assert.deepStrictEqual(yield* store.of("carol"), [])
      })
    )

    it.effect("lists each user with an enabled switch once", () =>
      Effect.gen(function* () {
        const store = yield* DeadMansSwitchStore
        yield* store.set("dora", setting(4, true))
        yield* store.set("dora", setting(5, true))
        yield* store.set("emil", setting(6, true))
        yield* store.set("emil", setting(6, false))
        const users = yield* store.users
        assert.strictEqual(users.filter((user) => user === "dora").length, 1)
        assert.notInclude(users, "emil")
      })
    )
  })
