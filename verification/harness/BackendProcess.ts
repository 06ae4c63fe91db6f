/** The backend in a process of its own, as `npm run backend` runs it; and the relay that publishes its events to NATS. */
import { spawnSync } from "node:child_process"
import type { Verified } from "../../src/backend/JournalCheck.ts"
import { type NodeProcess, programOf, type StartOptions, startProcess } from "./NodeProcess.ts"

const MAIN = "src/backend/main.ts"

const settingsOf = (dataDir: string, env: StartOptions["env"]): Record<string, string> => ({
  HOST: "127.0.0.1",
  BACKEND_PORT: "0",
  DATA_DIR: dataDir,
  SIM_MAKER: "off",
  INDEX_SOURCE: "manual",
  FAUCET_DAILY_LIMIT: "1000000000",
  ...env
})

export interface BackendProcess extends NodeProcess {
  readonly port: number
  /** The port of its metrics, with METRICS_PORT. */
  readonly metricsPort: number | undefined
}

/** Starts the backend and waits for the log line with its port. */
export const startBackend = async (
  options: StartOptions & {
    readonly dataDir: string
    /** Default: one that the backend chooses. */
    readonly port?: number
  }
): Promise<BackendProcess> => {
  const { dataDir, onLine, port = 0 } = options
  let ports: { readonly port: number; readonly metrics_port?: number } | undefined
  const started = await startProcess(
    "backend",
    MAIN,
    {
      ...options,
      env: settingsOf(dataDir, { BACKEND_PORT: String(port), ...options.env }),
      onLine: (line) => {
        onLine?.(line)
        if (line.includes('"backend serves"')) ports = JSON.parse(line).annotations
      }
    },
    () => ports !== undefined
  )
  return { ...started, port: ports!.port, metricsPort: ports!.metrics_port }
}

/** Runs `npm run backend -- …args` on a data directory and returns its line of JSON. Fails with its error output. */
export const backendCommand = (
  dataDir: string,
  args: ReadonlyArray<string>,
  settings: Readonly<Record<string, string>> = {}
): unknown => {
  const env = { ...process.env, ...settingsOf(dataDir, settings) }
  const { status, stderr, stdout } = spawnSync(process.execPath, [programOf(MAIN), ...args], { env, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

/** Replays the whole journal of a data directory and returns its facts. Fails where the journal does not verify. */
export const verifyJournal = (dataDir: string): Verified => backendCommand(dataDir, ["verify"]) as Verified

/** Starts the relay. It is ready at once, and repeats its connections by itself. */
export const startRelay = (env: Readonly<Record<string, string>>): Promise<NodeProcess> =>
  startProcess("relay", "src/layers/nats/main.ts", { env }, () => true)
