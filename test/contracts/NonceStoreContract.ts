/** What every NonceStore keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Clock, Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { NonceStore } from "../../src/services/identity/NonceStore.ts"

const owner = (byte: number) => new Uint8Array(32).fill(byte)

/** The store must keep windowed nonces for 60 seconds, by the test's clock. */
export const suite = <E>(name: string, layer: Layer.Layer<NonceStore, E>) =>
  withLayer(layer)(`NonceStore on ${name}`, (it) => {
    for (const space of ["login", "activation", "rest", "ws"] as const) {
      it.effect(`refuses the second claim of a pair in the space ${space}`, () =>
        Effect.gen(function* () {
          const store = yield* NonceStore
          yield* store.claim(space, owner(1), "nonce-0001")
          const error = yield* Effect.flip(store.claim(space, owner(1), "nonce-0001"))
          assert.strictEqual(error._tag, "NonceReused")
        })
      )
    }

    it.effect("keeps owners, nonces and spaces apart", () =>
      Effect.gen(function* () {
        const store = yield* NonceStore
        for (const space of ["login", "activation", "rest", "ws"] as const) {
          yield* store.claim(space, owner(2), "nonce-0002")
          yield* store.claim(space, owner(3), "nonce-0002")
          yield* store.claim(space, owner(2), "nonce-0003")
        }
      })
    )

    it.effect("does not confuse an owner's last bytes with a nonce", () =>
      Effect.gen(function* () {
        const store = yield* NonceStore
        const bytes = new TextEncoder()
        yield* store.claim("login", bytes.encode("party"), "A-nonce-0004")
        yield* store.claim("login", bytes.encode("partyA"), "-nonce-0004")
      })
    )

    it.effect("accepts one of many concurrent claims", () =>
      Effect.gen(function* () {
        const store = yield* NonceStore
        for (const space of ["login", "rest"] as const) {
          const results = yield* Effect.forEach(
            Array.from({ length: 20 }, (_, i) => i),
            () => Effect.result(store.claim(space, owner(4), "nonce-0005")),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(results.filter((result) => result._tag === "Success").length, 1)
        }
      })
    )

    it.effect("removes a nonce of an API key only after its window, one of a login or an activation never", () =>
      Effect.gen(function* () {
        const store = yield* NonceStore
        yield* store.claim("rest", owner(5), "nonce-0006")
        yield* store.claim("login", owner(5), "nonce-0006")
        yield* store.claim("activation", owner(5), "nonce-0006")
        yield* TestClock.adjust("60 seconds")
        const last = yield* Effect.flip(store.claim("rest", owner(5), "nonce-0006"))
        assert.strictEqual(last._tag, "NonceReused")
        yield* TestClock.adjust("1 millis")
        yield* store.claim("rest", owner(5), "nonce-0006")
        const again = yield* Effect.flip(store.claim("rest", owner(5), "nonce-0006"))
        assert.strictEqual(again._tag, "NonceReused")
        yield* TestClock.adjust("1 day")
        for (const space of ["login", "activation"] as const) {
          const ever = yield* Effect.flip(store.claim(space, owner(5), "nonce-0006"))
          assert.strictEqual(ever._tag, "NonceReused", space)
        }
      })
    )

    it.effect("brings no nonce back with a clock that is set forward, and back again", () =>
      Effect.gen(function* () {
        const store = yield* NonceStore
        const start = yield* Clock.currentTimeMillis
        yield* store.claim("rest", owner(6), "nonce-0007")
        // long enough for it to be forgotten, and for its place to be given away
        yield* TestClock.adjust("1 hour")
        yield* store.claim("rest", owner(6), "nonce-0008")
        for (const at of [start + 1, start + 59_999]) {
          yield* TestClock.setTime(at)
          yield* Effect.flip(store.claim("rest", owner(6), "nonce-0007"))
          yield* Effect.flip(store.claim("rest", owner(6), "nonce-0008"))
        }
        // what is kept for ever does not depend on the time
        yield* store.claim("login", owner(6), "nonce-0007")
        yield* TestClock.setTime(start + 7_200_000)
        yield* store.claim("rest", owner(6), "nonce-0009")
      })
    )
  })
