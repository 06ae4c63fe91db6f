/** HAProxy in front of gateways of this machine, by deploy/haproxy.cfg with other addresses, and its log of failed requests. */
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { ended, freePort, temporaryFolder } from "./Programs.ts"
import { START_MS, until } from "./Wait.ts"

/** Most connections: each takes two of the 20,000 file descriptors that a process may have. */
const CONNECTIONS_MAX = 9_000
/** Failed requests that are kept. */
const FAILURES_MAX = 10_000

/** HAProxy's log line of a failed request. */
export interface Failure {
  /** The gateway that received it. */
  readonly gateway: string
  readonly status: number
  /** The termination state, such as `SH--`: the server closed before the headers of its answer. */
  readonly ending: string
}

export interface Balancer {
  readonly url: string
  /** Names of the gateways that receive traffic. */
  readonly up: () => Promise<ReadonlySet<string>>
  /** By request id. */
  readonly failures: ReadonlyMap<string, Failure>
  readonly stop: () => Promise<void>
}

const replaced = (text: string, what: RegExp, by: string): string => {
  const changed = text.replace(what, by)
  if (changed === text) throw new Error(`deploy/haproxy.cfg has no ${what}`)
  return changed
}

/** The deployed configuration, for gateways of this machine. */
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

/** Sends a command to the statistics socket. */
const statistics = (path: string, command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(`${command}\n`))
    let text = ""
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    socket.once("error", reject)
    socket.once("close", () => resolve(text))
  })

export const startBalancer = async (gateways: Parameters<typeof configure>[0]["gateways"]): Promise<Balancer> => {
  const port = await freePort()
  const folder = temporaryFolder("haproxy")
  const config = join(folder.path, "haproxy.cfg")
  writeFileSync(config, configure({ port, folder: folder.path, gateways }))
  const child = spawn("haproxy", ["-db", "-f", config], { stdio: ["ignore", "pipe", "pipe"] })
  let errors = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-4_000)))
  const failures = new Map<string, Failure>()
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [id, gateway, status, ending] = line.split(" ")
    if (id === undefined || ending === undefined || failures.size >= FAILURES_MAX) return
    failures.set(id, { gateway: gateway!, status: Number(status), ending })
  })
  const up = async () => {
    const [names, ...rows] = (await statistics(join(folder.path, "stats"), "show stat")).trim().split("\n")
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
  await until(
    () => `haproxy answers:\n${errors}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}:\n${errors}`)
      return up().then(
        () => true,
        () => false
      )
    },
    START_MS
  )
  return {
    url: `http://127.0.0.1:${port}`,
    up,
    failures,
    stop: async () => {
      await ended(child)
      folder.remove()
    }
  }
}
