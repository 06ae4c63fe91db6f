/** Health and reflection, tested with their generated clients. */
import { fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status
} from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import {
  HealthClient,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Serving
} from "../../../src/proto/grpc/health/v1/health.ts"
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService
} from "../../../src/proto/grpc/reflection/v1/reflection.ts"
import { bearer, type Running, start, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../doubles/FakeMachine.ts"

let place: ReturnType<typeof temporary>
let running: Running | undefined
const clients: Array<Client> = []
beforeEach(() => {
  place = temporary()
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await running?.stop()
  running = undefined
  place.remove()
})
const boot = async (options?: Parameters<typeof start>[1]) => (running = await start(place.directory, options))
const kept = <C extends Client>(client: C): C => {
  clients.push(client)
  return client
}

describe("health", () => {
  const connect = (port: number) => kept(new HealthClient(`127.0.0.1:${port}`, credentials.createInsecure()))
  const check = (client: HealthClient, service: string) =>
    new Promise<Serving | status>((resolve) =>
      client.check({ service }, (error, response) => resolve(error === null ? response.status : error.code))
    )
  const watch = (client: HealthClient, service: string) => {
    const seen: Array<Serving> = []
    let call: ClientReadableStream<HealthCheckResponse> | undefined
    const ended = new Promise<void>((resolve) => {
      call = client.watch({ service })
      call.on("data", ({ status }: HealthCheckResponse) => seen.push(status))
      call.on("end", () => resolve())
      call.on("error", () => resolve())
    })
    return { call: call!, seen, ended }
  }

  it("reports the server and each service without a secret, and no other service", async () => {
    const { port } = await boot({ secret: "shared-secret" })
    const client = connect(port)
    for (const service of ["", "gateway.v1.Sequencer", "gateway.v1.Referee"])
      assert.strictEqual(await check(client, service), Serving.SERVING, service)
    assert.strictEqual(await check(client, "gateway.v1.Nothing"), status.NOT_FOUND)
  })

  it("sends the current status to a watch, and the final one", async () => {
    const { port } = await boot()
    const client = connect(port)
    const known = watch(client, "gateway.v1.Sequencer")
    const unknown = watch(client, "gateway.v1.Nothing")
    await Promise.all([known, unknown].map(({ call }) => new Promise((resolve) => call.once("data", resolve))))
    assert.deepStrictEqual([...known.seen, ...unknown.seen], [Serving.SERVING, Serving.SERVICE_UNKNOWN])
    await running!.stop()
    running = undefined
    await known.ended
    assert.deepStrictEqual(known.seen, [Serving.SERVING, Serving.NOT_SERVING])
  })

  it("reports NOT_SERVING after the journal has failed", async () => {
    const broken = {
      ...fakeMachine,
      apply: () => {
        throw new Error("broken on purpose")
      }
    }
    const { client, port } = await boot({ machine: { ...broken, tickMatters: () => false } })
    const health = connect(port)
    assert.strictEqual(await check(health, ""), Serving.SERVING)
    const watched = watch(health, "")
    await new Promise((resolve) => watched.call.once("data", resolve))
    await new Promise<void>((resolve) => client.submit({ command: deposit(1) }, () => resolve()))
    assert.strictEqual(await check(health, ""), Serving.NOT_SERVING)
    assert.deepStrictEqual(watched.seen, [Serving.SERVING, Serving.NOT_SERVING])
    watched.call.cancel()
    await watched.ended
  })
})

describe("reflection", () => {
  const { requestSerialize, responseDeserialize } = ServerReflectionService.serverReflectionInfo
  /** Sends requests on one stream, to the path of a version. */
  const ask = (
    port: number,
    requests: ReadonlyArray<ServerReflectionRequest["message_request"]>,
    { secret, version = "v1" }: { readonly secret?: string; readonly version?: string } = {}
  ) =>
    new Promise<ReadonlyArray<ServerReflectionResponse["message_response"]>>((resolve, reject) => {
      const client = kept(new Client(`127.0.0.1:${port}`, credentials.createInsecure()))
      const call: ClientDuplexStream<ServerReflectionRequest, ServerReflectionResponse> = client.makeBidiStreamRequest(
        `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
        requestSerialize,
        responseDeserialize,
        secret === undefined ? new Metadata() : bearer(secret)
      )
      const answers: Array<ServerReflectionResponse["message_response"]> = []
      call.on("data", ({ message_response }: ServerReflectionResponse) => answers.push(message_response))
      call.on("error", (error: ServiceError) => reject(error))
      call.on("end", () => resolve(answers))
      for (const message_request of requests) call.write({ host: "h", message_request })
      call.end()
    })
  const symbol = (value: string) => ({ $case: "file_containing_symbol", value }) as const
  const filesOf = (answer: ServerReflectionResponse["message_response"]) =>
    answer?.$case === "file_descriptor_response"
      ? answer.value.file_descriptor_proto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
      : []

  for (const version of ["v1", "v1alpha"])
    it(`${version} lists the services and returns their files with all imports`, async () => {
      const { port } = await boot()
      const [listed, sequencer, method, byName] = await ask(
        port,
        [
          { $case: "list_services", value: "" },
          symbol("gateway.v1.Sequencer"),
          symbol("gateway.v1.Referee.PreviewMargin"),
          { $case: "file_by_filename", value: "gateway/v1/types.proto" }
        ],
        { version }
      )
      assert.deepStrictEqual(listed, {
        $case: "list_services_response",
        value: {
          service: [
            "gateway.v1.Sequencer",
            "gateway.v1.Referee",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection"
          ].map((name) => ({ name }))
        }
      })
      assert.deepStrictEqual(
        filesOf(sequencer).map(({ name }) => name),
        ["gateway/v1/sequencer.proto", "gateway/v1/types.proto"]
      )
      assert.strictEqual(filesOf(method)[0]?.name, "gateway/v1/referee.proto")
      assert.isTrue(filesOf(byName)[0]?.messageType.some(({ name }) => name === "Order"))
    })

  it("reports unknown files, symbols and extensions", async () => {
    const { port } = await boot()
    const answers = await ask(port, [
      symbol("gateway.v1.Nothing"),
      symbol(""),
      { $case: "file_by_filename", value: "nothing.proto" },
      { $case: "all_extension_numbers_of_type", value: "gateway.v1.Order" },
      undefined
    ])
    assert.deepStrictEqual(
      answers.map((answer) => (answer?.$case === "error_response" ? answer.value.error_code : undefined)),
      [status.NOT_FOUND, status.NOT_FOUND, status.NOT_FOUND, status.NOT_FOUND, status.INVALID_ARGUMENT]
    )
  })

  it("requires the backend's secret", async () => {
    const { port } = await boot({ secret: "shared-secret" })
    const request = [{ $case: "list_services", value: "" }] as const
    const error = await ask(port, request).then(
      () => undefined,
      (error: ServiceError) => error.code
    )
    assert.strictEqual(error, status.UNAUTHENTICATED)
    assert.lengthOf(await ask(port, request, { secret: "shared-secret" }), 1)
  })
})
