/**
 * A peer of the event-latency benchmark: node:http, one unary gRPC call per order, and the backend's events, each sent at
 * once to the open `ws` sockets. It validates and stores nothing.
 */
import * as grpc from "@grpc/grpc-js"
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { WebSocketServer } from "ws"
import type { StreamEventsResponse } from "../../src/proto/gateway/v1/sequencer.ts"
import { OrderStatus } from "../../src/proto/gateway/v1/types.ts"
import { backend, type Body, place, USER } from "./peer.ts"
import { serve } from "./usage.ts"

const read = async (request: IncomingMessage): Promise<Body> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Body
}
const answer = (response: ServerResponse, error: grpc.ServiceError | null, value: object): void => {
  const text = JSON.stringify(error === null ? value : { code: "SERVICE_UNAVAILABLE", message: error.message })
  response.writeHead(error === null ? 200 : 503, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text)
  })
  response.end(text)
}
const cancel = (
  { order_link_id, sub_account_address, symbol }: Body,
  done: (error: grpc.ServiceError | null) => void
) =>
  void backend().submit(
    {
      command: {
        command_id: randomUUID(),
        user_id: USER,
        sub_account_address,
        issued_at_ms: Date.now(),
        command: { $case: "cancel_order", value: { symbol, order: { order_id: "", order_link_id } } }
      }
    },
    new grpc.Metadata(),
    { deadline: Date.now() + 2_000 },
    done
  )

const server = createServer((request, response) => {
  void read(request).then((body) => {
    if (request.url === "/api/v1/order/cancel") cancel(body, (error) => answer(response, error, {}))
    else place(body, (error, reference) => answer(response, error, reference))
  })
})
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
const statuses = new Map(Object.entries(OrderStatus).map(([name, value]) => [value as number, name]))
const forward = ({ events }: StreamEventsResponse): void => {
  for (const { event, seq, ts_ms } of events) {
    if (event?.$case !== "order_changed") continue
    const order = event.value.order!
    const list = [{ ...order, order_status: statuses.get(order.order_status) }]
    const text = JSON.stringify({ op: "event", topic: "order", data: { type: "update", seq, mts: ts_ms, list } })
    for (const socket of sockets.clients) socket.send(text)
  }
}
backend().getHead({}, (error, head) => {
  if (error !== null) throw error
  const stream = backend().streamEvents({
    epoch: head.epoch,
    from_seq: head.head_seq + 1,
    fork: "",
    checksum: undefined
  })
  stream.on("data", forward)
  stream.on("error", () => process.exit(1))
  server.listen(0, "127.0.0.1", () => serve((server.address() as AddressInfo).port))
})
