/**
 * HAProxy by deploy/haproxy.cfg, on this machine: only where things are is changed, and it tells of requests that failed.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { ended } from "./RedisServer.ts"
import { freePort } from "./GatewayProcess.ts"

/** Connections that it carries: each needs two of the 20,000 files that a process here may have open. */
const CONNECTIONS_MAX = 9_000
/** Time a start may take, in ms. */
const START_MS = 30_000
/** Failed requests that are remembered. */
const FAILURES_MAX = 10_000

/** What HAProxy says of a request that failed: the gateway it went to, the status it answered, and how it ended. */
export interface Failure {
  readonly gateway: string
  readonly status: number
  /** Its termination state, such as `SH--`: the server went before the headers of its answer. */
  readonly ending: string
}

export interface Balancer {
  readonly url: string
  /** Names of the gateways that it sends to. */
  readonly up: () => Promise<ReadonlySet<string>>
  /** By the id of the request. */
  readonly failures: ReadonlyMap<string, Failure>
  readonly stop: () => Promise<void>
}

const replaced = (text: string, what: RegExp, by: string): string => {
  const changed = text.replace(what, by)
  if (changed === text) throw new Error(`deploy/haproxy.cfg has no ${what}`)
  return changed
}

/** The configuration that is deployed, for gateways of this machine. */
export const configure = (options: {
  readonly port: number
  readonly folder: string
  readonly gateways: ReadonlyArray<{ readonly name: string; readonly host: string; readonly port: number }>
}): string => {
  const deployed = readFileSync(join(import.meta.dirname, "../../deploy/haproxy.cfg"), "utf8")
  const servers = options.gateways.map(({ host, name, port }) => `  server ${name} ${host}:${port}$1`).join("\n")
  const changes: ReadonlyArray<readonly [RegExp, string]> = [
    [
      /^ {2}maxconn \d+$/mu,
      `  maxconn ${CONNECTIONS_MAX}\n  stats socket ${options.folder}/stats\n  log stdout format raw local0`
    ],
    [/^defaults$/mu, "defaults\n  log global\n  option dontlog-normal"],
    [/^resolvers docker\n(?: {2}.*\n)+/mu, ""],
    [
      /^ {2}bind :3010$/mu,
      `  bind 127.0.0.1:${options.port}\n  capture request header X-Request-Id len 64\n  log-format "%[capture.req.hdr(0)] %s %ST %ts"`
    ],
    [/^ {2}server-template gateway 3 gateway:3010(.*) resolvers docker init-addr none$/gmu, servers]
  ]
  return changes.reduce((text, [what, by]) => replaced(text, what, by), deployed)
}

/** Asks the running program over its socket. */
const asked = (path: string, question: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(`${question}\n`))
    let text = ""
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    socket.once("error", reject)
    socket.once("close", () => resolve(text))
  })

export const start = async (gateways: Parameters<typeof configure>[0]["gateways"]): Promise<Balancer> => {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), "fleet-haproxy-"))
  const config = join(folder, "haproxy.cfg")
  writeFileSync(config, configure({ port, folder, gateways }))
  const child = spawn("haproxy", ["-db", "-f", config], { stdio: ["ignore", "pipe", "pipe"] })
  let complaints = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints = (complaints + text).slice(-4_000)))
  const failures = new Map<string, Failure>()
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [id, gateway, status, ending] = line.split(" ")
    if (id === undefined || ending === undefined || failures.size >= FAILURES_MAX) return
    failures.set(id, { gateway: gateway!, status: Number(status), ending })
  })
  const up = async () => {
    const [names, ...rows] = (await asked(join(folder, "stats"), "show stat")).trim().split("\n")
    const columns = names!.replace(/^# /u, "").split(",")
    const servers = rows.map((row) => {
      const cells = row.split(",")
      const cell = (column: string) => cells[columns.indexOf(column)]!
      return { backend: cell("pxname"), name: cell("svname"), status: cell("status") }
    })
    const isUp = ({ backend, name, status }: (typeof servers)[number]) =>
      backend === "gateways" && name !== "BACKEND" && status.startsWith("UP")
    return new Set(servers.filter(isUp).map(({ name }) => name))
  }
  for (const deadline = Date.now() + START_MS; ;) {
    if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}:\n${complaints}`)
    if (
      await up().then(
        () => true,
        () => false
      )
    )
      break
    if (Date.now() > deadline) throw new Error(`haproxy did not start in ${START_MS} ms:\n${complaints}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return {
    url: `http://127.0.0.1:${port}`,
    up,
    failures,
    stop: async () => {
      await ended(child)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
