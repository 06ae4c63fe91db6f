/**
 * The Sequencer service, on top of the writer, the event stream and the engine's reads.
 *
 * Stream commands are journaled in their wire encoding, and a result is encoded once: the journal and the response
 * contain the same bytes.
 */
import {
  type handleUnaryCall,
  Metadata,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation
} from "@grpc/grpc-js"
import {
  Command,
  CommandResult,
  CommandStatus,
  type GetHeadResponse,
  SequencerService,
  type SubmitBatchRequest,
  type SubmitBatchResponse,
  type SubmitRequest,
  type SubmitResponse
} from "../../proto/gateway/v1/sequencer.ts"
import type { EventLog } from "../journal/EventLog.ts"
import { WireReader } from "../../node/WireReader.ts"
import { WireWriter } from "../../node/WireWriter.ts"
import { type EventCall, type EventStream, fail } from "./EventStream.ts"
import { DRAIN_MS } from "./GrpcServer.ts"
import type { Caller, Submitter } from "./Writer.ts"

/** Source: docs/contract/boundary.md#sequencer. */
export const BATCH_COMMANDS_MAX = 20
/** Source: docs/contract/boundary.md#sequencer. */
export const STREAM_COMMANDS_MAX = 1024
/** Interval at which a stream's clock is sent, in ms. Source: docs/contract/boundary.md#the-clock-of-a-stream. */
export const CLOCK_MS = 1000

/** Interval at which a stop checks whether the streams have ended, in ms. */
const DRAIN_STEP_MS = 20

/** A command with its wire encoding. */
interface Received {
  readonly command: Command
  readonly bytes: Uint8Array
}

/** Field 2 of SubmitStreamRequest, and fields 1 and 2 of SubmitStreamResponse. */
const COMMANDS_TAG = 18
const RESULTS_TAG = 10
const CLOCK_TAG = 16

const decodeStreamRequest = (message: Buffer): ReadonlyArray<Received> => {
  const reader = new WireReader(message)
  const received: Array<Received> = []
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag === COMMANDS_TAG) {
      const bytes = reader.bytes()
      received.push({ command: Command.decode(new WireReader(bytes)), bytes })
    } else reader.skip(tag & 7)
  }
  return received
}

const identity = (bytes: Buffer): Buffer => bytes

/** The generated definition with the two most frequent messages left as bytes. */
export const service = {
  ...SequencerService,
  submitStream: {
    ...SequencerService.submitStream,
    requestDeserialize: decodeStreamRequest,
    responseSerialize: identity
  },
  streamEvents: { ...SequencerService.streamEvents, responseSerialize: identity }
} satisfies ServiceDefinition

const writer = new WireWriter()

