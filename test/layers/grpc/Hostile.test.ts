/**
 * A hostile backend cannot make the gateway crash, hang or grow without limit.
 * Source: docs/contract/boundary.md.
 */
import { status, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { Cause, Duration, Effect, Exit, Fiber, Logger, Stream } from "effect"
import { assert, describe, it } from "vitest"
import { READS_LOST_MAX, READS_REST } from "../../../src/layers/grpc/Channel.ts"
import { MESSAGE_BYTES_MAX } from "../../../src/layers/grpc/GrpcConnection.ts"
import { CommandStream, type Outcome } from "../../../src/layers/grpc/CommandStream.ts"
import * as GrpcFeed from "../../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcReferee from "../../../src/layers/grpc/GrpcReferee.ts"
import * as GrpcSequencer from "../../../src/layers/grpc/GrpcSequencer.ts"
import { PAGES_MAX } from "../../../src/layers/grpc/Pages.ts"
import {
  type GetHeadResponse,
  SequencerService,
  type StreamEventsResponse
} from "../../../src/proto/gateway/v1/sequencer.ts"
import type { FeedFrame } from "../../../src/services/Feed.ts"
import { deposit } from "../../doubles/FakeMachine.ts"
import { type Commands, type Events, type Hostile, hostile, type Unary } from "../../doubles/HostileBackend.ts"
import { stillClock } from "../../doubles/StillClock.ts"

/** A response that no decoder accepts: a field longer than the message. */
const GARBAGE = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07, 0x01])
const HOUR_MS = 3_600_000
const HEAD: GetHeadResponse = {
  epoch: "e",
  fork: "",
  head_seq: 7,
  first_seq: 0,
  checksum: undefined,
  server_ts_ms: 0
}

const against = async (
  handlers: { readonly sequencer?: UntypedServiceImplementation; readonly referee?: UntypedServiceImplementation },
  test: (backend: Hostile) => Promise<void>
) => {
  const backend = await hostile(handlers)
  await test(backend).finally(backend.close)
}

/** The head from the port, or the tag of the error. A defect fails the test. */
const head = async ({ channel }: Hostile): Promise<number | string> => {
  const exit = await Effect.runPromiseExit(
    Effect.scoped(Effect.flatMap(GrpcSequencer.make(channel), (sequencer) => sequencer.head))
  )
  if (Exit.isSuccess(exit)) return exit.value.head_seq
  const [reason] = exit.cause.reasons
  if (reason === undefined || !Cause.isFailReason(reason)) return assert.fail(Cause.pretty(exit.cause))
  return reason.error._tag
}

// one after another: what runs beside a read can keep a busy machine from its response within the deadline of 2 s
describe("a read", { timeout: 60_000 }, () => {
  it("without a response ends at its deadline; after many of them reads fail at once until one succeeds", () => {
    const clock = stillClock(1_000_000)
    let answers = false
    let waited = 0
    const getHead: Unary = (call, answer) => {
      if (Number(call.getDeadline()) > Date.now() + HOUR_MS / 2) waited++
      if (answers) answer(null, HEAD)
    }
    return against({ sequencer: { getHead } }, async ({ channel }) => {
      const read = (deadline_ms: number) =>
        Effect.runPromise(
          Effect.result(channel.read(SequencerService.getHead, {}, deadline_ms)).pipe(Effect.provide(clock.layer))
        )
      const codeOf = async (deadline_ms: number) => {
        const result = await read(deadline_ms)
        return result._tag === "Success" ? status.OK : result.failure.code
      }
      for (let i = 0; i < READS_LOST_MAX; i++) assert.strictEqual(await codeOf(20), status.DEADLINE_EXCEEDED)
      // a read that is sent would wait for an hour
      assert.strictEqual(await codeOf(HOUR_MS), status.UNAVAILABLE)
      answers = true
      assert.strictEqual(await codeOf(HOUR_MS), status.UNAVAILABLE)
      assert.strictEqual(waited, 0)
      await Effect.runPromise(clock.set(1_000_000 + Duration.toMillis(READS_REST)))
      assert.strictEqual(await codeOf(HOUR_MS), status.OK)
      assert.strictEqual(await codeOf(HOUR_MS), status.OK)
    })
  })

  it("with an error status fails as unavailable or as a fault, and the next one is unaffected", () => {
    let code: status = status.OK
    const getHead: Unary = (_, answer) => (code === status.OK ? answer(null, HEAD) : answer({ code, details: "no" }))
    return against({ sequencer: { getHead } }, async (backend) => {
      const absent = [status.UNAVAILABLE, status.RESOURCE_EXHAUSTED, status.DEADLINE_EXCEEDED, status.CANCELLED]
      for (let given = 1; given <= 16; given++) {
        code = given
        const tag = absent.includes(given) ? "SequencerUnavailable" : "SequencerFault"
        assert.strictEqual(await head(backend), tag, status[given])
      }
      code = status.OK
      assert.strictEqual(await head(backend), 7)
    })
  })

  it("with an unreadable or oversized response fails", () => {
    let bytes: Buffer | undefined = GARBAGE
    const getHead: Unary = (_, answer) => answer(null, bytes ?? HEAD)
    return against({ sequencer: { getHead } }, async (backend) => {
      assert.strictEqual(await head(backend), "SequencerFault")
      bytes = Buffer.alloc(MESSAGE_BYTES_MAX + 1)
      assert.strictEqual(await head(backend), "SequencerUnavailable")
      bytes = undefined
      assert.strictEqual(await head(backend), 7)
    })
  })

  it("with a response of several MiB succeeds: a list of a whole exchange is large", () => {
    const epoch = "e".repeat(5 * 1024 * 1024)
    const getHead: Unary = (_, answer) => answer(null, { ...HEAD, epoch })
    return against({ sequencer: { getHead } }, async ({ channel }) => {
      const response = await Effect.runPromise(channel.read(SequencerService.getHead, {}, HOUR_MS))
      assert.strictEqual(response.epoch.length, epoch.length)
    })
  })

  it("of a list with endless pages is aborted", () => {
    let pages = 0
    const endless: Unary = (_, answer) => answer(null, { orders: [], as_of_seq: 1, next_page_token: String(++pages) })
    const positions: Unary = (_, answer) => answer(null, { positions: [], as_of_seq: 1, next_page_token: "more" })
    const handlers = { sequencer: { getOpenOrders: endless }, referee: { listPositions: positions } }
    return against(handlers, async ({ channel }) => {
      const tagOf = <A, E extends { readonly _tag: string }>(read: Effect.Effect<A, E>) =>
        Effect.runPromise(Effect.map(Effect.flip(read), ({ _tag }) => _tag))
      const open = Effect.scoped(Effect.flatMap(GrpcSequencer.make(channel), (sequencer) => sequencer.openOrders))
      assert.strictEqual(await tagOf(open), "SequencerFault")
      assert.strictEqual(pages, PAGES_MAX)
      const held = GrpcReferee.make(channel).positions({
        user_id: "u",
        sub_account_address: undefined,
        symbol: undefined
      })
      assert.strictEqual(await tagOf(held), "RefereeFault")
    })
  })
})

