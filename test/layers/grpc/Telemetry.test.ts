/** Metrics and spans of the backend channels: commands by outcome, lost streams, and reads that an open circuit refuses. */
import { status, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { Context, Effect, Exit, Layer, Logger, Scope, Stream, Tracer } from "effect"
import { assert, it } from "vitest"
import * as Channel from "../../../src/layers/grpc/Channel.ts"
import * as GrpcFeed from "../../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcSequencer from "../../../src/layers/grpc/GrpcSequencer.ts"
import {
  type GetHeadResponse,
  SequencerService,
  type StreamEventsResponse
} from "../../../src/proto/gateway/v1/sequencer.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { type Command, Sequencer } from "../../../src/services/Sequencer.ts"
import { CurrentTracer } from "../../../src/services/operations/Tracing.ts"
import { type Commands, type Events, hostile, type Unary } from "../../doubles/HostileBackend.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import { eventually } from "../../../verification/harness/Wait.ts"

const textOf = (meter: MetricsRegistry): string => Effect.runSync(meter.text)

/** Values by series. */
const valuesOf = (text: string): ReadonlyMap<string, number> =>
  new Map([...text.matchAll(/^([a-z].*) (\S+)$/gmu)].map((match) => [match[1]!, Number(match[2])]))

/** Runs a test against a backend, with a separate metrics registry. */
const against = async (
  sequencer: UntypedServiceImplementation,
  test: (meter: MetricsRegistry, endpoint: Channel.Endpoint, scope: Scope.Scope) => Promise<void>
) => {
  const backend = await hostile({ sequencer })
  const scope = Effect.runSync(Scope.make())
  await test(new MetricsRegistry(), backend.endpoint, scope).finally(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await backend.close()
  })
}

const command = (command_id: string): Command => ({
  command_id,
  user_id: "u",
  sub_account_address: "0x1",
  body: { type: "credit", reward_id: "r", asset: "USDC", amount: "1" }
})
const ack = (command_id: string) => ({
  outcome: { $case: "ack", value: { command_id, seq: 1, accepted_at_ms: 1, orders: [], duplicate: false } }
})
const refused = (command_id: string) => ({
  command_id,
  code: status.FAILED_PRECONDITION,
  message: "no",
  reason: "InsufficientBalance",
  metadata: {}
})
const refusal = (command_id: string) => ({ outcome: { $case: "status", value: refused(command_id) } })
/** A refusal that has a place in the journal. */
const noted = (command_id: string) => ({
  outcome: { $case: "ack", value: { ...ack(command_id).outcome.value, refusal: refused(command_id) } }
})

it("commands are counted and traced by their outcome", { timeout: 60_000 }, () => {
  const submitStream: Commands = (call) => {
    call.on("error", () => {})
    call.on("data", ({ commands }) => {
      for (const { command_id } of commands) {
        if (command_id === "lost") call.end()
        else {
          const result = command_id === "good" ? ack : command_id === "noted" ? noted : refusal
          call.write({ results: [result(command_id)] })
        }
      }
    })
  }
  return against({ submitStream }, async (meter, endpoint, scope) => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const built = await Effect.runPromise(
      Layer.build(GrpcSequencer.layer(endpoint)).pipe(
        Scope.provide(scope),
        Effect.provideService(CurrentMetricsRegistry, meter),
        Effect.provideService(CurrentTracer, tracer)
      )
    )
    const sequencer = Context.get(built, Sequencer)
    const submitted = (id: string) => Effect.runPromise(Effect.exit(sequencer.submit(command(id))))
    // the stream may take some time to open, which is not under test
    while (!Exit.isSuccess(await submitted("good")));
    const before = valuesOf(textOf(meter))
    const traced = spans.length
    await submitted("good")
    await submitted("bad")
    const exit = await submitted("noted")
    assert.strictEqual(Exit.isSuccess(exit) ? exit.value.refusal?.reason : "failed", "InsufficientBalance")
    await submitted("lost")
    const after = valuesOf(textOf(meter))
    const more = (series: string): number => (after.get(series) ?? 0) - (before.get(series) ?? 0)
    for (const [outcome, count] of Object.entries({ acknowledged: 1, refused: 2, unknown: 1 })) {
      assert.strictEqual(more(`gateway_commands_total{command="credit",outcome="${outcome}"}`), count, outcome)
    }
    assert.strictEqual(more("gateway_command_duration_seconds_count"), 4)
    assert.strictEqual(after.get("gateway_commands_pending"), 0)
    assert.strictEqual(more('gateway_stream_losses_total{stream="commands"}'), 1)
    assert.deepStrictEqual(
      spans.slice(traced).map(({ attributes, name, status: { _tag } }) => [name, ...attributes.values(), _tag]),
      [
        ["Sequencer.submit", "credit", "good", "acknowledged", "Ended"],
        ["Sequencer.submit", "credit", "bad", "refused", "refused", "Ended"],
        ["Sequencer.submit", "credit", "noted", "refused", "refused", "Ended"],
        ["Sequencer.submit", "credit", "lost", "unknown", "unknown", "Ended"]
      ]
    )
  })
})

