/** A backend that violates the contract: a proxy in front of a conforming single that changes messages. */
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type ServiceError
} from "@grpc/grpc-js"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import {
  GetOrderBookResponse,
  SequencerService,
  StreamEventsRequest,
  StreamEventsResponse,
  SubmitStreamResponse
} from "../../src/proto/gateway/v1/sequencer.ts"

/** The changes of messages; a frame or result may be dropped or repeated. */
export interface Lie {
  readonly frame?: (frame: StreamEventsResponse) => ReadonlyArray<StreamEventsResponse>
  readonly answer?: (answer: SubmitStreamResponse) => ReadonlyArray<SubmitStreamResponse>
  readonly subscription?: (request: StreamEventsRequest) => StreamEventsRequest
  readonly book?: (book: GetOrderBookResponse) => GetOrderBookResponse
}

interface Message<A> {
  readonly encode: (value: A) => { readonly finish: () => Uint8Array }
  readonly decode: (bytes: Buffer) => A
}
type Change = (bytes: Buffer) => ReadonlyArray<Buffer>

const unchanged: Change = (bytes) => [bytes]
const changing = <A>(message: Message<A>, change: ((value: A) => ReadonlyArray<A>) | undefined): Change =>
  change === undefined
    ? unchanged
    : (bytes) => change(message.decode(bytes)).map((value) => Buffer.from(message.encode(value).finish()))
const single = <A>(change: ((value: A) => A) | undefined) =>
  change === undefined ? undefined : (value: A) => [change(value)]

const same = (bytes: Buffer): Buffer => bytes

/** The service definition with every message as raw bytes. */
const raw = (service: ServiceDefinition): ServiceDefinition =>
  Object.fromEntries(
    Object.entries(service).map(([name, rpc]) => [
      name,
      { ...rpc, requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same }
    ])
  )

/** Forwards single stream, and its error, into another. */
const forward = (
  from: ClientReadableStream<Buffer>,
  to: ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>,
  change: Change
): void => {
  from.on("data", (bytes: Buffer) => {
    for (const changed of change(bytes)) to.write(changed)
  })
  from.on("error", ({ code, details }: ServiceError) => to.emit("error", { code, details }))
  from.on("end", () => to.end())
  to.on("cancelled", () => {
    from.removeAllListeners("error")
    from.on("error", () => {})
    from.cancel()
  })
}

export interface LyingBackend {
  /** `host:port`. */
  readonly address: string
  readonly stop: () => void
}

/** Starts the proxy in front of the backend at an address. */
export const start = async (address: string, lie: Lie): Promise<LyingBackend> => {
  const client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 })
  const requests: Record<string, Change> = {
    [SequencerService.streamEvents.path]: changing(StreamEventsRequest, single(lie.subscription))
  }
  const responses: Record<string, Change> = {
    [SequencerService.streamEvents.path]: changing(StreamEventsResponse, lie.frame),
    [SequencerService.submitStream.path]: changing(SubmitStreamResponse, lie.answer),
    [SequencerService.getOrderBook.path]: changing(GetOrderBookResponse, single(lie.book))
  }
  const server = new Server()
  for (const definition of [raw(SequencerService), raw(RefereeService)]) {
    const handlers = Object.entries(definition).map(([name, { path, requestStream, responseStream }]) => {
      const request = requests[path] ?? unchanged
      const response = responses[path] ?? unchanged
      const unary = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
        client.makeUnaryRequest(path, same, same, call.request, new Metadata(), {}, (error, bytes) => {
          if (error === null) callback(null, response(bytes!)[0]!)
          else callback({ code: error.code, details: error.details, metadata: error.metadata })
        })
      const reading = (call: ServerWritableStream<Buffer, Buffer>) =>
        forward(
          client.makeServerStreamRequest(path, same, same, request(call.request)[0]!, new Metadata()),
          call,
          response
        )
      const both = (call: ServerDuplexStream<Buffer, Buffer>) => {
        const other = client.makeBidiStreamRequest(path, same, same, new Metadata())
        call.on("data", (bytes: Buffer) => other.write(bytes))
        call.on("end", () => other.end())
        forward(other, call, response)
      }
      return [name, requestStream ? both : responseStream ? reading : unary]
    })
    server.addService(definition, Object.fromEntries(handlers))
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error)
    )
  )
  const stop = () => {
    server.forceShutdown()
    client.close()
  }
  return { address: `127.0.0.1:${port}`, stop }
}
