/** What a command stream counts while answers are late or lost, over a call whose answers and end the test decides. */
import { status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import {
  CLOCK_WAIT_MS,
  CommandStream,
  DEADLINE_MS,
  MESSAGE_COMMANDS_MAX,
  type Outcome,
  PENDING_COMMANDS_MAX
} from "../../../src/layers/grpc/CommandStream.ts"
import { EVIDENCE_MS_MAX } from "../../../src/layers/grpc/SubmitHealth.ts"
import { Grant } from "../../../src/domain/Grant.ts"
import { CancelAll } from "../../../src/proto/gateway/v1/sequencer.ts"
import { type CommandCall, CommandChannel } from "../../doubles/CommandCall.ts"
import { deposit } from "../../doubles/FakeMachine.ts"
import { ManualLease } from "../../doubles/ManualLease.ts"

let calls: Array<CommandCall>
let stream: CommandStream

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "setImmediate", "performance"]
  })
  const backend = new CommandChannel()
  calls = backend.calls
  stream = new CommandStream(backend.channel, { chance: () => 0.5 })
})
afterEach(() => {
  stream.close()
  vi.useRealTimers()
})

/** Submits commands, each under an id of its own, and gathers their outcomes. */
let ids = 0
const submit = (count: number): Array<Outcome> => {
  const outcomes: Array<Outcome> = []
  for (let i = 0; i < count; i++) stream.submit(deposit(1, `c-${++ids}`), (outcome) => outcomes.push(outcome))
  vi.advanceTimersByTime(1)
  return outcomes
}
/** Fills the stream with commands whose time runs out before an answer comes. */
const overdue = (): void => {
  const outcomes = submit(PENDING_COMMANDS_MAX)
  vi.advanceTimersByTime(DEADLINE_MS + 200)
  assert.lengthOf(outcomes, PENDING_COMMANDS_MAX)
  assert.isTrue(outcomes.every((outcome) => outcome!.$case === "unknown"))
  assert.strictEqual(stream.size, 0)
  // each of them still counts
  assert.deepStrictEqual(submit(1), [{ $case: "unavailable", cause: "too many commands are pending" }])
}
const isWhole = (): void => {
  const outcomes = submit(PENDING_COMMANDS_MAX)
  assert.lengthOf(outcomes, 0, "some were refused")
  calls.at(-1)!.answer()
  assert.lengthOf(outcomes, PENDING_COMMANDS_MAX)
  assert.isTrue(outcomes.every((outcome) => outcome!.$case === "ack"))
}

describe("Amendment 25: the time for which no command can be submitted", () => {
  it("begins before the first stream and ends when a stream is open for a second", () => {
    assert.strictEqual(stream.down_ms, 0)
    vi.advanceTimersByTime(900)
    assert.strictEqual(stream.down_ms, 900)
    vi.advanceTimersByTime(200)
    assert.strictEqual(stream.down_ms, 0)
  })

  it("lasts while each stream is refused as it opens", () => {
    vi.advanceTimersByTime(1_100)
    for (let i = 0; i < 40; i++) {
      calls.at(-1)!.emit("error", { code: status.UNAUTHENTICATED })
      vi.advanceTimersByTime(350)
    }
    assert.isAbove(calls.length, 35)
    assert.isAbove(stream.down_ms, 13_500)
    vi.advanceTimersByTime(1_100)
    assert.strictEqual(stream.down_ms, 0)
  })

  it("lasts while commands expire, until a result, or until the last of them is old", () => {
    vi.advanceTimersByTime(1_100)
    submit(1)
    vi.advanceTimersByTime(DEADLINE_MS + 4_000)
    assert.isAtLeast(stream.down_ms, 3_900)
    calls.at(-1)!.answer()
    vi.advanceTimersByTime(100)
    assert.strictEqual(stream.down_ms, 0)
    submit(1)
    vi.advanceTimersByTime(DEADLINE_MS + EVIDENCE_MS_MAX - 200)
    assert.isAbove(stream.down_ms, 20_000)
    vi.advanceTimersByTime(2_000)
    assert.strictEqual(stream.down_ms, 0)
  })
})

