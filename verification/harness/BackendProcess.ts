/** The backend in a process of its own, as `npm run backend` runs it: started, stopped in its tracks, killed. */
import { spawn } from "node:child_process"
import { connect } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const mainOf = (home: string): string => join(home, "src/backend/main.ts")

/** Time a start may take unless the caller says otherwise, in ms. */
const READY_MS = 20_000

export interface BackendProcess {
  readonly pid: number
  /** Resolves when it has ended, by whatever hand. */
  readonly ended: Promise<void>
  /** Holds it still, its connections open. */
  readonly freeze: () => void
  /** Lets it go on. */
  readonly thaw: () => void
  readonly kill: () => Promise<void>
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

/** Starts the backend and waits until its port takes connections. */
export const startBackend = async (options: {
  readonly dataDir: string
  readonly port: number
  /** The folder that the program stands in; default: this project. */
  readonly home?: string
  /** Time that it may take, in ms. */
  readonly ready_ms?: number
  readonly env?: Readonly<Record<string, string>>
}): Promise<BackendProcess> => {
  const ready_ms = options.ready_ms ?? READY_MS
  const child = spawn(process.execPath, [mainOf(options.home ?? root)], {
    env: {
      ...process.env,
      HOST: "127.0.0.1",
      BACKEND_PORT: String(options.port),
      DATA_DIR: options.dataDir,
      SIM_MAKER: "off",
      INDEX_SOURCE: "manual",
      LOG_LEVEL: "error",
      ...options.env
    },
    stdio: ["ignore", "ignore", "inherit"]
  })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  for (const deadline = Date.now() + ready_ms; !(await listens(options.port));) {
    if (child.exitCode !== null) throw new Error(`the backend ended with ${child.exitCode}`)
    if (Date.now() > deadline) {
      child.kill("SIGKILL")
      throw new Error(`the backend did not listen in ${ready_ms} ms`)
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return {
    pid: child.pid!,
    ended,
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    kill: async () => {
      child.kill("SIGKILL")
      await ended
    }
  }
}

/** Runs `verify` over the journal in a directory: what it holds, found by replaying all of it. */
export const verifyJournal = (
  dataDir: string
): Promise<{ readonly code: number | null; readonly text: string; readonly errors: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [mainOf(root), "verify"], {
      env: { ...process.env, DATA_DIR: dataDir, SIM_MAKER: "off" },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let text = ""
    let errors = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk))
    child.once("close", (code) => resolve({ code, text, errors }))
  })
