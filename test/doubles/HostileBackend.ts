/** A backend that responds as a test sets: garbage, endless lists, unexpected statuses, or nothing. */
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation
} from "@grpc/grpc-js"
import { Effect, Exit, Scope } from "effect"
import * as Channel from "../../src/layers/grpc/Channel.ts"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import {
  SequencerService,
  type StreamEventsRequest,
  type SubmitStreamRequest
} from "../../src/proto/gateway/v1/sequencer.ts"

/** Bytes are sent unchanged; other values are encoded by the contract. */
const raw = (service: ServiceDefinition): ServiceDefinition =>
  Object.fromEntries(
    Object.entries(service).map(([name, rpc]) => [
      name,
      {
        ...rpc,
        responseSerialize: (value: unknown) => (Buffer.isBuffer(value) ? value : rpc.responseSerialize(value))
      }
    ])
  )

export type Unary = (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) => void
export type Events = (call: ServerWritableStream<StreamEventsRequest, unknown>) => void
export type Commands = (call: ServerDuplexStream<SubmitStreamRequest, unknown>) => void

export interface Hostile {
  readonly endpoint: Channel.RemoteEndpoint
  readonly channel: Channel.Channel
  readonly close: () => Promise<void>
}

/** Starts the backend on a free port, and opens a channel to it. RPCs without a handler return UNIMPLEMENTED. */
export const hostile = async (handlers: {
  readonly sequencer?: UntypedServiceImplementation
  readonly referee?: UntypedServiceImplementation
}): Promise<Hostile> => {
  const server = new Server({ "grpc.max_send_message_length": -1 })
  server.addService(raw(SequencerService as unknown as ServiceDefinition), handlers.sequencer ?? {})
  server.addService(raw(RefereeService as unknown as ServiceDefinition), handlers.referee ?? {})
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error)
    )
  )
  const endpoint = { address: `127.0.0.1:${port}`, secret: undefined, tls: undefined }
  const scope = Effect.runSync(Scope.make())
  const channel = await Effect.runPromise(Channel.make(endpoint).pipe(Scope.provide(scope)))
  const close = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    server.forceShutdown()
  }
  return { endpoint, channel, close }
}
