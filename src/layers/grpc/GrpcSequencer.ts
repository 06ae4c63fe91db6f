/**
 * The Sequencer port over gRPC: commands over one stream, reads over unary calls.
 * Source: docs/contract/boundary.md#sequencer, #errors, #retries.
 */
import { type ServiceError, status } from "@grpc/grpc-js"
import { Clock, Context, Effect, Exit, Layer, Random } from "effect"
import { type Details, isReason, type Reason } from "../../domain/Reason.ts"
import { refusalOf } from "../../domain/Grant.ts"
import { type CommandStatus, SequencerService } from "../../proto/gateway/v1/sequencer.ts"
import { RequestCaller } from "../../services/identity/RequestCaller.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import {
  type CommandAck,
  CommandRefused,
  CredentialUnchecked,
  OutcomeUnknown,
  overloaded,
  type ReadError,
  Sequencer,
  SequencerFault,
  SequencerUnavailable,
  type SubmitError
} from "../../services/Sequencer.ts"
import { type Channel, type Endpoint, isAbsent, make as makeChannel } from "./Channel.ts"
import type { Rpc } from "./Connection.ts"
import { CommandStream, type Outcome } from "./CommandStream.ts"
import * as CommandTelemetry from "./CommandTelemetry.ts"
import { allPages } from "./Pages.ts"
import { fromCommand, toAck } from "./WireCommands.ts"
import { toInstrument, toLevels, toOrder, toSubAccount } from "./WireRecords.ts"

/** Deadlines of the reads. Source: docs/contract/boundary.md#sequencer. */
const HEAD_MS = 1000
const BOOK_MS = 1000
const LIST_MS = 2000

/** Details that are integers, and are left out where they are none; all others remain text. */
const INTEGERS: { readonly [R in Reason]?: ReadonlyArray<string> } = {
  OrderVersionMismatch: ["version"],
  LimitReached: ["max"]
}

const INTEGER = /^[0-9]{1,15}$/u

const details = (reason: Reason, metadata: CommandStatus["metadata"]): Details => {
  const isInteger = (key: string) => INTEGERS[reason]?.includes(key) === true
  return Object.fromEntries(
    Object.entries(metadata)
      .filter(([key, value]) => !isInteger(key) || INTEGER.test(value))
      .map(([key, value]) => [key, isInteger(key) ? Number(value) : value])
  )
}

const refused = (refusal: CommandStatus, reason: Reason) =>
  new CommandRefused({ reason, message: refusal.message, details: details(reason, refusal.metadata) })

/** The error that a refusal in the stream means to the caller. Source: docs/contract/boundary.md#errors, #retries. */
export const errorOf = (refusal: CommandStatus): SubmitError => {
  const { code, message, reason } = refusal
  switch (code) {
    case status.INVALID_ARGUMENT:
    case status.OUT_OF_RANGE:
      return refused(refusal, isReason(reason) ? reason : "InvalidField")
    case status.FAILED_PRECONDITION:
    case status.ALREADY_EXISTS:
    case status.ABORTED:
    case status.NOT_FOUND:
      if (isReason(reason)) return refused(refusal, reason)
      return new SequencerFault({ cause: new Error(`${reason}: ${message}`) })
    case status.RESOURCE_EXHAUSTED:
    case status.UNAVAILABLE:
      return reason === overloaded.reason ? overloaded : new SequencerUnavailable({ cause: new Error(message) })
    case status.DEADLINE_EXCEEDED:
    case status.CANCELLED:
      return new OutcomeUnknown()
    default:
      return new SequencerFault({ cause: new Error(`status ${code}: ${message}`) })
  }
}

const resultOf = (outcome: Outcome): Exit.Exit<CommandAck, SubmitError> => {
  switch (outcome?.$case) {
    case "ack":
      try {
        const ack = toAck(outcome.value)
        if (outcome.value.refusal === undefined) return Exit.succeed(ack)
        const refusal = errorOf(outcome.value.refusal)
        return refusal instanceof CommandRefused ? Exit.succeed({ ...ack, refusal }) : Exit.fail(refusal)
      } catch (cause) {
        return Exit.fail(new SequencerFault({ cause }))
      }
    case "status":
      return Exit.fail(errorOf(outcome.value))
    case "unavailable":
      return Exit.fail(new SequencerUnavailable({ cause: outcome.cause }))
    case "fault":
      return Exit.fail(new SequencerFault({ cause: outcome.cause }))
    case "ended": {
      const { details, message, reason } = refusalOf(outcome.why)
      return Exit.fail(new CommandRefused({ reason, message: message ?? "", details }))
    }
    case "unchecked":
      return Exit.fail(new CredentialUnchecked())
    case "unknown":
    case undefined:
      return Exit.fail(new OutcomeUnknown())
  }
}

