import { type sendUnaryData, type ServerDuplexStream, type ServiceError, status } from "@grpc/grpc-js"
import { PassThrough } from "node:stream"
import { assert, describe, it, onTestFinished, vi } from "vitest"
import { EventLog } from "../../../src/backend/journal/EventLog.ts"
import { DRAIN_MS } from "../../../src/backend/server/GrpcServer.ts"
import {
  BATCH_COMMANDS_MAX,
  CLOCK_MS,
  make,
  service,
  STREAM_COMMANDS_MAX
} from "../../../src/backend/server/SequencerServer.ts"
import type { Caller } from "../../../src/backend/server/Writer.ts"
import {
  type Command,
  type CommandAck,
  CommandResult,
  CommandStatus,
  type GetHeadResponse,
  type SubmitBatchResponse,
  type SubmitResponse,
  SubmitStreamRequest,
  SubmitStreamResponse
} from "../../../src/proto/gateway/v1/sequencer.ts"
import { deposit } from "../../doubles/FakeMachine.ts"

const ackOf = (command_id: string): CommandAck => ({
  command_id,
  seq: 1,
  accepted_at_ms: 1,
  orders: [],
  duplicate: false,
  version: undefined,
  refusal: undefined,
  result: undefined
})
const refusal: CommandStatus = {
  command_id: "a",
  code: status.FAILED_PRECONDITION,
  message: "too little",
  reason: "InsufficientBalance",
  metadata: { asset: "USDC" }
}
const acked = (command_id: string): Uint8Array =>
  CommandResult.encode({ outcome: { $case: "ack", value: ackOf(command_id) } }).finish()
const refused = CommandResult.encode({ outcome: { $case: "status", value: refusal } }).finish()

interface Submitted {
  readonly caller: Caller
  readonly command: Command
  readonly not_after_ms: number | undefined
}

/** The service over a writer that keeps the commands. */
const setting = (monotonic = () => 0) => {
  const submitted: Array<Submitted> = []
  const log = new EventLog("e", undefined, "f")
  log.skipTo(40, 77)
  const server = make({
    writer: {
      submit: (caller, command, _bytes, not_after_ms) => void submitted.push({ caller, command, not_after_ms })
    },
    log,
    events: {} as never,
    now: () => 1_000,
    firstSeq: () => 3,
    monotonic
  })
  /** Answers the oldest commands that are not answered, in one turn. */
  const answer = (...results: ReadonlyArray<Uint8Array>) => {
    const { caller } = submitted[0]!
    caller.results.push(...results)
    caller.flush()
  }
  return { ...server, submitted, answer }
}

/** A stream of commands, with what its client receives. */
const streamOf = (handlers: ReturnType<typeof setting>["handlers"]) => {
  const frames: Array<SubmitStreamResponse> = []
  const codes: Array<status> = []
  let isRead = true
  let hasEnded = false
  const call = Object.assign(new PassThrough({ objectMode: true }), {
    write: (frame: Buffer) => {
      frames.push(SubmitStreamResponse.decode(frame))
      return isRead
    },
    end: () => void (hasEnded = true)
  })
  call.on("error", (error: ServiceError) => codes.push(error.code))
  handlers.submitStream(call as unknown as ServerDuplexStream<never, never>)
  const sent = (commands: ReadonlyArray<Command>) => {
    const bytes = Buffer.from(SubmitStreamRequest.encode({ batch_id: 1, commands: [...commands] }).finish())
    call.emit("data", service.submitStream.requestDeserialize(bytes))
  }
  return {
    call,
    frames,
    codes,
    send: sent,
    read: (value: boolean) => {
      isRead = value
      if (value) call.emit("drain")
    },
    hasEnded: () => hasEnded
  }
}

