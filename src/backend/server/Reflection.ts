/**
 * The standard gRPC reflection service: describes the services to clients without the proto files. Versions v1 and
 * v1alpha differ only in their path. Source: docs/contract/boundary.md#referee.
 */
import { createFileRegistry, type DescFile, type FileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { type ServerDuplexStream, type ServiceDefinition, status } from "@grpc/grpc-js"
import { descriptors } from "../../proto/descriptors.ts"
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService
} from "../../proto/grpc/reflection/v1/reflection.ts"

type ReflectionResponse = NonNullable<ServerReflectionResponse["message_response"]>

/** The v1alpha service. */
export const alpha: ServiceDefinition = {
  serverReflectionInfo: {
    ...ServerReflectionService.serverReflectionInfo,
    path: ServerReflectionService.serverReflectionInfo.path.replace(".v1.", ".v1alpha.")
  }
}

/** The descriptors of all files, decoded for the first request: it takes 20 ms of CPU. */
let decoded: FileRegistry | undefined
const registry = (): FileRegistry =>
  (decoded ??= createFileRegistry(
    fromBinary(FileDescriptorSetSchema, Uint8Array.from(Buffer.from(descriptors, "base64")))
  ))

/** A file and its imports, each once, encoded. */
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

const missing = (what: string): ReflectionResponse => ({
  $case: "error_response",
  value: { error_code: status.NOT_FOUND, error_message: `no such ${what}` }
})

const fileResponse = (file: DescFile | undefined, what: string): ReflectionResponse =>
  file === undefined
    ? missing(what)
    : { $case: "file_descriptor_response", value: { file_descriptor_proto: withImports(file) } }

/** The file that declares a symbol: a message, an enum, a service, or a member of one. */
const fileOf = (symbol: string): DescFile | undefined =>
  registry().get(symbol)?.file ?? registry().get(symbol.slice(0, Math.max(0, symbol.lastIndexOf("."))))?.file

const responseTo = (services: ReadonlyArray<string>, request: ServerReflectionRequest): ReflectionResponse => {
  const message = request.message_request
  switch (message?.$case) {
    case "list_services":
      return { $case: "list_services_response", value: { service: services.map((name) => ({ name })) } }
    case "file_by_filename":
      // the name of a descriptor has no extension
      return fileResponse(
        [...registry().files].find(({ name }) => `${name}.proto` === message.value),
        "file"
      )
    case "file_containing_symbol":
      return fileResponse(fileOf(message.value), "symbol")
    // the proto files define no extensions
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

/** Responds to requests in order; the client ends the stream. `services` are the full names of the services. */
export const handlers = (services: ReadonlyArray<string>) => ({
  serverReflectionInfo: (call: ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>): void => {
    call.on("data", (request: ServerReflectionRequest) => {
      const sent = call.write({
        valid_host: request.host,
        original_request: request,
        message_response: responseTo(services, request)
      })
      if (!sent) call.pause()
    })
    call.on("drain", () => call.resume())
    call.on("end", () => call.end())
  }
})
