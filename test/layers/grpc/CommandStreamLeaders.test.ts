/** What a command stream does when its backend stops, falls silent, or is no longer the leader. */
import { status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { Grant } from "../../../src/domain/Grant.ts"
import { SILENCE_MS_MAX } from "../../../src/layers/grpc/Channel.ts"
import {
  CLOCK_WAIT_MS,
  CommandStream,
  DEADLINE_MS,
  DEADLINE_STEP_MS,
  LEAVE_MS,
  type Outcome,
  SILENT_DEADLINE_MS
} from "../../../src/layers/grpc/CommandStream.ts"
import { CancelAll, type Command } from "../../../src/proto/gateway/v1/sequencer.ts"
import { CommandChannel } from "../../doubles/CommandCall.ts"
import { deposit } from "../../doubles/FakeMachine.ts"
import { ManualLease } from "../../doubles/ManualLease.ts"

/** Longer than any pause before a reconnect. */
const PAUSE_MS = 300

let backend: CommandChannel
let stream: CommandStream
let losses: number
let outcomes: Map<string, Outcome>

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "setImmediate", "performance"]
  })
  backend = new CommandChannel()
  losses = 0
  outcomes = new Map()
  stream = new CommandStream(backend.channel, { chance: () => 0.5, onLost: () => losses++ })
})
afterEach(() => {
  stream.close()
  vi.useRealTimers()
})

const submit = (id: string, grant?: Grant, command: Command = deposit(1, id)) =>
  stream.submit(
    command,
    (outcome) => {
      assert.isFalse(outcomes.has(id), `${id} has two outcomes`)
      outcomes.set(id, outcome)
    },
    grant
  )
const cancelAll = (id: string): Command => ({
  ...deposit(1, id),
  command: { $case: "cancel_all", value: CancelAll.decode(new Uint8Array()) }
})
const pass = (ms: number) => vi.advanceTimersByTime(ms)
const caseOf = (id: string) => outcomes.get(id)?.$case

describe("when another backend leads", () => {
  it("the stream to a live one is ended, its answers are read, and later commands go to the next", () => {
    submit("before")
    pass(1)
    const [first] = backend.calls
    // accepted in the same turn as the move, and after it
    submit("during")
    backend.move(true)
    submit("after")
    pass(1)
    assert.deepStrictEqual([first!.isEnded, first!.cancels, first!.written], [true, 0, ["before"]])
    first!.answer()
    assert.strictEqual(caseOf("before"), "ack")
    first!.emit("end")
    pass(PAUSE_MS)
    assert.lengthOf(backend.calls, 2)
    assert.deepStrictEqual(backend.last.written, ["during", "after"])
    backend.last.answer()
    assert.deepStrictEqual([caseOf("during"), caseOf("after")], ["ack", "ack"])
    assert.strictEqual(losses, 1)
  })

  it("the stream to a live one that does not end it is cancelled after a second", () => {
    submit("before")
    pass(1)
    backend.move(true)
    pass(LEAVE_MS - 1)
    assert.strictEqual(backend.last.cancels, 0)
    pass(1)
    assert.strictEqual(backend.last.cancels, 1)
    backend.last.emit("error", { code: status.CANCELLED })
    assert.strictEqual(caseOf("before"), "unknown")
  })

  it("the stream to a silent one is cancelled at once", () => {
    backend.move(false)
    assert.deepStrictEqual([backend.last.cancels, backend.last.isEnded], [1, false])
  })

  it("a closed stream no longer follows the leader, and opens no call when its channel is ready", () => {
    backend.isReady = false
    backend.last.emit("end")
    pass(PAUSE_MS)
    stream.close()
    assert.strictEqual(backend.movers.size, 0)
    backend.ready!()
    pass(PAUSE_MS)
    assert.lengthOf(backend.calls, 1)
    assert.strictEqual(losses, 1)
  })
})

