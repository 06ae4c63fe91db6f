import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { subAccountAddress } from "../../../src/domain/Address.ts"
import { AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { DeadMansSwitch } from "../../../src/services/trading/DeadMansSwitch.ts"
import { Lifecycle } from "../../../src/services/operations/Lifecycle.ts"
import { Presence, watchers } from "../../../src/services/operations/Presence.ts"
import { type Command, CommandRefused, OutcomeUnknown, SequencerUnavailable } from "../../../src/services/Sequencer.ts"
import { DeadMansSwitchStore } from "../../../src/services/trading/DeadMansSwitchStore.ts"
import { type Doubles, foreign, policies, root, tokenCaller, userId, v0, v1 } from "../../http/Fixture.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Stop } from "../../doubles/Stop.ts"
import { aheadOf } from "../../../verification/harness/Clocks.ts"

type Submit = NonNullable<NonNullable<Doubles["sequencer"]>["submit"]>
const ack = Effect.succeed({
  seq: 1,
  accepted_at_ms: 1,
  orders: [],
  duplicate: false,
  version: undefined,
  result: undefined
})

/** A switch whose cancels are noted; `answer` may fail them. */
const world = (answer: Submit = () => ack) => {
  const commands: Array<Command> = []
  const submit: Submit = (command) =>
    Effect.suspend(() => {
      commands.push(command)
      return answer(command)
    })
  const store = SqliteStores.deadMansSwitches
  const layer = Layer.fresh(DeadMansSwitch.layer).pipe(
    Layer.provideMerge(store),
    Layer.provideMerge(policies({ sequencer: { submit } }))
  )
  const canceled = () => commands.map(({ sub_account_address }) => sub_account_address)
  return { commands, canceled, layer, submit }
}
/** A switch over a fleet whose first complete answer comes when the test says so. */
const slowFleet = () => {
  const { canceled, submit } = world()
  const { notify, watch } = watchers()
  const here = new Set<string>()
  const answered = Deferred.makeUnsafe<void>()
  const presence = {
    notify: (user_id: string, is: boolean) => {
      if (is) here.add(user_id)
      else here.delete(user_id)
      notify(user_id, is)
    },
    answer: Deferred.succeed(answered, undefined)
  }
  const port = Layer.mock(Presence)({
    connected: () => {},
    disconnected: () => {},
    isPresent: (user_id) => here.has(user_id),
    watch,
    settled: Deferred.await(answered)
  })
  const layer = Layer.fresh(DeadMansSwitch.layer).pipe(
    Layer.provide([port, SqliteStores.deadMansSwitches]),
    Layer.provideMerge(policies({ sequencer: { submit } }))
  )
  return { canceled, layer, presence }
}
/** Sets a switch while the user is connected, so that nothing begins. */
const enable = (address: string, time_window: number) =>
  Effect.flatMap(DeadMansSwitch, (switches) =>
    switches.set(tokenCaller, { sub_account_address: address, enabled: true, time_window })
  )

describe("the dead-man's switch", () => {
  it.effect("cancels the orders of each enabled sub-account when its window is over, by its own name", () => {
    const { canceled, commands, layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      yield* enable(v0, 10)
      yield* enable(v1, 3)
      presence.disconnected(userId)
      yield* TestClock.adjust("2999 millis")
      assert.deepStrictEqual(commands, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(canceled(), [v1])
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual(canceled(), [v1, v0])
      assert.deepStrictEqual(commands[0]?.body, {
        type: "cancel_all",
        cancel_all: {
          symbol: undefined,
          side: undefined,
          order_filter: "All",
          reduce_only: undefined,
          cancel_type: "CancelByDcp"
        }
      })
      // once an absence
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(commands, 2)
      presence.connected(userId)
      presence.disconnected(userId)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(canceled(), [v1, v0, v1])
    }).pipe(Effect.provide(layer))
  })

  for (const ms of [-3_600_000, 3_600_000])
    it.effect(`cancels at the end of the window though the wall clock is set by ${ms} ms`, () =>
      Effect.gen(function* () {
        let ahead_ms = 0
        const clock = aheadOf(yield* Clock.Clock, () => ahead_ms)
        const { canceled, layer } = world()
        yield* Effect.gen(function* () {
          const presence = yield* Presence
          presence.connected(userId)
          yield* enable(v0, 10)
          yield* enable(v1, 3)
          presence.disconnected(userId)
          ahead_ms += ms
          yield* TestClock.adjust("2999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
          ahead_ms -= ms
          yield* TestClock.adjust("6999 millis")
          assert.deepStrictEqual(canceled(), [v1])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1, v0])
        }).pipe(Effect.provide(layer.pipe(Layer.provide(Layer.succeed(Clock.Clock, clock)))))
      })
    )

  it.effect("is stopped by a reconnection within the window, and waits for the last connection", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      presence.connected(userId)
      yield* enable(v1, 3)
      presence.disconnected(userId)
      yield* TestClock.adjust("1 hour")
      presence.disconnected(userId)
      yield* TestClock.adjust("2999 millis")
      presence.connected(userId)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is stopped by a reconnection before its start is stored", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      yield* enable(v1, 3)
      presence.disconnected(userId)
      yield* TestClock.adjust("500 millis")
      presence.connected(userId)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(commands, [])
      const store = yield* DeadMansSwitchStore
      assert.isUndefined(yield* store.absence(userId))
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not act for a user without an enabled switch", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      const switches = yield* DeadMansSwitch
      presence.connected(userId)
      yield* enable(v1, 3)
      yield* switches.set(tokenCaller, { sub_account_address: v1, enabled: false })
      assert.deepStrictEqual(yield* switches.list(tokenCaller), [
        { sub_account_address: v1, enabled: false, time_window: 10 }
      ])
      presence.connected("other")
      presence.disconnected(userId)
      presence.disconnected("other")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("lists the settings of every sub-account but deleted ones, whose settings stay in the store", () => {
    const subAccounts = [v0, v1].map((sub_account_address, index) => ({
      sub_account_address,
      user_id: userId,
      root_address: root,
      index,
      frozen: false,
      deleted: sub_account_address === v1,
      created_time: 0
    }))
    // a new one, which the read model does not have yet
    const v2 = subAccountAddress(root, 2)
    const layer = Layer.fresh(DeadMansSwitch.layer).pipe(
      Layer.provideMerge(SqliteStores.deadMansSwitches),
      Layer.provideMerge(policies({ history: { subAccounts: () => Effect.succeed(subAccounts) } }))
    )
    return Effect.gen(function* () {
      const store = yield* DeadMansSwitchStore
      for (const sub_account_address of [v0, v1, v2])
        yield* store.set(userId, { sub_account_address, enabled: false, time_window: 10 })
      const listed = yield* (yield* DeadMansSwitch).list(tokenCaller)
      assert.sameMembers(
        listed.map(({ sub_account_address }) => sub_account_address),
        [v0, v2]
      )
    }).pipe(Effect.provide(layer))
  })

  describe("after a restart of the gateway", () => {
    /** Runs gateways one after another, with one store, until the test ends. */
    const restarts = <A, E>(
      body: (gateway: {
        /** Starts a gateway; the effect that it returns kills it. */
        readonly start: Effect.Effect<
          {
            readonly presence: Presence["Service"]
            readonly switches: DeadMansSwitch["Service"]
            readonly kill: Effect.Effect<void>
          },
          never,
          Scope.Scope
        >
        readonly canceled: () => ReadonlyArray<string>
        readonly store: DeadMansSwitchStore["Service"]
        /** Sets the wall clock of the gateways ahead by so many ms. */
        readonly setAhead: (ms: number) => void
      }) => Effect.Effect<A, E, Scope.Scope>,
      answer?: Submit
    ) =>
      Effect.gen(function* () {
        const { canceled, submit } = world(answer)
        const kept = yield* Layer.build(Layer.fresh(SqliteStores.deadMansSwitches))
        let ahead_ms = 0
        const clock = aheadOf(yield* Clock.Clock, () => ahead_ms)
        const start = Effect.gen(function* () {
          const scope = yield* Scope.fork(yield* Effect.scope)
          const services = yield* Layer.buildWithScope(
            Layer.fresh(
              Layer.fresh(DeadMansSwitch.layer).pipe(
                Layer.provide(Layer.succeedContext(kept)),
                Layer.provideMerge(policies({ sequencer: { submit } }))
              )
            ),
            scope
          )
          // it reads the settings and the absences before time passes
          for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
          return {
            presence: Context.get(services, Presence),
            switches: Context.get(services, DeadMansSwitch),
            kill: Scope.close(scope, Exit.void)
          }
        }).pipe(Effect.provideService(Clock.Clock, clock))
        const setAhead = (ms: number) => void (ahead_ms = ms)
        return yield* body({ start, canceled, setAhead, store: Context.get(kept, DeadMansSwitchStore) })
      }).pipe(Effect.scoped)
    const setting = (address: string, time_window: number) => ({
      sub_account_address: address,
      enabled: true,
      time_window
    })

    it.effect("continues the window of an absent user", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const first = yield* start
          first.presence.connected(userId)
          first.presence.disconnected(userId)
          yield* TestClock.adjust("4 seconds")
          yield* first.kill
          yield* TestClock.adjust("1 second")
          yield* start
          yield* TestClock.adjust("4999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("waits for no more than the window of an absence that a clock ahead of this one has stored", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          yield* store.absent(userId, 3_600_000)
          yield* start
          yield* TestClock.adjust("9999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("does not cancel again in an absence, until the setting changes", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const first = yield* start
          yield* TestClock.adjust("10 seconds")
          assert.deepStrictEqual(canceled(), [v1])
          yield* first.kill
          const second = yield* start
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(canceled(), [v1])
          yield* second.switches.set(tokenCaller, setting(v1, 30))
          yield* TestClock.adjust("20 seconds")
          yield* second.kill
          yield* start
          yield* TestClock.adjust("9999 millis")
          assert.deepStrictEqual(canceled(), [v1])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1, v1])
        })
      )
    )

    it.effect("gives clients three seconds to reconnect where a window ended while no gateway ran", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const first = yield* start
          yield* TestClock.adjust("5 seconds")
          yield* first.kill
          yield* TestClock.adjust("1 hour")
          const second = yield* start
          yield* TestClock.adjust("2999 millis")
          assert.deepStrictEqual(canceled(), [])
          second.presence.connected(userId)
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(canceled(), [])
          yield* second.kill
          yield* start
          yield* TestClock.adjust("9999 millis")
          assert.deepStrictEqual(canceled(), [], "the user was connected until then")
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("cancels three seconds after its start where a window ended before and the client stays away", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const first = yield* start
          yield* TestClock.adjust("5 seconds")
          yield* first.kill
          yield* TestClock.adjust("1 hour")
          yield* start
          yield* TestClock.adjust("2999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("cancels again in a window that another gateway has begun after the cancel, and did not end", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v0, 5))
          yield* store.set(userId, setting(v1, 60))
          const [, other] = [yield* start, yield* start]
          yield* TestClock.adjust("6 seconds")
          const before = canceled().length
          yield* other.switches.set(tokenCaller, setting(v0, 5))
          for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
          yield* other.kill
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(canceled().slice(before).toSorted(), [v0, v1].toSorted())
        })
      )
    )

    it.effect("cancels nothing after another gateway has switched it off in the window", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v0, 5))
          yield* store.set(userId, setting(v1, 10))
          const [, other] = [yield* start, yield* start]
          yield* TestClock.adjust("9 seconds")
          assert.include(canceled(), v0)
          yield* other.switches.set(tokenCaller, { ...setting(v1, 10), enabled: false })
          yield* TestClock.adjust("1 hour")
          assert.notInclude(canceled(), v1)
        })
      )
    )

    it.effect.each([10, 60])("waits for the window of %i s that another gateway has begun meanwhile", (time_window) =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const [first, other] = [yield* start, yield* start]
          yield* TestClock.adjust("9 seconds")
          yield* other.switches.set(tokenCaller, setting(v1, time_window))
          for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
          // the first one continues alone
          yield* other.kill
          yield* TestClock.adjust(time_window * 1_000 - 1)
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
          yield* first.switches.set(tokenCaller, { ...setting(v1, 10), enabled: false })
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("cancels at the end of a window that another gateway begins while a cancel waits for its result", () =>
      restarts(
        ({ canceled, start, store }) =>
          Effect.gen(function* () {
            yield* store.set(userId, setting(v1, 10))
            const [, other] = [yield* start, yield* start]
            yield* TestClock.adjust("11 seconds")
            const before = canceled().length
            yield* other.switches.set(tokenCaller, setting(v1, 10))
            yield* TestClock.adjust("9999 millis")
            assert.lengthOf(canceled(), before)
            yield* TestClock.adjust("1 millis")
            assert.isAbove(canceled().length, before)
            const after = canceled().length
            yield* TestClock.adjust("1 hour")
            assert.lengthOf(canceled(), after, "once a window")
          }),
        () => Effect.delay(ack, "2 seconds")
      )
    )

    it.effect(
      "cancels in a window that another gateway, which ends, has begun while a cancel waits for its result",
      () =>
        restarts(
          ({ canceled, start, store }) =>
            Effect.gen(function* () {
              yield* store.set(userId, setting(v1, 10))
              const [, other] = [yield* start, yield* start]
              yield* TestClock.adjust("11 seconds")
              yield* other.switches.set(tokenCaller, setting(v1, 10))
              for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
              yield* other.kill
              const before = canceled().length
              yield* TestClock.adjust("9999 millis")
              assert.lengthOf(canceled(), before)
              yield* TestClock.adjust("1 millis")
              assert.lengthOf(canceled(), before + 1)
              yield* TestClock.adjust("1 hour")
              assert.lengthOf(canceled(), before + 1, "once a window")
            }),
          () => Effect.delay(ack, "2 seconds")
        )
    )

    it.effect("leaves the windows of the other sub-accounts as they are when one is set", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const { switches } = yield* start
          yield* TestClock.adjust("9 seconds")
          yield* switches.set(tokenCaller, setting(v0, 60))
          yield* TestClock.adjust("999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("does not repeat a cancel after another gateway has switched it off", () => {
      let isDown = true
      return restarts(
        ({ canceled, start, store }) =>
          Effect.gen(function* () {
            yield* store.set(userId, setting(v1, 10))
            const [, other] = [yield* start, yield* start]
            yield* TestClock.adjust("30 seconds")
            yield* other.switches.set(tokenCaller, { ...setting(v1, 10), enabled: false })
            yield* TestClock.adjust("1 minute")
            const before = canceled().length
            isDown = false
            yield* TestClock.adjust("1 minute")
            assert.lengthOf(canceled(), before)
          }),
        () => (isDown ? Effect.fail(new SequencerUnavailable({})) : ack)
      )
    })

    it.effect("cancels once a window though the wall clock is set back in it", () =>
      restarts(({ canceled, setAhead, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const gateway = yield* start
          yield* TestClock.adjust("5 seconds")
          yield* gateway.switches.set(tokenCaller, setting(v1, 10))
          yield* TestClock.adjust("5 seconds")
          setAhead(-3_600_000)
          yield* TestClock.adjust("5 seconds")
          assert.deepStrictEqual(canceled(), [v1])
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("cancels once a window though the wall clock is set forward between two cancels", () =>
      restarts(({ canceled, setAhead, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v0, 5))
          yield* store.set(userId, setting(v1, 10))
          const first = yield* start
          yield* TestClock.adjust("7 seconds")
          setAhead(3_600_000)
          yield* TestClock.adjust("3 seconds")
          assert.deepStrictEqual(canceled(), [v0, v1])
          yield* first.kill
          yield* start
          yield* TestClock.adjust("1 hour")
          assert.deepStrictEqual(canceled(), [v0, v1])
        })
      )
    )

    it.effect("does not cancel again though the wall clock is set forward after a restart", () =>
      restarts(({ canceled, setAhead, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v0, 5))
          yield* store.set(userId, setting(v1, 60))
          const first = yield* start
          yield* TestClock.adjust("6 seconds")
          yield* first.kill
          const second = yield* start
          setAhead(3_600_000)
          yield* TestClock.adjust("2 seconds")
          yield* second.kill
          yield* start
          yield* TestClock.adjust("2 hours")
          assert.deepStrictEqual(canceled(), [v0, v1])
        })
      )
    )

    it.effect("ends a window that began in the absence on time though the wall clock is set back after a restart", () =>
      restarts(({ canceled, setAhead, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 10))
          const first = yield* start
          yield* TestClock.adjust("5 seconds")
          yield* first.switches.set(tokenCaller, setting(v1, 10))
          yield* TestClock.adjust("1 second")
          yield* first.kill
          yield* start
          setAhead(-3_600_000)
          yield* TestClock.adjust("8999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )

    it.effect("begins the window when its last connection ends", () =>
      restarts(({ canceled, start, store }) =>
        Effect.gen(function* () {
          yield* store.set(userId, setting(v1, 5))
          const first = yield* start
          first.presence.connected(userId)
          yield* TestClock.adjust("1 minute")
          yield* first.kill
          yield* start
          yield* TestClock.adjust("4999 millis")
          assert.deepStrictEqual(canceled(), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(canceled(), [v1])
        })
      )
    )
  })

  it.effect("set by a user who is not connected starts at once, for that sub-account only", () => {
    const { canceled, layer } = world()
    return Effect.gen(function* () {
      yield* enable(v0, 10)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(canceled(), [v0])
      yield* enable(v1, 3)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(canceled(), [v0, v1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("that is stored cancels, also if its caller leaves before the response", () => {
    const { canceled, submit } = world()
    const stored = new Stop()
    const store = Layer.effect(
      DeadMansSwitchStore,
      Effect.map(DeadMansSwitchStore, (store) => ({
        ...store,
        set: (...change: Parameters<typeof store.set>) => Effect.andThen(store.set(...change), stored.here)
      }))
    ).pipe(Layer.provide(Layer.fresh(SqliteStores.deadMansSwitches)))
    const layer = Layer.fresh(DeadMansSwitch.layer).pipe(
      Layer.provide(store),
      Layer.provideMerge(policies({ sequencer: { submit } }))
    )
    return Effect.gen(function* () {
      const caller = yield* Effect.forkChild(enable(v0, 10))
      yield* stored.interrupt(caller)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(canceled(), [v0])
    }).pipe(Effect.provide(layer))
  })

  it.effect("set again by an absent user after a cancel, begins a new window and cancels again", () => {
    const { canceled, layer } = world()
    return Effect.gen(function* () {
      yield* enable(v0, 10)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(canceled(), [v0])
      yield* enable(v0, 10)
      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(canceled(), [v0])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(canceled(), [v0, v0])
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancels nothing of a user whom another gateway reports before the fleet's answer is complete", () => {
    const { canceled, layer, presence } = slowFleet()
    return Effect.gen(function* () {
      presence.notify(userId, true)
      yield* enable(v1, 3)
      presence.notify(userId, false)
      yield* TestClock.adjust("3 seconds")
      // the window is over, and the other gateways have not answered
      assert.deepStrictEqual(canceled(), [])
      presence.notify(userId, true)
      yield* presence.answer
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(canceled(), [])
      presence.notify(userId, false)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(canceled(), [v1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("retries a cancel with one id until it is acknowledged or refused", () => {
    const failures = [new SequencerUnavailable({}), new OutcomeUnknown(), new SequencerUnavailable({})]
    const { commands, layer } = world(() => {
      const failure = failures.shift()
      return failure === undefined ? ack : Effect.fail(failure)
    })
    const refusing = world(() =>
      Effect.fail(new CommandRefused({ reason: "SubAccountNotFound", message: "", details: {} }))
    )
    const absent = Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      yield* enable(v1, 3)
      presence.disconnected(userId)
      for (let second = 0; second < 10; second++) yield* TestClock.adjust("1 second")
    })
    return Effect.gen(function* () {
      yield* absent.pipe(Effect.provide(layer))
      assert.lengthOf(commands, 4)
      assert.strictEqual(new Set(commands.map(({ command_id }) => command_id)).size, 1)
      yield* absent.pipe(Effect.provide(refusing.layer))
      assert.lengthOf(refusing.commands, 1)
    })
  })

  it.effect("goes on after a defect", () => {
    let failures = 2
    const { canceled, layer } = world(() => (failures-- > 0 ? Effect.die(new Error("no such form")) : ack))
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      yield* enable(v0, 10)
      yield* enable(v1, 20)
      presence.disconnected(userId)
      yield* TestClock.adjust("20 seconds")
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(canceled(), [v0, v0, v0, v1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("goes on after a defect of the reads at its start", () => {
    const { canceled, submit } = world()
    let broken = 4
    const die = Effect.suspend(() => (broken-- > 0 ? Effect.die(new Error("damaged row")) : Effect.void))
    const damaged = Layer.effect(
      DeadMansSwitchStore,
      Effect.map(DeadMansSwitchStore, (store) => ({
        ...store,
        users: Effect.andThen(die, store.users),
        of: (user_id) => Effect.andThen(die, store.of(user_id)),
        absence: (user_id) => Effect.andThen(die, store.absence(user_id))
      }))
    ).pipe(Layer.provide(SqliteStores.deadMansSwitches))
    const stored = Layer.effectDiscard(
      Effect.flatMap(DeadMansSwitchStore, (store) =>
        Effect.andThen(
          store.set(userId, { sub_account_address: v0, enabled: true, time_window: 10 }),
          Effect.sync(() => (broken = 4))
        )
      )
    )
    const layer = Layer.fresh(DeadMansSwitch.layer).pipe(
      Layer.provideMerge(Layer.provideMerge(stored, damaged)),
      Layer.provideMerge(policies({ sequencer: { submit } }))
    )
    return Effect.gen(function* () {
      yield* DeadMansSwitch
      yield* TestClock.adjust("20 seconds")
      assert.isBelow(broken, 0)
      assert.deepStrictEqual(canceled(), [v0])
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancels nothing because the gateway closes its own connections", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      yield* enable(v1, 3)
      yield* (yield* Lifecycle).stop
      presence.disconnected(userId)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("stores an absence after a second, and none because the gateway closes its own connections", () => {
    const { layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      const store = yield* DeadMansSwitchStore
      presence.connected(userId)
      yield* enable(v1, 10)
      presence.disconnected(userId)
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(yield* store.absence(userId))
      yield* TestClock.adjust("1 millis")
      assert.isDefined(yield* store.absence(userId))
      presence.connected(userId)
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* store.absence(userId))
      yield* (yield* Lifecycle).stop
      presence.disconnected(userId)
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(yield* store.absence(userId))
    }).pipe(Effect.provide(layer))
  })

  it.effect("removes the absence of a user without an enabled switch, and stores the next one", () => {
    const { canceled, layer } = world()
    return Effect.gen(function* () {
      const presence = yield* Presence
      const store = yield* DeadMansSwitchStore
      const switches = yield* DeadMansSwitch
      const setting = { sub_account_address: v1, enabled: true, time_window: 10 }
      presence.connected(userId)
      yield* enable(v1, 10)
      presence.disconnected(userId)
      yield* TestClock.adjust("2 seconds")
      assert.isDefined(yield* store.absence(userId))
      yield* switches.set(tokenCaller, { ...setting, enabled: false })
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(yield* store.absence(userId))
      yield* switches.set(tokenCaller, setting)
      yield* TestClock.adjust("2 seconds")
      assert.isDefined(yield* store.absence(userId))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(canceled(), [v1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("removes an absence that was stored before its start if the user is connected again", () => {
    const { layer, presence } = slowFleet()
    return Effect.gen(function* () {
      const store = yield* DeadMansSwitchStore
      yield* store.set(userId, { sub_account_address: v1, enabled: true, time_window: 10 })
      yield* store.absent(userId, 0)
      yield* store.window(userId, { sub_account_address: v1, began_ms: 0, canceled: true })
      presence.notify(userId, true)
      yield* Effect.gen(function* () {
        for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
        assert.isUndefined(yield* store.absence(userId))
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.provide(SqliteStores.deadMansSwitches))
  })

  it.effect("waits for a store that does not respond", () => {
    const { canceled, commands, submit } = world()
    let broken = true
    const layer = policies({
      sequencer: { submit },
      switches: {
        of: () =>
          Effect.suspend(() =>
            broken
              ? Effect.fail(new AccountsUnavailable({}))
              : Effect.succeed([{ sub_account_address: v1, enabled: true, time_window: 3 }])
          )
      }
    })
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      presence.disconnected(userId)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(commands, [])
      broken = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(canceled(), [v1])
    }).pipe(Effect.provide(layer))
  })

  it.effect.each([
    { lost: "settings", expected: [v1] },
    { lost: "absence", expected: [] }
  ])(
    "goes by what it knows where the store does not return the $lost at the end of the window",
    ({ expected, lost }) => {
      const { canceled, submit } = world()
      let ended = false
      const read = <A>(name: string, value: A) =>
        Effect.suspend(() =>
          ended && name === lost ? Effect.fail(new AccountsUnavailable({})) : Effect.succeed(value)
        )
      const layer = policies({
        sequencer: { submit },
        switches: {
          // off at the end
          of: () =>
            Effect.suspend(() => read("settings", [{ sub_account_address: v1, enabled: !ended, time_window: 3 }])),
          absence: () => read("absence", undefined),
          absent: () => Effect.void,
          window: () => Effect.void,
          present: () => Effect.void
        }
      })
      return Effect.gen(function* () {
        const presence = yield* Presence
        presence.connected(userId)
        presence.disconnected(userId)
        yield* TestClock.adjust("2 seconds")
        ended = true
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(canceled(), expected)
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect.each([
    { lost: "writes", isRead: true },
    { lost: "writes and reads", isRead: false }
  ])("cancels in the next absence too, where the store loses $lost before the user is back", ({ isRead }) => {
    const { canceled, submit } = world()
    let isLost = false
    const unlessLost = <A>(effect: Effect.Effect<A, AccountsUnavailable>) =>
      Effect.suspend(() => (isLost ? Effect.fail(new AccountsUnavailable({})) : effect))
    const read = isRead ? <A>(effect: A) => effect : unlessLost
    const store = Layer.effect(
      DeadMansSwitchStore,
      Effect.map(DeadMansSwitchStore, (kept) => ({
        ...kept,
        of: (user_id: string) => read(kept.of(user_id)),
        absence: (user_id: string) => read(kept.absence(user_id)),
        absent: (user_id: string, began_ms: number) => unlessLost(kept.absent(user_id, began_ms)),
        present: (user_id: string) => unlessLost(kept.present(user_id)),
        window: (...of: Parameters<typeof kept.window>) => unlessLost(kept.window(...of))
      }))
    ).pipe(Layer.provide(SqliteStores.deadMansSwitches))
    const layer = Layer.fresh(DeadMansSwitch.layer).pipe(
      Layer.provide(store),
      Layer.provideMerge(policies({ sequencer: { submit } }))
    )
    return Effect.gen(function* () {
      const presence = yield* Presence
      presence.connected(userId)
      yield* enable(v0, 10)
      presence.disconnected(userId)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(canceled(), [v0])
      isLost = true
      presence.connected(userId)
      yield* TestClock.adjust("1 second")
      presence.disconnected(userId)
      yield* TestClock.adjust("10 seconds")
      isLost = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(canceled(), [v0, v0])
      // once an absence
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(canceled(), 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not cancel again after a restart though the store returns the absence only at the start", () => {
    const { canceled, submit } = world()
    let reads = 0
    const layer = policies({
      sequencer: { submit },
      switches: {
        users: Effect.succeed([userId]),
        of: () =>
          Effect.succeed([v0, v1].map((address) => ({ sub_account_address: address, enabled: true, time_window: 10 }))),
        absence: () =>
          Effect.suspend(() =>
            reads++ === 0
              ? Effect.succeed({ began_ms: 0, windows: [{ sub_account_address: v0, began_ms: 0, canceled: true }] })
              : Effect.fail(new AccountsUnavailable({}))
          ),
        absent: () => Effect.void,
        window: () => Effect.void,
        present: () => Effect.void
      }
    })
    return Effect.gen(function* () {
      yield* Presence
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(canceled(), [v1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is set for sub-accounts that the credential sees", () => {
    const { layer } = world()
    const bound = { ...tokenCaller, bound_to: new Set([v1]) }
    return Effect.gen(function* () {
      const switches = yield* DeadMansSwitch
      for (const [caller, sub_account_address] of [
        [tokenCaller, foreign],
        [bound, v0]
      ] as const) {
        const refused = yield* Effect.flip(switches.set(caller, { sub_account_address, enabled: true }))
        assert.deepInclude(refused, { reason: "SubAccountNotFound" })
      }
      yield* switches.set(tokenCaller, { sub_account_address: v0, enabled: true })
      yield* switches.set(bound, { sub_account_address: v1, enabled: true, time_window: 300 })
      assert.lengthOf(yield* switches.list(tokenCaller), 2)
      assert.deepStrictEqual(yield* switches.list(bound), [
        { sub_account_address: v1, enabled: true, time_window: 300 }
      ])
    }).pipe(Effect.provide(layer))
  })
})