it("spreads the reconnects of gateways by a fifth each way, and doubles the pause after each failure, up to 250 ms", () => {
  stream.close()
  for (const [chance, pauses] of [
    [0, [80, 160, 200, 200]],
    [1, [120, 240, 300, 300]]
  ] as const) {
    const backend = new CommandChannel()
    stream = new CommandStream(backend.channel, { chance: () => chance })
    for (const [i, pause] of pauses.entries()) {
      backend.calls.at(-1)!.emit("end")
      vi.advanceTimersByTime(pause - 1)
      assert.lengthOf(backend.calls, i + 1)
      vi.advanceTimersByTime(1)
      assert.lengthOf(backend.calls, i + 2)
    }
    stream.close()
  }
})

describe("the capacity of a command stream", () => {
  it("is whole again after every answer came late", () => {
    overdue()
    calls[0]!.answer()
    isWhole()
  })

  it("is whole again after the stream was lost with every answer on it", () => {
    overdue()
    calls[0]!.emit("end")
    // the next stream
    vi.advanceTimersByTime(1_000)
    assert.lengthOf(calls, 2)
    // one command is tried, until something is answered
    const trial = submit(1)
    assert.lengthOf(trial, 0)
    calls[1]!.answer()
    assert.strictEqual(trial[0]!.$case, "ack")
    isWhole()
  })

  it("counts each of three commands under one command_id, and gives each its own answer", () => {
    const seqs: Array<unknown> = []
    for (let i = 0; i < 3; i++) {
      stream.submit(deposit(1, "triple"), (outcome) => seqs.push(outcome!.$case === "ack" && outcome!.value.seq))
    }
    vi.advanceTimersByTime(1)
    assert.strictEqual(stream.size, 3)
    calls[0]!.answer(7)
    assert.deepStrictEqual(seqs, [7, 8, 9])
    assert.strictEqual(stream.size, 0)
  })
})

describe("a command that is held until a renewal of its lease", () => {
  it("is looked at once for each read that began too long ago", () => {
    const lease = new ManualLease()
    lease.end()
    calls.at(-1)!.emit("data", { results: [], clock_ms: 0 })
    stream.submit(deposit(1, "held"), () => {}, new Grant("key", "user", lease))
    vi.advanceTimersByTime(1)
    const looks = vi.spyOn(lease, "isCurrent")
    for (let read = 0; read < 5; read++) {
      lease.renewLate()
      vi.advanceTimersByTime(1)
    }
    assert.strictEqual(looks.mock.calls.length, 5)
  })
})