describe("a command that a stopping backend returns", () => {
  it("is written to the next stream, with its credential held again, and gets one outcome", () => {
    const grant = new Grant("key", "user")
    submit("returned", grant)
    submit("own")
    pass(1)
    const [first] = backend.calls
    first!.return()
    assert.deepStrictEqual([outcomes.size, stream.size, first!.isEnded, grant.isHeld], [0, 2, true, false])
    pass(PAUSE_MS)
    // nothing goes to the stream that is left
    assert.deepStrictEqual(first!.written, [])
    first!.emit("end")
    pass(PAUSE_MS)
    assert.deepStrictEqual(backend.last.written, ["returned", "own"])
    assert.isTrue(grant.isHeld)
    backend.last.answer()
    assert.deepStrictEqual([caseOf("returned"), caseOf("own"), grant.isHeld, stream.size], ["ack", "ack", false, 0])
  })

  it("and another of its command_id keep their order on the next stream, and none is taken for a later one", () => {
    const results: Array<string> = []
    const twin = (name: string) =>
      stream.submit(deposit(1, "twin"), (outcome) => {
        if (outcome?.$case === "ack") results.push(`${name} ${outcome.value.seq}`)
      })
    twin("first")
    twin("second")
    pass(1)
    backend.last.return()
    backend.last.emit("end")
    pass(PAUSE_MS)
    assert.deepStrictEqual(backend.last.written, ["twin", "twin"])
    backend.last.answer()
    twin("third")
    pass(1)
    backend.last.answer(3)
    assert.deepStrictEqual([results, stream.size], [["first 1", "second 2", "third 3"], 0])
  })

  it("is certainly not sequenced where no other backend takes it in time", () => {
    submit("returned")
    pass(1)
    backend.last.return()
    backend.isReady = false
    backend.last.emit("end")
    pass(DEADLINE_MS + DEADLINE_STEP_MS)
    assert.strictEqual(caseOf("returned"), "unavailable")
    backend.ready!()
    pass(PAUSE_MS)
    assert.deepStrictEqual(backend.last.written, [])
  })

  it("can be withdrawn, and is not written where its credential has ended meanwhile", () => {
    const grant = new Grant("key", "user")
    const withdraw = submit("withdrawn")
    submit("ended", grant)
    pass(1)
    backend.last.return()
    withdraw()
    grant.end("revoked")
    backend.last.emit("end")
    pass(PAUSE_MS)
    assert.deepStrictEqual(outcomes.get("withdrawn"), { $case: "unavailable", cause: "withdrawn" })
    assert.deepStrictEqual(outcomes.get("ended"), { $case: "ended", why: "revoked" })
    assert.deepStrictEqual(backend.last.written, [])
  })
})

describe("while the liveness probe finds the backend silent", () => {
  it("pending commands get their outcome at once, and others than cancels fail fast", () => {
    backend.last.room = 1
    submit("written")
    pass(1)
    submit("unwritten")
    pass(1)
    assert.strictEqual(backend.waiters.size, 1)
    backend.fallSilent()
    assert.deepStrictEqual([caseOf("written"), caseOf("unwritten")], ["unknown", "unavailable"])
    assert.deepStrictEqual([stream.size, backend.waiters.size], [0, 0])
    submit("new")
    assert.strictEqual(caseOf("new"), "unavailable")
    backend.last.drain(Infinity)
    submit("cancel", undefined, cancelAll("cancel"))
    pass(1)
    assert.deepStrictEqual(backend.last.written, ["written", "cancel"])
    pass(SILENT_DEADLINE_MS - DEADLINE_STEP_MS)
    assert.isFalse(outcomes.has("cancel"))
    pass(2 * DEADLINE_STEP_MS)
    assert.strictEqual(caseOf("cancel"), "unknown")
  })

  it("no command can be submitted, from the first check on", () => {
    pass(2_000)
    assert.strictEqual(stream.down_ms, 0)
    backend.fallSilent()
    pass(1_000)
    assert.isAtLeast(stream.down_ms, 1_000 - DEADLINE_STEP_MS)
    backend.isSilent = false
    pass(DEADLINE_STEP_MS)
    assert.strictEqual(stream.down_ms, 0)
  })
})

it("cancels a stream whose oldest result is overdue for long, whatever other results arrive", () => {
  submit("lost")
  pass(1)
  backend.last.written.splice(0)
  for (let ms = 0, n = 0; ms < DEADLINE_MS + SILENCE_MS_MAX - 200; ms += 200) {
    submit(`other-${n++}`)
    pass(1)
    backend.last.answer()
    pass(199)
  }
  assert.deepStrictEqual([caseOf("lost"), backend.last.cancels], ["unknown", 0])
  pass(200 + 2 * DEADLINE_STEP_MS)
  assert.isAbove(backend.last.cancels, 0)
})

it("waits for the clock of each stream, also where the one before was lost during its wait", () => {
  const grant = new Grant("key", "user", new ManualLease(700))
  submit("leased", grant)
  pass(CLOCK_WAIT_MS - 10)
  backend.last.emit("end")
  pass(PAUSE_MS)
  assert.lengthOf(backend.calls, 2)
  assert.deepStrictEqual(backend.last.written, [])
  backend.last.emit("data", { results: [], clock_ms: 5 })
  pass(1)
  assert.deepStrictEqual([...backend.last.limits], [["leased", 705]])
})

describe("the memory of a command stream", () => {
  it("has no finished commands but the last few thousand, under a load without a pause", () => {
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 1_000; i++) submit(`${round}-${i}`)
      // some are pending at each check
      pass(DEADLINE_STEP_MS)
      backend.last.answer()
    }
    assert.strictEqual(outcomes.size, 20_000)
    assert.isBelow(stream["deadlines"].length, 7_000)
  })

  it("has no expired commands during an outage, in which cancels are always tried", () => {
    backend.isReady = false
    backend.last.emit("end")
    for (let i = 0; i < 100; i++) submit(`cancel-${i}`, undefined, cancelAll(`cancel-${i}`))
    assert.lengthOf(stream["waiting"], 100)
    pass(DEADLINE_MS + DEADLINE_STEP_MS)
    assert.deepStrictEqual([stream.size, stream["waiting"].length], [0, 0])
  })
})
