/** Echoes its input: from the server behind it, or, without one, after a synced write of it. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { serve } from "./usage.ts"

const behind = process.env["ECHO_BEHIND"]
const file = process.env["ECHO_FILE"]
const journal = file === undefined ? undefined : openSync(file, "w")
process.on("exit", () => journal === undefined || closeSync(journal))

const server = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => {})
  if (behind !== undefined) {
    const next = connect({ port: Number(behind), host: "127.0.0.1", noDelay: true })
    socket.on("data", (bytes) => next.write(bytes))
    next.on("data", (bytes) => socket.write(bytes))
    next.on("error", () => {})
    socket.on("close", () => next.destroy())
    return
  }
  socket.on("data", (bytes: Buffer) => {
    if (journal !== undefined) {
      writeSync(journal, bytes)
      fdatasyncSync(journal)
    }
    socket.write(bytes)
  })
})
server.listen(0, "127.0.0.1", () => serve((server.address() as AddressInfo).port))
