/** What every store of withdrawal addresses keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { openRules } from "../../src/domain/WithdrawalAddress.ts"
import { TooManyAddresses, WithdrawalAddressStore } from "../../src/services/trading/WithdrawalAddressStore.ts"

const address = (n: number, created_time = n) => ({
  destination: `0x${n.toString(16).padStart(64, "0")}`,
  label: `number ${n}`,
  created_time,
  effective_time: created_time + 1_000
})

export const suite = <E>(name: string, layer: Layer.Layer<WithdrawalAddressStore, E>) =>
  withLayer(layer)(`WithdrawalAddressStore on ${name}`, (it) => {
    it.effect("lists what was added, by time, to its user only; a repetition keeps the first times", () =>
      Effect.gen(function* () {
        const store = yield* WithdrawalAddressStore
        assert.deepStrictEqual(yield* store.of("alice"), openRules)
        for (const n of [3, 1, 2]) assert.deepStrictEqual(yield* store.add("alice", address(n), 9), address(n))
        assert.deepStrictEqual(yield* store.add("alice", { ...address(1, 77), label: "again" }, 9), address(1))
        yield* store.add("bob", address(4), 9)
        assert.deepStrictEqual(yield* store.of("alice"), { ...openRules, list: [address(1), address(2), address(3)] })
        assert.isTrue(yield* store.remove("alice", address(2).destination))
        assert.isFalse(yield* store.remove("alice", address(2).destination))
        assert.isFalse(yield* store.remove("alice", address(4).destination))
        assert.deepStrictEqual((yield* store.of("alice")).list, [address(1), address(3)])
        assert.deepStrictEqual((yield* store.of("bob")).list, [address(4)])
      })
    )

    it.effect("lists at most as many as it is given, whatever is added at once", () =>
      Effect.gen(function* () {
        const store = yield* WithdrawalAddressStore
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 8 }, (_, n) => address(100 + n)),
          (each) => Effect.result(store.add("carol", each, 3)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Success").length, 3)
        for (const outcome of outcomes)
          if (outcome._tag === "Failure") assert.instanceOf(outcome.failure, TooManyAddresses)
        assert.lengthOf((yield* store.of("carol")).list, 3)
      })
    )

    it.effect("keeps the last restriction", () =>
      Effect.gen(function* () {
        const store = yield* WithdrawalAddressStore
        yield* store.restrict("dora", true, undefined)
        assert.deepStrictEqual(yield* store.of("dora"), { only_listed: true, loosens_time: undefined, list: [] })
        yield* store.restrict("dora", true, 1767225600000)
        assert.deepStrictEqual(yield* store.of("dora"), { only_listed: true, loosens_time: 1767225600000, list: [] })
        assert.isFalse((yield* store.of("emil")).only_listed)
      })
    )

    it.effect("returns the withdrawals of a user that have begun, until they end, whatever the time", () =>
      Effect.gen(function* () {
        const store = yield* WithdrawalAddressStore
        yield* store.begin("frida", "one")
        yield* store.begin("frida", "two")
        yield* store.begin("gustav", "one")
        assert.sameMembers([...(yield* store.open("frida"))], ["one", "two"])
        yield* store.end("frida", "two")
        yield* store.end("frida", "never begun")
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* store.open("frida"), ["one"])
        yield* store.end("frida", "one")
        assert.deepStrictEqual(yield* store.open("frida"), [])
        assert.deepStrictEqual(yield* store.open("gustav"), ["one"])
      })
    )
  })
