/** A program of this project in a process of its own, with the last lines of its output. */
import { type ChildProcess, spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { sleep, START_MS } from "./Wait.ts"

/** The folder of this project. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** The bundled file of each program. */
const BUNDLED: Readonly<Record<string, string>> = {
  "src/cli/main.ts": "main.js",
  "src/backend/main.ts": "backend.js",
  "src/layers/nats/main.ts": "relay.js"
}

/** The file to start for a program of this project: its bundle where PROGRAMS names the folder of one, else its source. */
export const programOf = (file: string): string => {
  const { PROGRAMS: folder } = process.env
  const name = BUNDLED[file]
  return folder === undefined || name === undefined ? join(root, file) : join(folder, name)
}

/** Longest stop, in ms: that of a graceful shutdown. */
const STOP_MS = 30_000
/** Lines of output that a failure shows. */
const LINES_MAX = 200
/** Pause between two checks of readiness, in ms. */
const POLL_MS = 25

export interface NodeProcess {
  readonly pid: number
  /** The last lines of its output, both streams. */
  readonly output: () => string
  /** Resolves at its exit with the exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>
  /** Stops it with SIGTERM; after 30 s with SIGKILL. Returns the exit code. */
  readonly stop: () => Promise<number | null>
  /** Kills it with SIGKILL. */
  readonly kill: () => Promise<void>
  /** Suspends it with its connections open, and resumes it. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Sends an IPC message to the preloaded module and returns its answer. */
  readonly ask: <A>(message: object) => Promise<A>
}

export interface StartOptions {
  /** Settings of the program. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder that holds the program; default: this project. */
  readonly home?: string
  /** Longest start, in ms. */
  readonly ready_ms?: number
  /** A module that each thread loads first, before the sources of the program; `global.gc` is available to it. */
  readonly preload?: string
  /** Receives each line of output. */
  readonly onLine?: (line: string) => void
}

/** Starts a program and waits until `isReady`. Fails with its output where it ends or is late. */
export const startProcess = async (
  name: string,
  file: string,
  { env, home = root, onLine, preload, ready_ms = START_MS }: StartOptions,
  isReady: () => boolean | Promise<boolean>
): Promise<NodeProcess> => {
  const flags = preload === undefined ? [] : ["--expose-gc", "--import", preload]
  const program = home === root && preload === undefined ? programOf(file) : join(home, file)
  const child: ChildProcess = spawn(process.execPath, [...flags, program], {
    cwd: home,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", ...(preload === undefined ? [] : ["ipc" as const])]
  })
  const lines: Array<string> = []
  for (const stream of [child.stdout!, child.stderr!]) {
    createInterface({ input: stream }).on("line", (line) => {
      if (line === "") return
      onLine?.(line)
      lines.push(line)
      lines.splice(0, lines.length - LINES_MAX)
    })
  }
  const output = () => lines.join("\n")
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)))
  // "close" follows the last line of output
  const closed = new Promise((resolve) => child.once("close", resolve))
  for (const deadline = performance.now() + ready_ms; !(await isReady()); await sleep(POLL_MS)) {
    if (child.exitCode !== null || child.signalCode !== null) {
      await closed
      throw new Error(`the ${name} ended with ${child.exitCode ?? child.signalCode}:\n${output()}`)
    }
    if (performance.now() > deadline) {
      child.kill("SIGKILL")
      throw new Error(`the ${name} is not ready within ${ready_ms} ms:\n${output()}`)
    }
  }
  return {
    pid: child.pid!,
    output,
    ended: exited,
    stop: async () => {
      child.kill("SIGTERM")
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS)
      const code = await exited
      clearTimeout(late)
      return code
    },
    kill: async () => {
      child.kill("SIGKILL")
      await exited
    },
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    ask: (message) =>
      new Promise((resolve, reject) => {
        const onExit = () => reject(new Error(`the ${name} has ended:\n${output()}`))
        child.once("exit", onExit)
        child.once("message", (answer) => {
          child.off("exit", onExit)
          // caller and preloaded module agree on the type
          resolve(answer as never)
        })
        child.send(message)
      })
  }
}
