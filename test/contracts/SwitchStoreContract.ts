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

    it.effect("keeps the absence of a user, with windows of its sub-accounts, until the user is present", () =>
      Effect.gen(function* () {
        const store = yield* DeadMansSwitchStore
        const window = (n: number, began_ms: number, canceled: boolean) => ({
          sub_account_address: address(n),
          began_ms,
          canceled
        })
        assert.isUndefined(yield* store.absence("fred"))
        yield* store.absent("fred", 1_000)
        yield* store.absent("gina", 2_000)
        yield* store.window("fred", window(7, 5_000, false))
        yield* store.window("fred", window(7, 5_000, true))
        assert.deepStrictEqual(yield* store.absence("fred"), { began_ms: 1_000, windows: [window(7, 5_000, true)] })
        yield* store.window("fred", window(8, 9_000, false))
        yield* store.absent("fred", 9_000)
        assert.deepStrictEqual(yield* store.absence("fred"), { began_ms: 9_000, windows: [window(8, 9_000, false)] })
        yield* store.present("fred")
        yield* store.present("fred")
        assert.isUndefined(yield* store.absence("fred"))
        assert.deepStrictEqual(yield* store.absence("gina"), { began_ms: 2_000, windows: [] })
      })
    )

    it.effect("keeps a window that began after the one that was canceled, and replaces a canceled one", () =>
      Effect.gen(function* () {
        const store = yield* DeadMansSwitchStore
        const window = (began_ms: number, canceled: boolean) => ({
          sub_account_address: address(9),
          began_ms,
          canceled
        })
        const kept = Effect.map(store.absence("hans"), (absence) => absence?.windows)
        yield* store.absent("hans", 1_000)
        yield* store.window("hans", window(5_000, false))
        yield* store.window("hans", window(1_000, true))
        assert.deepStrictEqual(yield* kept, [window(5_000, false)])
        yield* store.window("hans", window(4_000, false))
        assert.deepStrictEqual(yield* kept, [window(5_000, false)])
        yield* store.window("hans", window(5_000, true))
        assert.deepStrictEqual(yield* kept, [window(5_000, true)])
        // whatever the wall clock was set to
        yield* store.window("hans", window(2_000, false))
        assert.deepStrictEqual(yield* kept, [window(2_000, false)])
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