describe("a stream of commands whose client does not read its results", () => {
  it("is paused until it does, with one listener however many results wait", () => {
    const { answer, handlers } = setting()
    const { call, read, send } = streamOf(handlers)
    send([deposit(1)])
    read(false)
    const listeners = call.listenerCount("drain")
    for (let turn = 0; turn < 20; turn++) answer(new Uint8Array())
    assert.strictEqual(call.listenerCount("drain"), listeners)
    assert.isTrue(call.isPaused())
    read(true)
    assert.isFalse(call.isPaused())
    call.emit("close")
  })

  it("gets no clock meanwhile, and one every second otherwise, until it closes", () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    for (const end of ["close", "cancelled"]) {
      const { answer, handlers } = setting()
      const { call, frames, read, send } = streamOf(handlers)
      assert.lengthOf(frames, 1)
      vi.advanceTimersByTime(2 * CLOCK_MS)
      assert.lengthOf(frames, 3)
      send([deposit(1)])
      read(false)
      answer(acked("a"))
      vi.advanceTimersByTime(3 * CLOCK_MS)
      assert.lengthOf(frames, 4)
      read(true)
      vi.advanceTimersByTime(CLOCK_MS)
      assert.lengthOf(frames, 5)
      call.emit(end)
      assert.strictEqual(vi.getTimerCount(), 0, end)
    }
  })
})

describe("a stream of commands", () => {
  it("submits its commands with limits of its own clock, and answers them with that clock", () => {
    let now = 5_000
    const { answer, handlers, submitted } = setting(() => now)
    const { call, frames, send } = streamOf(handlers)
    now = 5_030
    send([{ ...deposit(1, "a"), not_after_ms: 50 }, deposit(1, "b")])
    assert.deepStrictEqual(
      submitted.map(({ command, not_after_ms }) => [command.command_id, not_after_ms]),
      [
        ["a", 5_050],
        ["b", undefined]
      ]
    )
    answer(acked("a"), refused)
    assert.deepStrictEqual(
      frames.map(({ clock_ms, results }) => [clock_ms, results.map(({ outcome }) => outcome?.$case)]),
      [
        [0, []],
        [30, ["ack", "status"]]
      ]
    )
    call.emit("close")
  })

  it("ends after the result of its last command, however the results are divided", () => {
    const { answer, handlers } = setting()
    const { call, hasEnded, send } = streamOf(handlers)
    send([deposit(1, "a"), deposit(1, "b"), deposit(1, "c")])
    answer(acked("a"))
    call.emit("end")
    assert.isFalse(hasEnded())
    answer(acked("b"))
    assert.isFalse(hasEnded())
    answer(acked("c"))
    assert.isTrue(hasEnded())
    call.emit("close")
    const idle = streamOf(setting().handlers)
    idle.call.emit("end")
    assert.isTrue(idle.hasEnded())
    idle.call.emit("close")
  })

  it(`takes ${STREAM_COMMANDS_MAX} commands in a message, and executes none of a larger one`, () => {
    const { handlers, submitted } = setting()
    const { call, codes, send } = streamOf(handlers)
    const many = (count: number) => Array.from({ length: count }, (_, i) => deposit(1, `c-${i}`))
    send(many(STREAM_COMMANDS_MAX))
    assert.deepStrictEqual([submitted.length, codes], [STREAM_COMMANDS_MAX, []])
    send(many(STREAM_COMMANDS_MAX + 1))
    assert.deepStrictEqual([submitted.length, codes], [STREAM_COMMANDS_MAX, [status.INVALID_ARGUMENT]])
    call.emit("close")
  })

  it("gets nothing more once it cannot be written", () => {
    const { answer, handlers } = setting()
    const { call, frames, send } = streamOf(handlers)
    send([deposit(1)])
    call.destroy()
    answer(acked("a"))
    assert.lengthOf(frames, 1)
    call.emit("close")
  })

  it("is waited for by a stop until its client ends it, or for a limited time, and ends with UNAVAILABLE", async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const began = Date.now()
    const { drained, handlers, stop } = setting(() => Date.now() - began)
    const isDrained = async () => {
      let isOver = false
      const over = drained().then(() => (isOver = true))
      await vi.advanceTimersByTimeAsync(DRAIN_MS / 2)
      return { isOver: () => isOver, over }
    }
    assert.isTrue((await isDrained()).isOver())
    const [leaves, stays] = [streamOf(handlers), streamOf(handlers)]
    const first = await isDrained()
    assert.isFalse(first.isOver())
    leaves.call.emit("close")
    await vi.advanceTimersByTimeAsync(DRAIN_MS / 4)
    assert.isFalse(first.isOver())
    await vi.advanceTimersByTimeAsync(DRAIN_MS / 2)
    assert.isTrue(first.isOver(), "the time limit")
    const second = await isDrained()
    stop()
    assert.deepStrictEqual([leaves.codes, stays.codes], [[], [status.UNAVAILABLE]])
    stays.call.emit("close")
    await vi.advanceTimersByTimeAsync(100)
    assert.isTrue(second.isOver())
  })
})