export const readErrorOf = (error: ServiceError): ReadError =>
  isAbsent(error) ? new SequencerUnavailable({ cause: error }) : new SequencerFault({ cause: error })

/** A record that violates the contract is a fault of the backend, not a defect of the gateway. */
const convert =
  <A, B>(f: (value: A) => B) =>
  (value: A): Effect.Effect<B, SequencerFault> =>
    Effect.try({ try: () => f(value), catch: (cause) => new SequencerFault({ cause }) })

/** The port over a channel. */
export const make = Effect.fnUntraced(function* (channel: Channel) {
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const meter = yield* CurrentMetricsRegistry
  const losses = meter.counter("gateway_stream_losses_total", { stream: "commands" })
  const stream = yield* Effect.acquireRelease(
    Effect.sync(
      () => new CommandStream(channel, { onLost: () => losses.add(), chance: () => random.nextDoubleUnsafe() })
    ),
    (stream) => Effect.sync(() => stream.close())
  )
  meter.gauge("gateway_commands_pending", {}, () => stream.size)
  const telemetry = yield* CommandTelemetry.make

  const read = <Req, Res, A>(
    rpc: Rpc<Req, Res>,
    request: Req,
    deadline_ms: number,
    f: (response: Res) => A
  ): Effect.Effect<A, ReadError> =>
    channel.read(rpc, request, deadline_ms).pipe(Effect.mapError(readErrorOf), Effect.flatMap(convert(f)))

  const pages = <Res extends { readonly next_page_token: string; readonly as_of_seq: number }, A>(
    page: (page_token: string) => Effect.Effect<Res, ReadError>,
    items: (response: Res) => ReadonlyArray<A>
  ) => allPages(page, items, (cause) => new SequencerFault({ cause }))

  return Sequencer.of({
    submit: (command) =>
      Effect.withFiber((fiber) =>
        Effect.callback<CommandAck, SubmitError>((resume) => {
          const proto = fromCommand(command, clock.currentTimeMillisUnsafe())
          const done = telemetry(fiber, command)
          const withdraw = stream.submit(
            proto,
            (outcome) => {
              const result = resultOf(outcome)
              done(result)
              resume(result)
            },
            Context.get(fiber.context, RequestCaller)?.grant
          )
          return Effect.sync(withdraw)
        })
      ),
    commands_down_ms: () => stream.down_ms,
    orderBook: (symbol) =>
      read(SequencerService.getOrderBook, { symbol, depth: 0 }, BOOK_MS, (response) => ({
        bids: toLevels(response.bids),
        asks: toLevels(response.asks),
        book_seq: response.book_seq,
        mts: response.mts,
        as_of_seq: response.as_of_seq
      })),
    instruments: read(SequencerService.listInstruments, {}, LIST_MS, (response) =>
      response.instruments.map(toInstrument)
    ),
    openOrders: pages(
      (page_token) => read(SequencerService.getOpenOrders, { page_token }, LIST_MS, (response) => response),
      (response) => response.orders
    ).pipe(
      Effect.flatMap(
        convert(({ all, as_of_seq }) => ({
          orders: all.map((order) => ({ user_id: order.user_id, order: toOrder(order) })),
          as_of_seq
        }))
      )
    ),
    subAccounts: (user_id) =>
      pages(
        (page_token) =>
          read(SequencerService.listSubAccounts, { user_id, page_token }, LIST_MS, (response) => response),
        (response) => response.sub_accounts
      ).pipe(Effect.flatMap(convert(({ all }) => all.map(toSubAccount)))),
    head: read(
      SequencerService.getHead,
      {},
      HEAD_MS,
      ({ checksum, epoch, first_seq, fork, head_seq, server_ts_ms }) => ({
        epoch,
        head_seq,
        server_ts_ms,
        fork: fork === "" ? undefined : fork,
        checksum,
        first_seq: first_seq === 0 ? undefined : first_seq
      })
    )
  })
})

export const layer = (endpoint: Endpoint): Layer.Layer<Sequencer> =>
  Layer.effect(Sequencer, Effect.flatMap(makeChannel(endpoint, "sequencer"), make))
