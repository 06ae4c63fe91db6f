/** The backend as shipped, with its journal, in a separate process. */
import { connect } from "node:net"
import { serve } from "./usage.ts"

await import("../../src/backend/main.ts")
const port = Number(process.env["BACKEND_PORT"])
const listens = (): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })
while (!(await listens())) await new Promise((resolve) => setTimeout(resolve, 50))
serve(port)