const encodeResponse = (results: ReadonlyArray<Uint8Array>, clock_ms: number): Buffer => {
  for (const result of results) writer.uint32(RESULTS_TAG).bytes(result)
  writer.uint32(CLOCK_TAG).int64(clock_ms)
  const bytes = writer.finish()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Converts a refusal to the error of a unary call: the reason and the encoded refusal are in the trailing metadata. */
export const toError = (refusal: CommandStatus) => {
  const metadata = new Metadata()
  metadata.set("error-reason", refusal.reason)
  metadata.set("error-details-bin", Buffer.from(CommandStatus.encode(refusal).finish()))
  return { code: refusal.code as status, details: refusal.message, metadata }
}

/** Submits the commands of a unary call and returns their results together. */
const submitAll = (
  writer: Submitter,
  commands: ReadonlyArray<Command>,
  done: (results: Array<CommandResult>) => void
): void => {
  const caller: Caller = {
    results: [],
    flush: () => {
      if (caller.results.length < commands.length) return
      done(caller.results.splice(0).map((bytes) => CommandResult.decode(bytes)))
    }
  }
  for (const command of commands) writer.submit(caller, command, Command.encode(command).finish())
}

export interface SequencerOptions {
  readonly writer: Submitter
  readonly log: EventLog
  readonly events: EventStream
  readonly now: () => number
  /** Seq of the first event that subscribers can request. */
  readonly firstSeq: () => number
  /** Monotonic time in ms, that of the writer. */
  readonly monotonic?: () => number
}

/** The rpcs for commands and events; reads are separate. */
export const make = ({ writer, log, events, now, firstSeq, monotonic = () => performance.now() }: SequencerOptions) => {
  const streams = new Set<ServerDuplexStream<ReadonlyArray<Received>, Buffer>>()

  const submit = (call: ServerUnaryCall<SubmitRequest, SubmitResponse>, callback: sendUnaryData<SubmitResponse>) => {
    const { command } = call.request
    if (command === undefined) return callback({ code: status.INVALID_ARGUMENT, details: "the command is missing" })
    submitAll(writer, [command], ([result]) => {
      const outcome = result?.outcome
      if (outcome?.$case === "ack") callback(null, { ack: outcome.value })
      else if (outcome?.$case === "status") callback(toError(outcome.value))
      else callback({ code: status.INTERNAL, details: "no outcome" })
    })
  }

  const submitBatch = (
    call: ServerUnaryCall<SubmitBatchRequest, SubmitBatchResponse>,
    callback: sendUnaryData<SubmitBatchResponse>
  ) => {
    const { commands } = call.request
    if (commands.length < 1 || commands.length > BATCH_COMMANDS_MAX) {
      return callback({ code: status.INVALID_ARGUMENT, details: `a batch holds 1 to ${BATCH_COMMANDS_MAX} commands` })
    }
    submitAll(writer, commands, (results) => callback(null, { results }))
  }

  const submitStream = (call: ServerDuplexStream<ReadonlyArray<Received>, Buffer>) => {
    let unanswered = 0
    let ended = false
    const opened_ms = monotonic()
    const send = (results: ReadonlyArray<Uint8Array>): boolean =>
      !call.writable || call.write(encodeResponse(results, Math.floor(monotonic() - opened_ms)))
    const close = () => {
      if (ended && unanswered === 0) call.end()
    }
    const caller: Caller = {
      results: [],
      flush: () => {
        const results = caller.results.splice(0)
        unanswered -= results.length
        // The client does not read its results: accept no more commands until it does.
        if (!send(results)) call.pause()
        close()
      }
    }
    streams.add(call)
    const timer = setInterval(() => {
      // an unread stream needs no clock
      if (!call.isPaused()) send([])
    }, CLOCK_MS)
    const leave = () => {
      clearInterval(timer)
      streams.delete(call)
    }
    call.on("close", leave)
    call.on("cancelled", leave)
    call.on("drain", () => call.resume())
    send([])
    call.on("data", (received: ReadonlyArray<Received>) => {
      if (received.length > STREAM_COMMANDS_MAX) {
        const details = `a message holds at most ${STREAM_COMMANDS_MAX} commands`
        return void fail(call, status.INVALID_ARGUMENT, details)
      }
      unanswered += received.length
      for (const { command, bytes } of received) {
        const { not_after_ms } = command
        writer.submit(caller, command, bytes, not_after_ms === undefined ? undefined : opened_ms + not_after_ms)
      }
    })
    call.on("end", () => {
      ended = true
      close()
    })
  }

  const getHead: handleUnaryCall<unknown, GetHeadResponse> = (_call, callback) =>
    callback(null, {
      epoch: log.epoch,
      fork: log.fork,
      head_seq: log.head,
      checksum: log.checksumAt(log.head),
      first_seq: firstSeq(),
      server_ts_ms: now()
    })

  return {
    handlers: {
      submit,
      submitBatch,
      submitStream,
      streamEvents: (call: EventCall) => events.subscribe(call),
      getHead
    } satisfies UntypedServiceImplementation,
    /** Waits until the clients have ended their command streams, at most {@link DRAIN_MS}. Further commands are returned. */
    drained: async () => {
      const until_ms = monotonic() + DRAIN_MS
      while (streams.size > 0 && monotonic() < until_ms)
        await new Promise((resolve) => setTimeout(resolve, DRAIN_STEP_MS))
    },
    /** Ends the command streams; unanswered commands get no result. */
    stop: () => {
      for (const call of streams) fail(call, status.UNAVAILABLE, "the backend is stopping")
    }
  }
}