describe.concurrent("the event stream", { timeout: 60_000 }, () => {
  const event = (seq: number, body: object) => ({ seq, ts_ms: 0, step: seq, event: body })
  const liquidation = { symbol: "BTC-USDC", side: 1, size: "1", bust_price: "1" }
  const message = (events: ReadonlyArray<object>) => {
    const rest: Omit<StreamEventsResponse, "events"> = { epoch: "e", fork: "", checksums: [], heartbeat: undefined }
    return { ...rest, events }
  }
  const events = (...seqs: ReadonlyArray<number>) =>
    message(seqs.map((seq) => event(seq, { $case: "liquidation_started", value: liquidation })))
  /** A body of the named kind, without its required fields. */
  const hollow = (seq: number) => message([event(seq, { $case: "adl_changed", value: {} })])

  /** Follows the stream over the connections that the backend serves in turn, repeating the last one, until `seq` arrives. */
  const followed = (connections: ReadonlyArray<Events>, seq: number) => {
    let next = 0
    const asked: Array<number> = []
    const streamEvents: Events = (call) => {
      asked.push(call.request.from_seq)
      call.on("error", () => {})
      connections[Math.min(next++, connections.length - 1)]!(call)
    }
    const seen: Array<number> = []
    let losses = 0
    const take = (frame: FeedFrame) => {
      if (frame.type === "interrupted") losses++
      if (frame.type === "events") for (const { seq } of frame.events) seen.push(seq)
    }
    return new Promise<{ seen: ReadonlyArray<number>; asked: ReadonlyArray<number>; losses: number }>(
      (resolve, reject) =>
        void against({ sequencer: { streamEvents } }, async ({ channel }) => {
          const reading = Effect.runFork(
            GrpcFeed.make(channel)
              .follow(undefined)
              .pipe(
                Stream.tap((frame) => Effect.sync(() => take(frame))),
                Stream.takeUntil(() => seen.at(-1) === seq),
                Stream.runDrain,
                Effect.provide(Logger.layer([]))
              )
          )
          await Effect.runPromise(Fiber.join(reading))
          resolve({ seen, asked, losses })
        }).catch(reject)
    )
  }

  it("continues without a gap after garbage, gaps, unreadable records, error statuses and sudden ends", async () => {
    const result = await followed(
      [
        (call) => (call.write(events(1)), call.write(GARBAGE)),
        (call) => (call.write(events(2)), call.write(events(9)), call.write(events(3))),
        (call) => call.write(hollow(3)),
        (call) => call.emit("error", { code: status.INTERNAL, details: "no" }),
        (call) => call.emit("error", { code: status.UNAUTHENTICATED, details: "no" }),
        (call) => call.end(),
        (call) => (call.write(events(1, 2, 3)), call.write(events(2, 3, 4)))
      ],
      4
    )
    assert.deepStrictEqual(result.seen, [1, 2, 3, 4])
    assert.isAtLeast(result.losses, 6)
    for (const [i, from] of result.asked.entries()) assert.isAtLeast(from, result.asked[i - 1] ?? 1)
  })

  it("is held back while its reader does not read, and delivers every event afterwards", async () => {
    const count = 2_000
    let written = 0
    const padding = { ...liquidation, symbol: "S".repeat(16_384) }
    const streamEvents: Events = (call) => {
      call.on("error", () => {})
      const write = (): void => {
        while (written < count) {
          const body = { $case: "liquidation_started", value: padding }
          if (!call.write(message([event(++written, body)]))) {
            return void call.once("drain", write)
          }
        }
      }
      write()
    }
    await against({ sequencer: { streamEvents } }, async ({ channel }) => {
      const seen: Array<number> = []
      const writtenMeanwhile: Array<number> = []
      const take = (frame: FeedFrame) =>
        Effect.gen(function* () {
          if (frame.type !== "events") return assert.fail(frame.type)
          for (const { seq } of frame.events) seen.push(seq)
          // the first frame is not released before the backend has stopped
          while (
            seen.length === 1 &&
            (writtenMeanwhile.length < 3 || writtenMeanwhile.at(-1) !== writtenMeanwhile.at(-3))
          ) {
            yield* Effect.sleep("20 millis")
            writtenMeanwhile.push(written)
          }
        })
      await Effect.runPromise(
        GrpcFeed.make(channel)
          .follow(undefined)
          .pipe(
            Stream.tap(take),
            Stream.takeUntil(() => seen.length === count),
            Stream.runDrain
          )
      )
      assert.isBelow(writtenMeanwhile.at(-1)!, count / 2)
      assert.deepStrictEqual(
        seen,
        Array.from({ length: count }, (_, i) => i + 1)
      )
    })
  })

  it("is reopened if it brings nothing, not even a heartbeat", async () => {
    const result = await followed([() => {}, (call) => call.write(events(1))], 1)
    assert.deepStrictEqual(result.seen, [1])
    assert.isAtLeast(result.losses, 1)
  })
})

