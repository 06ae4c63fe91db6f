import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { ModelPosition } from "../../../src/domain/Projection.ts"
import * as Admission from "../../../src/services/trading/CommandAdmission.ts"
import * as MetricsRegistry from "../../../src/services/operations/MetricsRegistry.ts"
import { Projector } from "../../../src/services/read-model/Projector.ts"
import {
  type CommandAck,
  type CommandBody,
  CommandRefused,
  OutcomeUnknown,
  Sequencer,
  SequencerUnavailable,
  type SubmitError
} from "../../../src/services/Sequencer.ts"

const place: CommandBody = {
  type: "place",
  order: {
    symbol: "BTC-USDC",
    side: "Buy",
    order_type: "Limit",
    qty: "0.001",
    price: "60000",
    time_in_force: "GTC",
    post_only: false,
    reduce_only: false,
    close_on_trigger: false,
    smp_type: "CancelTaker",
    order_link_id: undefined,
    trigger: undefined,
    tpsl: undefined,
    expire_time: undefined
  }
}
const cancel: CommandBody = {
  type: "cancel",
  cancel: { symbol: "BTC-USDC", order: { order_id: undefined, order_link_id: "a-1" } }
}
const cancelAll: CommandBody = {
  type: "cancel_all",
  cancel_all: {
    symbol: undefined,
    side: undefined,
    order_filter: "All",
    reduce_only: undefined,
    cancel_type: "CancelByUser"
  }
}

/** A sequencer and a read model that answer and move when the test says so. */
class World {
  /** Commands that the sequencer has, in order. */
  readonly submitted: Array<string> = []
  /** Whether commands fail at once. */
  isSilent = false
  private readonly answers = new Map<string, Deferred.Deferred<CommandAck, SubmitError>>()
  private position: ModelPosition = { epoch: "e", seq: 0, began: 0, ts_ms: 0 }
  private readonly listeners = new Set<(position: ModelPosition) => void>()

  readonly layer = (options: Parameters<typeof Admission.CommandAdmission.layer>[0] = {}) =>
    Admission.sequencer.pipe(
      Layer.fresh,
      Layer.provideMerge(Layer.fresh(Admission.CommandAdmission.layer(options))),
      Layer.provide([
        Layer.mock(Projector)({
          position: () => this.position,
          caughtUp: Effect.void,
          onMoved: (listener) => {
            this.listeners.add(listener)
            return () => void this.listeners.delete(listener)
          }
        }),
        Layer.mock(Sequencer)({
          commands_down_ms: () => 0,
          submit: ({ command_id }) =>
            Effect.suspend(() => {
              this.submitted.push(command_id)
              if (this.isSilent) return Effect.fail(new SequencerUnavailable({}))
              const answer = Deferred.makeUnsafe<CommandAck, SubmitError>()
              this.answers.set(command_id, answer)
              return Deferred.await(answer)
            })
        })
      ]),
      Layer.provideMerge(MetricsRegistry.layer)
    )

  answer(command_id: string, exit: Exit.Exit<number, SubmitError>, duplicate = false): Effect.Effect<void> {
    const ack = Exit.map(exit, (seq) => ({
      seq,
      accepted_at_ms: 1,
      orders: [],
      duplicate,
      version: undefined,
      result: undefined
    }))
    return Effect.andThen(Deferred.done(this.answers.get(command_id)!, ack), settle)
  }
  show(seq: number, epoch = "e", stream?: string): Effect.Effect<void> {
    this.position = { ...this.position, epoch, seq, stream }
    for (const listener of this.listeners) listener(this.position)
    return settle
  }
}

const settle = Effect.andThen(
  Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow),
  Effect.void
)
const send = (command_id: string, user_id = "a", body: CommandBody = place) =>
  Effect.gen(function* () {
    const { submit } = yield* Sequencer
    const fiber = yield* Effect.forkChild(submit({ command_id, user_id, sub_account_address: "0xa", body }))
    yield* settle
    return fiber
  })
const fixed = (slots: number) => ({ limits: { initial: slots, min: slots, max: slots, target_ms: 100 } })
const gauge = (name: string) =>
  Effect.map(
    Effect.flatMap(MetricsRegistry.CurrentMetricsRegistry, ({ text }) => text),
    (text) => {
      const line = text.split("\n").find((each) => each.startsWith(`${name} `))
      return Number(line?.split(" ")[1])
    }
  )

