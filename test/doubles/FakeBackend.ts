/** A real backend program (journal, writer, gRPC) around the fake engine, and a raw client of it. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError
} from "@grpc/grpc-js"
import { Effect, Exit, Logger, Scope } from "effect"
import { serve, type ServeOptions, type Serving } from "../../src/backend/server/Serve.ts"
import {
  type Command,
  type CommandResult,
  SequencerClient,
  type StreamEventsResponse,
  type SubmitStreamRequest,
  type SubmitStreamResponse
} from "../../src/proto/gateway/v1/sequencer.ts"
import { type FakeConfig, fakeMachine, type FakeState, noReads } from "./FakeMachine.ts"

export const temporary = () => {
  const directory = mkdtempSync(join(tmpdir(), "backend-"))
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

export interface Running extends Serving {
  readonly client: SequencerClient
  readonly stop: () => Promise<void>
}

/** Starts a backend; `stop` closes its client and then itself. */
export const start = async (
  directory: string,
  { logged, ...options }: Partial<ServeOptions<FakeState, FakeConfig>> & { readonly logged?: Array<string> } = {}
): Promise<Running> => {
  const scope = Effect.runSync(Scope.make())
  const serving = await Effect.runPromise(
    serve({
      machine: fakeMachine,
      reads: () => noReads,
      config: { start: 0 },
      directory,
      host: "127.0.0.1",
      port: 0,
      secret: undefined,
      tls: undefined,
      ...options
    }).pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void)),
      Effect.provide(
        Logger.layer(logged === undefined ? [] : [Logger.make(({ message }) => logged.push(String(message)))])
      )
    )
  )
  const client = new SequencerClient(`127.0.0.1:${serving.port}`, credentials.createInsecure())
  const stop = async () => {
    client.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  return { ...serving, client, stop }
}

export const bearer = (secret: string): Metadata => {
  const metadata = new Metadata()
  metadata.set("authorization", `Bearer ${secret}`)
  return metadata
}

/** Sends commands on one stream and waits until each is answered; answers by command_id. */
export const submitAll = (
  client: SequencerClient,
  batches: ReadonlyArray<ReadonlyArray<Command>>
): Promise<Map<string, CommandResult>> =>
  new Promise((resolve, reject) => {
    const wanted = batches.flat().length
    const answers = new Map<string, CommandResult>()
    const call: ClientDuplexStream<SubmitStreamRequest, SubmitStreamResponse> = client.submitStream()
    let count = 0
    call.on("error", reject)
    call.on("data", (response: SubmitStreamResponse) => {
      for (const result of response.results) {
        count++
        answers.set(result.outcome!.value.command_id, result)
      }
      if (count === wanted) call.end()
    })
    call.on("end", () => resolve(answers))
    batches.forEach((commands, i) => call.write({ batch_id: i + 1, commands: [...commands] }))
  })

export interface Followed {
  readonly frames: ReadonlyArray<StreamEventsResponse>
  readonly error: ServiceError | undefined
}

/** Reads the event stream until it has brought `count` events, or ended. */
export const follow = (
  client: SequencerClient,
  from_seq: number,
  count: number,
  epoch = "",
  metadata = new Metadata(),
  position: { readonly fork: string; readonly checksum: number | undefined } = { fork: "", checksum: undefined }
): Promise<Followed> =>
  new Promise((resolve) => {
    const frames: Array<StreamEventsResponse> = []
    let seen = 0
    const call: ClientReadableStream<StreamEventsResponse> = client.streamEvents(
      { epoch, from_seq, ...position },
      metadata
    )
    call.on("error", (error: ServiceError) => resolve({ frames, error }))
    call.on("data", (frame: StreamEventsResponse) => {
      frames.push(frame)
      seen += frame.events.length
      if (seen >= count) {
        call.removeAllListeners("error")
        call.on("error", () => {})
        call.cancel()
        resolve({ frames, error: undefined })
      }
    })
  })
