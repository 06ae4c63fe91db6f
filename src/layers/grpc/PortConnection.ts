/** A connection over MessagePorts, to a backend in a thread of this process. Only this process can open calls, so there is no secret. */
import { randomUUID } from "node:crypto"
import { status } from "@grpc/grpc-js"
import { callFailure } from "../../node/CallFailure.ts"
import * as PortCall from "../../node/PortCall.ts"
import { HealthService } from "../../proto/grpc/health/v1/health.ts"
import type { Connection, Rpc } from "./Connection.ts"

const NO_REQUEST = new Uint8Array()

const codecOf = <Req, Res>(rpc: Rpc<Req, Res>) => ({ encode: rpc.requestSerialize, decode: rpc.responseDeserialize })

export const make = (open: PortCall.Open): Connection => {
  const unary: Connection["unary"] = (rpc, request, { deadline_ms, request_id = randomUUID() }, done) => {
    const port = open(rpc.path, rpc.requestSerialize(request), request_id)
    let isOver = false
    const end: typeof done = (error, response) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      close()
      done(error, response)
    }
    const close = PortCall.unary(port, rpc.responseDeserialize, end)
    const expire = () => end(callFailure(status.DEADLINE_EXCEEDED, "the deadline has passed"))
    const timer = deadline_ms === undefined ? undefined : setTimeout(expire, deadline_ms)
    return () => end(callFailure(status.CANCELLED, "canceled by the client"))
  }
  return {
    unary,
    responses: (rpc, request) =>
      PortCall.ClientCall.over(open(rpc.path, rpc.requestSerialize(request), randomUUID()), codecOf(rpc)),
    calls: (rpc) => PortCall.ClientCall.over(open(rpc.path, NO_REQUEST, randomUUID()), codecOf(rpc)),
    whenReady: (within_ms, done) => {
      unary(HealthService.check, { service: "" }, { deadline_ms: within_ms }, (error) => done(error ?? undefined))
    }
  }
}
