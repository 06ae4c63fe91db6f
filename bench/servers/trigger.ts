/** The control connection of the fan-out benchmark: each byte is a count of events to publish. */
import { type AddressInfo, createServer } from "node:net"

/** Calls back with each count; returns the port. */
export const trigger = (publish: (events: number) => void): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on("data", (bytes: Buffer) => bytes.forEach((events) => publish(events)))
      socket.on("error", () => {})
    })
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
  })