it("streams that were lost are counted", { timeout: 60_000 }, () => {
  let connections = 0
  const heartbeat = { head_seq: 0, server_ts_ms: 0, refusing: [], warnings: [], checksum: undefined }
  const message: StreamEventsResponse = { epoch: "e", fork: "", events: [], checksums: [], heartbeat }
  const streamEvents: Events = (call) => {
    call.on("error", () => {})
    if (++connections <= 2) call.end()
    else call.write(message)
  }
  return against({ streamEvents }, async (meter, endpoint, scope) => {
    const channel = await Effect.runPromise(Channel.make(endpoint).pipe(Scope.provide(scope)))
    await Effect.runPromise(
      GrpcFeed.make(channel)
        .follow(undefined)
        .pipe(
          Stream.takeUntil(({ type }) => type === "heartbeat"),
          Stream.runDrain,
          Effect.provideService(CurrentMetricsRegistry, meter),
          Effect.provide(Logger.layer([]))
        )
    )
    assert.include(textOf(meter), 'gateway_stream_losses_total{stream="events"} 2\n')
  })
})

it("an open and a closed circuit are reported by the read that it guards", { timeout: 60_000 }, () => {
  const clock = stillClock(1_000_000)
  let answers = true
  const head: GetHeadResponse = {
    epoch: "e",
    fork: "",
    head_seq: 7,
    first_seq: 0,
    checksum: undefined,
    server_ts_ms: 0
  }
  const getHead: Unary = (_, answer) =>
    answers ? answer(null, head) : answer({ code: status.UNAVAILABLE, details: "no" })
  return against({ getHead }, async (meter, endpoint, scope) => {
    const channel = await Effect.runPromise(
      Channel.make(endpoint).pipe(Scope.provide(scope), Effect.provideService(CurrentMetricsRegistry, meter))
    )
    // a deadline without time for a retry
    const read = () =>
      Effect.runPromise(Effect.exit(channel.read(SequencerService.getHead, {}, 90)).pipe(Effect.provide(clock.layer)))
    const isOpen = (open: 0 | 1) =>
      eventually(
        `open ${open}`,
        async () => textOf(meter),
        (text) => text.includes(`gateway_breaker_open{breaker="/gateway.v1.Sequencer/GetHead"} ${open}\n`)
      )
    await read()
    await isOpen(0)
    answers = false
    for (let i = 0; i < Channel.READS_LOST_MAX; i++) await read()
    await isOpen(1)
    answers = true
    // until a read succeeds within its deadline
    for (let rest = 1, exit = await read(); !Exit.isSuccess(exit); rest++) {
      await Effect.runPromise(clock.set(1_000_000 + rest * 60_000))
      exit = await read()
    }
    await isOpen(0)
  })
})
