/** The usual fan-out with `ws`: the event is encoded and sent for each client. */
import type { AddressInfo } from "node:net"
import { WebSocketServer } from "ws"
import { messageOf } from "../fanout/Events.ts"
import { trigger } from "./trigger.ts"
import { serve } from "./usage.ts"

const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false, backlog: 4_096 })
let published = 0
const control = await trigger((events) => {
  for (let i = 0; i < events; i++) {
    const message = messageOf(published++, Date.now())
    for (const client of server.clients) client.send(JSON.stringify(message))
  }
})
server.on("connection", (socket) => socket.on("error", () => {}))
const ready = () => serve((server.address() as AddressInfo).port, { control })
if (server.address() === null) server.once("listening", ready)
else ready()