describe("Amendment 18: the time limit of commands, on the stream's clock", () => {
  const grant = () => new Grant("key", "user", new ManualLease(700))
  const ignore = () => {}
  const clock = (clock_ms: number) => calls.at(-1)!.emit("data", { results: [], clock_ms })
  const limits = () => [...calls.at(-1)!.limits]

  it("waits for the first reading; cancels and the gateway's own commands have no limit", () => {
    const cancel = { $case: "cancel_all" as const, value: CancelAll.decode(new Uint8Array()) }
    stream.submit(deposit(1, "first"), ignore, grant())
    stream.submit(deposit(1, "second"), ignore, grant())
    stream.submit({ ...deposit(1, "cancel"), command: cancel }, ignore, grant())
    stream.submit(deposit(1, "own"), ignore)
    vi.advanceTimersByTime(100)
    assert.deepStrictEqual(limits(), [
      ["cancel", undefined],
      ["own", undefined]
    ])
    clock(3)
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(limits().slice(2), [
      ["first", 703],
      ["second", 703]
    ])
  })

  it("counts from the least delayed reading", () => {
    clock(0)
    vi.advanceTimersByTime(1000)
    // this reading was on its way for 900 ms
    clock(100)
    stream.submit(deposit(1, "one"), ignore, grant())
    vi.advanceTimersByTime(1)
    assert.strictEqual(calls[0]!.limits.get("one"), 1699)
  })

  it("begins again with each stream", () => {
    clock(60_000)
    calls[0]!.emit("end")
    vi.advanceTimersByTime(3000)
    assert.strictEqual(calls.length, 2)
    stream.submit(deposit(1, "one"), ignore, grant())
    vi.advanceTimersByTime(CLOCK_WAIT_MS + 1)
    assert.deepStrictEqual(limits(), [])
    clock(5)
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(limits(), [["one", 705]])
  })

  it("is absent for a sequencer that sends no clock, after one wait", () => {
    for (const id of ["one", "two"]) stream.submit(deposit(1, id), ignore, grant())
    vi.advanceTimersByTime(CLOCK_WAIT_MS - 1)
    assert.deepStrictEqual(limits(), [])
    vi.advanceTimersByTime(2)
    stream.submit(deposit(1, "three"), ignore, grant())
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(limits(), [
      ["one", undefined],
      ["two", undefined],
      ["three", undefined]
    ])
  })
})

describe("a call that is full", () => {
  it("receives the rest when it drains, in order, and each command once", () => {
    const [call] = calls as [CommandCall]
    call.room = 2
    const ids = Array.from({ length: 3 * MESSAGE_COMMANDS_MAX + 1 }, (_, i) => `full-${i}`)
    const outcomes: Array<Outcome> = []
    for (const id of ids) stream.submit(deposit(1, id), (outcome) => outcomes.push(outcome))
    vi.advanceTimersByTime(10)
    assert.deepStrictEqual(call.messages, [MESSAGE_COMMANDS_MAX, MESSAGE_COMMANDS_MAX])
    // what comes meanwhile waits behind it
    stream.submit(deposit(1, "later"), (outcome) => outcomes.push(outcome))
    vi.advanceTimersByTime(10)
    assert.lengthOf(call.messages, 2)
    call.drain(1)
    vi.advanceTimersByTime(1)
    assert.lengthOf(call.messages, 3)
    call.drain(Infinity)
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(call.messages.slice(3), [2])
    assert.deepStrictEqual(call.written, [...ids, "later"])
    call.answer()
    assert.lengthOf(outcomes, ids.length + 1)
    assert.isTrue(outcomes.every((outcome) => outcome!.$case === "ack"))
  })

  it("is not sent what was withdrawn, and what expires before it drains is certainly not sequenced", () => {
    const [call] = calls as [CommandCall]
    call.room = 1
    submit(1)
    const outcomes: Array<Outcome> = []
    const withdraw = stream.submit(deposit(1, "withdrawn"), (outcome) => outcomes.push(outcome))
    stream.submit(deposit(1, "expires"), (outcome) => outcomes.push(outcome))
    vi.advanceTimersByTime(1)
    call.answer()
    withdraw()
    assert.deepStrictEqual(outcomes.splice(0), [{ $case: "unavailable", cause: "withdrawn" }])
    vi.advanceTimersByTime(DEADLINE_MS + 100)
    assert.strictEqual(outcomes[0]?.$case, "unavailable")
    call.drain(Infinity)
    stream.submit(deposit(1, "next"), () => {})
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(call.written, ["next"])
  })

  it("does not hold up the stream that follows it", () => {
    calls[0]!.room = 1
    submit(1)
    stream.submit(deposit(1, "waits"), () => {})
    vi.advanceTimersByTime(1)
    assert.notInclude(calls[0]!.written, "waits")
    calls[0]!.emit("end")
    vi.advanceTimersByTime(1000)
    assert.deepStrictEqual(calls[1]?.written, ["waits"])
  })
})
