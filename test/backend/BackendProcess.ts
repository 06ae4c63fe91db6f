/** The backend as its own process, as `npm run backend` starts it: for tests that kill it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import type { Verified } from "../../src/backend/Backend.ts"

const entry = new URL("../../src/backend/main.ts", import.meta.url).pathname

const environment = (directory: string, more: Record<string, string> = {}) => ({
  PATH: process.env["PATH"] ?? "",
  DATA_DIR: directory,
  BACKEND_PORT: "0",
  INDEX_SOURCE: "manual",
  SIM_MAKER: "off",
  FAUCET_DAILY_LIMIT: "1000000000",
  ...more
})

export interface BackendProcess {
  readonly port: number
  /** Where it tells its metrics, with METRICS_PORT. */
  readonly metricsPort: number | undefined
  readonly child: ChildProcess
  /** Ends it with a signal; answers its exit code, null where the signal ended it. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>
}

/** Starts it and waits until it serves. */
export const start = (directory: string, more?: Record<string, string>): Promise<BackendProcess> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry], {
      env: environment(directory, more),
      stdio: ["ignore", "pipe", "pipe"]
    })
    let said = ""
    child.stderr.on("data", (chunk) => (said += chunk))
    const exited = new Promise<number | null>((done) => child.once("exit", done))
    void exited.then((code) => reject(new Error(`the backend ended with ${code}: ${said}`)))
    createInterface({ input: child.stdout }).on("line", (line) => {
      said += line
      const { message, annotations } = JSON.parse(line) as {
        message: string
        annotations: { port: number; metrics_port?: number }
      }
      if (message !== "backend serves") return
      const end = (signal: NodeJS.Signals) => {
        child.kill(signal)
        return exited
      }
      resolve({ port: annotations.port, metricsPort: annotations.metrics_port, child, end })
    })
  })

/** `npm run backend -- <args>`: the line of JSON that it prints. Throws what it says on its error output. */
export const command = (directory: string, ...args: ReadonlyArray<string>): unknown => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [entry, ...args], {
    env: environment(directory),
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

/** `npm run backend -- verify`. */
export const verify = (directory: string): Verified => command(directory, "verify") as Verified