describe("a call with commands", () => {
  /** The first argument of the callback of a unary call, or its response. */
  const callback = <A>() => {
    const outcomes: Array<unknown> = []
    const done: sendUnaryData<A> = (error, response) => void outcomes.push(error ?? response)
    return { done, outcomes }
  }
  const requestOf = (request: object) => ({ request }) as never

  it("of one command answers its acknowledgement, or an error with the reason and the whole refusal", () => {
    const { answer, handlers, submitted } = setting()
    const { done, outcomes } = callback<SubmitResponse>()
    handlers.submit(requestOf({ command: deposit(1, "a") }), done)
    assert.deepStrictEqual(outcomes, [])
    answer(acked("a"))
    submitted.length = 0
    handlers.submit(requestOf({ command: deposit(1, "a") }), done)
    answer(refused)
    submitted.length = 0
    handlers.submit(requestOf({}), done)
    const [one, two, three] = outcomes as [unknown, ServiceError, ServiceError]
    assert.deepStrictEqual(one, { ack: ackOf("a") })
    assert.deepInclude(two, { code: status.FAILED_PRECONDITION, details: "too little" })
    assert.deepStrictEqual(two.metadata.get("error-reason"), ["InsufficientBalance"])
    assert.deepStrictEqual(CommandStatus.decode(two.metadata.get("error-details-bin")[0] as Buffer), refusal)
    assert.strictEqual(three.code, status.INVALID_ARGUMENT)
    assert.deepStrictEqual(submitted, [])
  })

  it(`of a batch has 1 to ${BATCH_COMMANDS_MAX} commands, whose results come together in their order`, () => {
    const { answer, handlers, submitted } = setting()
    const { done, outcomes } = callback<SubmitBatchResponse>()
    const batch = (count: number) =>
      handlers.submitBatch(requestOf({ commands: Array.from({ length: count }, (_, i) => deposit(1, `c-${i}`)) }), done)
    for (const count of [0, BATCH_COMMANDS_MAX + 1]) batch(count)
    assert.deepStrictEqual(
      (outcomes.splice(0) as ReadonlyArray<ServiceError>).map(({ code }) => code),
      [status.INVALID_ARGUMENT, status.INVALID_ARGUMENT]
    )
    assert.deepStrictEqual(submitted, [])
    batch(BATCH_COMMANDS_MAX)
    const results = submitted.map(({ command }) => acked(command.command_id))
    answer(...results.slice(0, 7))
    assert.deepStrictEqual(outcomes, [])
    answer(...results.slice(7))
    assert.deepStrictEqual(outcomes, [{ results: results.map((bytes) => CommandResult.decode(bytes)) }])
  })

  it("for the head answers the head of the log and the first event that can be requested", () => {
    const { done, outcomes } = callback<GetHeadResponse>()
    setting().handlers.getHead(requestOf({}), done)
    assert.deepStrictEqual(outcomes, [
      { epoch: "e", fork: "f", head_seq: 40, checksum: 77, first_seq: 3, server_ts_ms: 1_000 }
    ])
  })
})