describe("admission of commands", () => {
  it.effect("a command keeps its slot until its events are visible; the next ones wait", () => {
    const world = new World()
    return Effect.gen(function* () {
      for (const id of ["1", "2", "3", "4"]) yield* send(id)
      assert.deepStrictEqual(world.submitted, ["1", "2"])
      yield* world.answer("1", Exit.succeed(10))
      assert.deepStrictEqual(world.submitted, ["1", "2"], "acknowledged, not shown")
      yield* world.show(9)
      assert.deepStrictEqual(world.submitted, ["1", "2"])
      yield* world.show(10)
      assert.deepStrictEqual(world.submitted, ["1", "2", "3"])
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 2)
      assert.strictEqual(yield* gauge("gateway_commands_waiting"), 1)
      assert.strictEqual(yield* gauge("gateway_commands_limit"), 2)
    }).pipe(Effect.provide(world.layer(fixed(2))))
  })

  it.effect(
    "a command that is refused, unknown, or visible before its acknowledgement releases its slot at once",
    () => {
      const world = new World()
      return Effect.gen(function* () {
        for (const id of ["1", "2", "3", "4"]) yield* send(id)
        const refused = new CommandRefused({ reason: "OrderNotFound", message: "", details: {} })
        yield* world.answer("1", Exit.fail(refused))
        yield* world.answer("2", Exit.fail(new OutcomeUnknown()))
        yield* world.show(7)
        yield* world.answer("3", Exit.succeed(7))
        assert.deepStrictEqual(world.submitted, ["1", "2", "3", "4"])
      }).pipe(Effect.provide(world.layer(fixed(1))))
    }
  )

  it.effect("commands that a restored backend has lost release their slots", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* world.show(7_000)
      yield* send("lost")
      yield* world.answer("lost", Exit.succeed(8_000))
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 1)
      // another fork, in the same epoch
      yield* world.show(5_000, "e", "f2-0")
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 0)
      yield* send("next")
      yield* world.answer("next", Exit.succeed(5_001))
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 1)
      yield* world.show(5_001, "e", "f2-0")
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 0)
    }).pipe(Effect.provide(world.layer(fixed(2))))
  })

  it.effect("an acknowledgement of a seq that the stream never reaches holds its slot for 5 s, not for ever", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* send("wrong")
      yield* world.answer("wrong", Exit.succeed(10_000_000))
      yield* send("behind")
      yield* world.answer("behind", Exit.succeed(10))
      yield* world.show(10)
      yield* TestClock.adjust("4900 millis")
      yield* send("next")
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(world.submitted, ["wrong", "behind"])
      yield* TestClock.adjust("150 millis")
      assert.deepStrictEqual(world.submitted, ["wrong", "behind", "next"])
      yield* world.show(11)
      yield* world.answer("next", Exit.succeed(11))
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 0)
    }).pipe(Effect.provide(world.layer(fixed(2))))
  })

  it.effect("the limit grows only where it holds commands back", () => {
    const world = new World()
    const limit = gauge("gateway_commands_limit")
    /** Commands that are sent together, and shown a round later. */
    const round = (first: number, count: number) =>
      Effect.gen(function* () {
        const seqs = Array.from({ length: count }, (_, i) => first + i)
        for (const seq of seqs) yield* send(String(seq), String(seq))
        yield* TestClock.adjust("60 millis")
        for (const seq of seqs) {
          yield* world.answer(String(seq), Exit.succeed(seq))
          yield* world.show(seq)
        }
      })
    return Effect.gen(function* () {
      for (let i = 1; i <= 10; i++) yield* round(10 * i, 1)
      assert.strictEqual(yield* limit, 4)
      yield* round(200, 5)
      assert.isAbove(yield* limit, 4)
    }).pipe(Effect.provide(world.layer({ limits: { initial: 4, min: 1, max: 100, target_ms: 100 } })))
  })

  it.effect("cancels are admitted first, regardless of the queue", () => {
    const world = new World()
    return Effect.gen(function* () {
      for (let i = 0; i < 20; i++) yield* send(`place-${i}`)
      yield* send("cancel", "a", cancel)
      yield* send("cancel-all", "a", cancelAll)
      assert.deepStrictEqual(world.submitted, ["place-0", "cancel", "cancel-all"])
    }).pipe(Effect.provide(world.layer({ ...fixed(1), waiting_max: 4 })))
  })

  it.effect("commands beyond the queue are refused at once, and counted", () => {
    const world = new World()
    return Effect.gen(function* () {
      const { isBusy, refusesNow } = yield* Admission.CommandAdmission
      assert.isFalse(isBusy())
      for (let i = 0; i < 2; i++) yield* send(String(i), String(i))
      assert.isTrue(isBusy())
      assert.isFalse(refusesNow("0"))
      yield* send("2", "2")
      const third = yield* send("full", "5")
      const error = yield* Effect.flip(Fiber.join(third))
      assert.strictEqual(error._tag, "Overloaded")
      assert.deepStrictEqual(world.submitted, ["0"])
      assert.isTrue(refusesNow(undefined), "no command is admitted now")
      assert.strictEqual(yield* gauge("gateway_command_refusals_total"), 2)
    }).pipe(Effect.provide(world.layer({ ...fixed(1), waiting_max: 2 })))
  })

  it.effect("users are served in turn, and one user cannot fill the queue", () => {
    const world = new World()
    return Effect.gen(function* () {
      const greedy: Array<Fiber.Fiber<CommandAck, SubmitError>> = []
      for (let i = 0; i < 50; i++) greedy.push(yield* send(`greedy-${i}`, "greedy"))
      assert.strictEqual(yield* gauge("gateway_commands_waiting"), 8)
      yield* send("modest-1", "modest")
      yield* send("modest-2", "modest")
      yield* world.answer("greedy-0", Exit.succeed(1))
      yield* world.show(1)
      for (let seq = 2; seq <= 4; seq++) {
        yield* world.answer(world.submitted.at(-1)!, Exit.succeed(seq))
        yield* world.show(seq)
      }
      assert.deepStrictEqual(world.submitted, ["greedy-0", "greedy-1", "modest-1", "greedy-2", "modest-2"])
      const refused = yield* Effect.flip(Fiber.join(greedy.at(-1)!))
      assert.strictEqual(refused._tag, "Overloaded")
    }).pipe(Effect.provide(world.layer({ ...fixed(1), waiting_max: 16 })))
  })

  it.effect("a command waits for a bounded time, and is surely not sequenced when that is over", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* send("1")
      const waiting = yield* send("2")
      yield* TestClock.adjust(Admission.WAIT_MS_MAX - 50)
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("200 millis")
      assert.strictEqual((yield* Effect.flip(Fiber.join(waiting)))._tag, "Overloaded")
      assert.strictEqual(yield* gauge("gateway_command_refusals_total"), 1)
      yield* world.answer("1", Exit.succeed(1))
      yield* world.show(1)
      assert.deepStrictEqual(world.submitted, ["1"])
      yield* send("3")
      assert.deepStrictEqual(world.submitted, ["1", "3"])
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })

  it.effect("a user whose oldest command has waited too long may add none", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* send("1")
      yield* send("2")
      yield* TestClock.adjust(Admission.AGE_MS_MAX + 50)
      const late = yield* send("3")
      assert.strictEqual((yield* Effect.flip(Fiber.join(late)))._tag, "Overloaded")
      const other = yield* send("4", "b")
      assert.isUndefined(other.pollUnsafe())
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })

  it.effect("an interrupted caller gives back its place, or its slot", () => {
    const world = new World()
    return Effect.gen(function* () {
      const first = yield* send("1")
      const second = yield* send("2")
      yield* send("3")
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* settle
      assert.deepStrictEqual(world.submitted, ["1", "3"])
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 1)
      assert.strictEqual(yield* gauge("gateway_commands_waiting"), 0)
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })

  it.effect("each of thousands of commands counts as shown once, while a later one is not shown", () => {
    const world = new World()
    const count = 4_098
    return Effect.gen(function* () {
      const { submit } = yield* Sequencer
      for (let seq = 1; seq <= count; seq++)
        yield* Effect.forkChild(
          submit({ command_id: String(seq), user_id: "a", sub_account_address: "0xa", body: place })
        )
      yield* settle
      for (let seq = 1; seq <= count; seq++) yield* world.answer(String(seq), Exit.succeed(seq))
      yield* world.show(count - 1)
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 1)
      yield* world.show(count)
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 0)
      assert.strictEqual(yield* gauge("gateway_command_shown_seconds_count"), count)
    }).pipe(Effect.provide(world.layer(fixed(count))))
  })

  it.effect("slots of another numbering are given back when it ends", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* world.show(100)
      yield* send("1")
      yield* send("2")
      yield* world.answer("1", Exit.succeed(120))
      yield* world.show(3, "another")
      assert.deepStrictEqual(world.submitted, ["1", "2"])
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })

  it.effect("the limit grows where it delayed one command, and does not change where it delayed none", () => {
    const world = new World()
    return Effect.gen(function* () {
      for (const id of ["1", "2"]) yield* send(id)
      yield* TestClock.adjust(60)
      yield* world.answer("1", Exit.succeed(1))
      yield* world.show(1)
      assert.strictEqual(yield* gauge("gateway_commands_limit"), 2)
      for (const id of ["3", "4"]) yield* send(id)
      yield* TestClock.adjust(90)
      yield* world.answer("3", Exit.succeed(2))
      yield* world.show(2)
      assert.strictEqual(yield* gauge("gateway_commands_limit"), 3)
    }).pipe(Effect.provide(world.layer({ limits: { initial: 2, min: 2, max: 64, target_ms: 500 } })))
  })

  it.effect("the limit grows while commands wait, also where none came since the last round", () => {
    const world = new World()
    return Effect.gen(function* () {
      for (let id = 1; id <= 12; id++) yield* send(String(id))
      const found: Array<number> = []
      for (let seq = 1; seq <= 2; seq++) {
        yield* TestClock.adjust(60)
        for (const id of world.submitted.splice(0)) yield* world.answer(id, Exit.succeed(seq))
        yield* world.show(seq)
        found.push(yield* gauge("gateway_commands_limit"))
      }
      assert.deepStrictEqual(found, [3, 5])
    }).pipe(Effect.provide(world.layer({ limits: { initial: 2, min: 2, max: 64, target_ms: 500 } })))
  })

  it.effect("thousands that wait all end, and none keeps a slot, where each fails at once", () => {
    const world = new World()
    return Effect.gen(function* () {
      const { submit } = yield* Sequencer
      const ids = Array.from({ length: 2_000 }, (_, i) => String(i))
      const fibers = yield* Effect.forEach(ids, (command_id) =>
        Effect.forkChild(submit({ command_id, user_id: "a", sub_account_address: "0xa", body: place }))
      )
      yield* settle
      assert.deepStrictEqual([world.submitted.length, yield* gauge("gateway_commands_waiting")], [1, 1_999])
      world.isSilent = true
      yield* world.answer("0", Exit.fail(new SequencerUnavailable({})))
      const failed = Exit.fail(new SequencerUnavailable({}))
      for (const fiber of fibers) assert.deepStrictEqual(fiber.pollUnsafe(), failed)
      assert.strictEqual(yield* gauge("gateway_commands_in_flight"), 0)
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })

  it.effect("the limit follows the delay from admission to shown", () => {
    const world = new World()
    return Effect.gen(function* () {
      /** The events of a command arrive before its acknowledgement, or after it. */
      const rounds = (from: number, count: number, delay_ms: number, isShownFirst: boolean) =>
        Effect.gen(function* () {
          for (let i = from; i < from + count; i++) {
            for (let j = 0; j < 40; j++) yield* send(`${i}-${j}`)
            yield* TestClock.adjust(delay_ms)
            const sent = world.submitted.splice(0)
            if (isShownFirst) yield* world.show(i)
            for (const id of sent) yield* world.answer(id, Exit.succeed(i))
            if (!isShownFirst) yield* world.show(i)
          }
          return yield* gauge("gateway_commands_limit")
        })
      for (const [from, isShownFirst] of [
        [1, false],
        [1_001, true]
      ] as const) {
        assert.isAbove(yield* rounds(from, 6, 60, isShownFirst), 16)
        assert.strictEqual(yield* rounds(from + 100, 30, 300, isShownFirst), 8)
        yield* rounds(from + 200, 12, 60, isShownFirst)
      }
    }).pipe(Effect.provide(world.layer({ limits: { initial: 16, min: 8, max: 64, target_ms: 100 } })))
  })

  it.effect("the time until a command is shown is measured in seconds", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* send("1")
      yield* TestClock.adjust(250)
      yield* world.answer("1", Exit.succeed(1))
      yield* world.show(1)
      assert.strictEqual(yield* gauge("gateway_command_shown_seconds_sum"), 0.25)
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })

  it.effect("a repeated command frees its slot with its acknowledgement: it has no events of its own", () => {
    const world = new World()
    return Effect.gen(function* () {
      yield* send("1")
      yield* send("2")
      assert.deepStrictEqual(world.submitted, ["1"])
      yield* world.answer("1", Exit.succeed(9), true)
      assert.deepStrictEqual(world.submitted, ["1", "2"])
    }).pipe(Effect.provide(world.layer(fixed(1))))
  })
})
