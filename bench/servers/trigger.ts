/** How the fan-out benchmark makes a server publish: a connection on which each byte is a count of events. */
import { type AddressInfo, createServer } from "node:net"

/** Calls back with each count; answers the port. */
export const trigger = (publish: (events: number) => void): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on("data", (bytes: Buffer) => bytes.forEach((events) => publish(events)))
      socket.on("error", () => {})
    })
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })
