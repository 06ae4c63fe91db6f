/** A gateway in a process of its own, as `npm start` runs it. */
import { type NodeProcess, type StartOptions, startProcess } from "./NodeProcess.ts"
import { freePort } from "./Programs.ts"

export interface GatewayProcess extends NodeProcess {
  readonly url: string
  readonly port: number
  readonly dataDir: string
}

/** Starts a gateway and waits until GET /ready returns 200. */
export const startGateway = async (
  options: StartOptions & {
    readonly dataDir: string
    /** Default: a free one. */
    readonly port?: number
    /** The address that it listens on; default: 127.0.0.1. */
    readonly host?: string
  }
): Promise<GatewayProcess> => {
  const { dataDir, host = "127.0.0.1" } = options
  const port = options.port ?? (await freePort(host))
  const url = `http://${host}:${port}`
  // without simulated trades, unless a test asks for them
  const env = { PORT: String(port), HOST: host, DATA_DIR: dataDir, SIM_TAKERS: "off", ...options.env }
  const isReady = async () => (await fetch(`${url}/ready`).catch(() => undefined))?.status === 200
  const started = await startProcess("gateway", "src/cli/main.ts", { ...options, env }, isReady)
  return { ...started, url, port, dataDir }
}
