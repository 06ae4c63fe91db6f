/**
 * The standard reflection service: tells a client without our proto files what can be asked here, in the versions v1 and
 * v1alpha, which differ in their path alone. Source: docs/contract/boundary.md#referee.
 */
import { createFileRegistry, type DescFile, fromBinary, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { type ServerDuplexStream, type ServiceDefinition, status } from "@grpc/grpc-js"
import { descriptors } from "../../proto/descriptors.ts"
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService
} from "../../proto/grpc/reflection/v1/reflection.ts"

type Answer = NonNullable<ServerReflectionResponse["message_response"]>

/** The service under its older name. */
export const alpha: ServiceDefinition = {
  serverReflectionInfo: {
    ...ServerReflectionService.serverReflectionInfo,
    path: ServerReflectionService.serverReflectionInfo.path.replace(".v1.", ".v1alpha.")
  }
}

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, Uint8Array.from(Buffer.from(descriptors, "base64")))
)
const files = [...registry.files]

/** A file and what it imports, each once, as bytes. */
const withImports = (file: DescFile): Array<Buffer> => {
  const found = new Set<DescFile>()
  const add = (one: DescFile): void => {
    if (found.has(one)) return
    found.add(one)
    one.dependencies.forEach(add)
  }
  add(file)
  return [...found].map((one) => Buffer.from(toBinary(FileDescriptorProtoSchema, one.proto)))
}

const missing = (what: string): Answer => ({
  $case: "error_response",
  value: { error_code: status.NOT_FOUND, error_message: `no such ${what}` }
})

const told = (file: DescFile | undefined, what: string): Answer =>
  file === undefined
    ? missing(what)
    : { $case: "file_descriptor_response", value: { file_descriptor_proto: withImports(file) } }

/** The file that declares a symbol: a message, an enum, a service, or a member of one. */
const fileOf = (symbol: string): DescFile | undefined =>
  registry.get(symbol)?.file ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf("."))))?.file

const answerOf = (services: ReadonlyArray<string>, request: ServerReflectionRequest): Answer => {
  const asked = request.message_request
  switch (asked?.$case) {
    case "list_services":
      return { $case: "list_services_response", value: { service: services.map((name) => ({ name })) } }
    case "file_by_filename":
      // a descriptor's name stands without its ending
      return told(
        files.find(({ name }) => `${name}.proto` === asked.value),
        "file"
      )
    case "file_containing_symbol":
      return told(fileOf(asked.value), "symbol")
    // nothing here is extended
    case "file_containing_extension":
    case "all_extension_numbers_of_type":
      return missing("extension")
    case undefined:
      return {
        $case: "error_response",
        value: { error_code: status.INVALID_ARGUMENT, error_message: "the request is empty" }
      }
  }
}

/** Answers one request after the other; the client ends the stream. `services` are the full names of what is served. */
export const handlers = (services: ReadonlyArray<string>) => ({
  serverReflectionInfo: (call: ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>): void => {
    call.on("data", (request: ServerReflectionRequest) => {
      const sent = call.write({
        valid_host: request.host,
        original_request: request,
        message_response: answerOf(services, request)
      })
      if (sent) return
      call.pause()
      call.once("drain", () => call.resume())
    })
    call.on("end", () => call.end())
  }
})
