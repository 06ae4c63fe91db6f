/** What every starter of a program needs: whether it is installed, a free port, a folder, and its end. */
import { type ChildProcess, execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Whether a program is installed. */
export const isInstalled = (program: string): boolean => {
  try {
    execFileSync("which", [program], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** A TCP port of an address that is free at the time of the call. */
export const freePort = (host = "127.0.0.1"): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))
      )
    })
  })

/** Whether a port of this machine accepts a connection. */
export const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

/** Sends a signal to a process and waits for its exit. */
export const ended = (child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once("exit", () => resolve())
    child.kill(signal)
  })

export interface TemporaryFolder {
  readonly path: string
  readonly remove: () => void
}

/** An empty folder of the system's temporary directory. */
export const temporaryFolder = (name: string): TemporaryFolder => {
  const path = mkdtempSync(join(tmpdir(), `gateway-${name}-`))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
