/** HTTP as bytes: what is written and what comes back, until the gateway closes the connection. */
import { connect } from "node:net"

/** Longest wait for the end of a connection, in ms. */
const WAIT_MS = 10_000

/**
 * Writes parts on one connection, each once the one before was answered, and reads to the end of the connection, or until a
 * text arrives. Returns the answers.
 */
export const exchangeBytes = (
  port: number,
  parts: ReadonlyArray<string>,
  options: { readonly until?: string; readonly from?: string } = {}
): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      ...(options.from === undefined ? {} : { localAddress: options.from })
    })
    const left = [...parts]
    let text = ""
    const answers = () => (text === "" ? [] : text.split(/(?=HTTP\/1\.1 \d{3} )/u))
    const finish = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answers())
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`not closed: ${text}`))
    }, WAIT_MS)
    socket.on("error", () => {})
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1")
      if (options.until !== undefined && text.includes(options.until)) return finish()
      if (left.length > 0) socket.write(left.shift()!)
    })
    socket.on("end", finish).on("close", finish)
    socket.write(left.shift()!)
  })