describe.concurrent("the stream of commands", { timeout: 60_000 }, () => {
  const ack = (command_id: string) => ({
    outcome: { $case: "ack", value: { command_id, seq: 1, accepted_at_ms: 1, orders: [], duplicate: false } }
  })
  const submitting = async (
    submitStream: Commands,
    test: (submit: (id: string) => Promise<Outcome>) => Promise<void>
  ): Promise<void> =>
    against({ sequencer: { submitStream } }, async ({ channel }) => {
      const stream = new CommandStream(channel, { chance: () => 0.5 })
      const submit = async (id: string) => {
        // the stream may take some time to open, which is not under test
        while (!stream.connected) await new Promise((resolve) => setTimeout(resolve, 5))
        return new Promise<Outcome>((resolve) => void stream.submit(deposit(1, id), resolve))
      }
      await test(submit).finally(() => stream.close())
    })

  it("with foreign, repeated and empty results: each command receives the first result of its own id", () =>
    submitting(
      (call) => {
        call.on("error", () => {})
        call.on("data", ({ commands }) => {
          for (const { command_id } of commands) {
            call.write({ results: [ack("nobody"), { outcome: undefined }, ack(command_id), ack(command_id)] })
          }
        })
      },
      async (submit) => {
        for (const id of ["a", "b", "c"]) assert.strictEqual((await submit(id))?.$case, "ack", id)
      }
    ))

  it("with results for other commands only: the outcome is unknown, and the stream is reopened", () => {
    let streams = 0
    return submitting(
      (call) => {
        const bad = ++streams === 1
        const noise = bad ? setInterval(() => call.write({ results: [ack("nobody")] }), 100) : undefined
        call.on("error", () => {})
        call.on("cancelled", () => clearInterval(noise))
        call.on("data", ({ commands }) => {
          for (const { command_id } of commands) if (!bad) call.write({ results: [ack(command_id)] })
        })
      },
      async (submit) => {
        assert.strictEqual((await submit("first"))?.$case, "unknown")
        for (let i = 0, outcome: Outcome; outcome?.$case !== "ack"; i++) outcome = await submit(`then-${i}`)
        assert.isAtLeast(streams, 2)
      }
    )
  })

  it("that ends with any status: written commands are unknown, or a fault if this gateway is refused altogether", async () => {
    const barred: ReadonlyArray<status> = [status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.UNIMPLEMENTED]
    for (const code of [status.INTERNAL, status.UNKNOWN, status.RESOURCE_EXHAUSTED, status.OUT_OF_RANGE, ...barred]) {
      await submitting(
        (call) => {
          call.on("error", () => {})
          call.on("data", () => call.emit("error", { code, details: "no" }))
        },
        async (submit) =>
          assert.strictEqual((await submit("one"))?.$case, barred.includes(code) ? "fault" : "unknown", status[code])
      )
    }
  })
})
