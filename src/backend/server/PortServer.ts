/** Serves calls over MessagePorts, one port for each call, to a client in the same process. */
import type { MessagePort } from "node:worker_threads"
import { Metadata, type MethodDefinition, type sendUnaryData, status } from "@grpc/grpc-js"
import { reply, ServerCall } from "../../node/PortCall.ts"
import type { Service } from "./Service.ts"

/** Takes a call: the path of its method, its request, the id that correlates the logs of both sides, and its port. */
export type Open = (path: string, request: Uint8Array, request_id: string, port: MessagePort) => void

interface Method {
  readonly rpc: MethodDefinition<unknown, unknown>
  readonly handler: (call: unknown, callback?: sendUnaryData<unknown>) => void
}

/** The bytes of a response. One that cannot be encoded fails its call, as in grpc-js. */
const encoded = ({ responseSerialize }: Method["rpc"], value: unknown): Uint8Array | { readonly code: status } => {
  try {
    return responseSerialize(value)
  } catch {
    return { code: status.INTERNAL }
  }
}

/** Serves the methods of services; a call of any other method is unimplemented. */
export const make = (services: ReadonlyArray<Service>): Open => {
  const methods = new Map<string, Method>()
  for (const { definition, handlers } of services)
    for (const [name, rpc] of Object.entries(definition)) {
      const handler = handlers[name]
      if (handler !== undefined) methods.set(rpc.path, { rpc, handler: handler as Method["handler"] })
    }
  return (path, bytes, request_id, port) => {
    const method = methods.get(path)
    if (method === undefined) return reply(port, { code: status.UNIMPLEMENTED, details: `no method ${path}` })
    const { handler, rpc } = method
    const request = rpc.requestStream ? undefined : rpc.requestDeserialize(Buffer.from(bytes))
    if (rpc.responseStream) {
      const codec = { encode: rpc.responseSerialize, decode: rpc.requestDeserialize }
      return handler(new ServerCall(port, codec, request))
    }
    const metadata = new Metadata()
    metadata.set("x-request-id", request_id)
    handler({ request, metadata }, (error, value) => reply(port, error ?? encoded(rpc, value)))
  }
}
