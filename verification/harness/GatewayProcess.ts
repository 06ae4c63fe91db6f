/** A gateway in a process of its own, as `npm start` runs it: started, waited for, stopped or killed. */
import { type ChildProcess, spawn } from "node:child_process"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Time a start may take unless the caller says otherwise, in ms. */
const READY_MS = 30_000
/** Time a stop may take, in ms: the shutdown's own limit. */
const STOP_MS = 30_000
/** Lines of output kept, for the text of a failure. */
const LINES_MAX = 200

export interface GatewayProcess {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly pid: number
  /** The last lines of its output. */
  readonly output: () => string
  /** Stops it as an operator would; answers the exit code. */
  readonly stop: () => Promise<number | null>
  /** Resolves when it has ended, with the exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>
  /** Kills it as a power switch would. */
  readonly kill: () => Promise<void>
  /** Sends a message to the module that was loaded first, and waits for its answer. */
  readonly ask: <A>(message: object) => Promise<A>
}

/** A port of an address that is free now. */
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

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Starts a program of the project and waits until `ready` says so. */
export const startGateway = async (options: {
  readonly dataDir: string
  readonly port?: number
  /** The address that it listens on; default: 127.0.0.1. */
  readonly host?: string
  readonly env?: Readonly<Record<string, string>>
  /** The folder that the program stands in; default: this project. */
  readonly home?: string
  /** Time that it may take, in ms. */
  readonly ready_ms?: number
  /** A module that is loaded first, in every thread, where garbage can be collected by its word. */
  readonly preload?: string
  /** Is given every line that it prints, on both streams. */
  readonly onLine?: (line: string) => void
}): Promise<GatewayProcess> => {
  const host = options.host ?? "127.0.0.1"
  const port = options.port ?? (await freePort(host))
  const home = options.home ?? root
  const flags = options.preload === undefined ? [] : ["--expose-gc", "--import", options.preload]
  const child: ChildProcess = spawn(process.execPath, [...flags, join(home, "src/cli/main.ts")], {
    cwd: home,
    env: { ...process.env, PORT: String(port), HOST: host, DATA_DIR: options.dataDir, ...options.env },
    stdio: ["ignore", "pipe", "pipe", ...(options.preload === undefined ? [] : ["ipc" as const])]
  })
  const lines: Array<string> = []
  for (const stream of [child.stdout!, child.stderr!]) {
    createInterface({ input: stream }).on("line", (line) => {
      if (line === "") return
      options.onLine?.(line)
      lines.push(line)
      lines.splice(0, lines.length - LINES_MAX)
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)))
  const output = () => lines.join("\n")
  const url = `http://${host}:${port}`
  const ready_ms = options.ready_ms ?? READY_MS
  const deadline = Date.now() + ready_ms
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`the gateway ended with ${child.exitCode ?? child.signalCode}:\n${output()}`)
    }
    if (Date.now() > deadline) {
      child.kill("SIGKILL")
      throw new Error(`the gateway was not ready in ${ready_ms} ms:\n${output()}`)
    }
    const answer = await fetch(`${url}/ready`).catch(() => undefined)
    if (answer?.status === 200) break
    await sleep(25)
  }
  return {
    url,
    port,
    dataDir: options.dataDir,
    pid: child.pid!,
    output,
    ended,
    stop: async () => {
      child.kill("SIGTERM")
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS)
      const code = await ended
      clearTimeout(late)
      return code
    },
    kill: async () => {
      child.kill("SIGKILL")
      await ended
    },
    ask: (message) =>
      new Promise((resolve, reject) => {
        const gone = () => reject(new Error(`the gateway has ended:\n${output()}`))
        child.once("exit", gone)
        child.once("message", (answer) => {
          child.off("exit", gone)
          // what the module answers is what its caller expects of it
          resolve(answer as never)
        })
        child.send(message)
      })
  }
}
