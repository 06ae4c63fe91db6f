/** A backend that lies: it stands in front of an honest one, passes every call on, and changes what its lie says. */
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

/** What of the truth is changed; a frame or an answer may become none, or more than one. */
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

const honest: Change = (bytes) => [bytes]
const changing = <A>(message: Message<A>, change: ((value: A) => ReadonlyArray<A>) | undefined): Change =>
  change === undefined
    ? honest
    : (bytes) => change(message.decode(bytes)).map((value) => Buffer.from(message.encode(value).finish()))
const one = <A>(change: ((value: A) => A) | undefined) =>
  change === undefined ? undefined : (value: A) => [change(value)]

const same = (bytes: Buffer): Buffer => bytes

/** The definition with every message left as bytes. */
const raw = (service: ServiceDefinition): ServiceDefinition =>
  Object.fromEntries(
    Object.entries(service).map(([name, rpc]) => [
      name,
      { ...rpc, requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same }
    ])
  )

/** Sends what comes from one stream into another, and its error. */
const pass = (
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

export interface Liar {
  /** `host:port`. */
  readonly address: string
  readonly stop: () => void
}

/** Starts a liar in front of the backend at an address. */
export const start = async (address: string, lie: Lie): Promise<Liar> => {
  const client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 })
  const requests: Record<string, Change> = {
    [SequencerService.streamEvents.path]: changing(StreamEventsRequest, one(lie.subscription))
  }
  const responses: Record<string, Change> = {
    [SequencerService.streamEvents.path]: changing(StreamEventsResponse, lie.frame),
    [SequencerService.submitStream.path]: changing(SubmitStreamResponse, lie.answer),
    [SequencerService.getOrderBook.path]: changing(GetOrderBookResponse, one(lie.book))
  }
  const server = new Server()
  for (const definition of [raw(SequencerService), raw(RefereeService)]) {
    const handlers = Object.entries(definition).map(([name, { path, requestStream, responseStream }]) => {
      const asked = requests[path] ?? honest
      const answered = responses[path] ?? honest
      const unary = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
        client.makeUnaryRequest(path, same, same, call.request, new Metadata(), {}, (error, bytes) => {
          if (error === null) callback(null, answered(bytes!)[0]!)
          else callback({ code: error.code, details: error.details, metadata: error.metadata })
        })
      const reading = (call: ServerWritableStream<Buffer, Buffer>) =>
        pass(client.makeServerStreamRequest(path, same, same, asked(call.request)[0]!, new Metadata()), call, answered)
      const both = (call: ServerDuplexStream<Buffer, Buffer>) => {
        const other = client.makeBidiStreamRequest(path, same, same, new Metadata())
        call.on("data", (bytes: Buffer) => other.write(bytes))
        call.on("end", () => other.end())
        pass(other, call, answered)
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
