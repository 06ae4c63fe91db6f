/**
 * Time from the start of a process to its open port, to its first response to a probe (`GET /health`), and to its first response
 * of the API (`GET /api/v1/market/time`).
 *
 * Floor: bare `node:http`. Peer: the gateway as unbundled modules. Subject: the published program. The gateway runs the whole
 * exchange with its backend and databases; its data directory exists and Node's compile cache is warm, as after any first
 * start. Left out: `npx` itself, and the very first start, which is reported separately.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../verification/harness/Programs.ts"
import { header, type Summary, summary } from "./Harness.ts"
import { cpuOf } from "../verification/harness/Cpu.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const program = join(root, "dist/packages/gateway/dist/bin/main.js")
const modules = join(root, "dist/packages/gateway/dist/main.js")

/** Time limit of a start, in ms. */
const START_MS = 60_000
/** Interval between attempts to connect, in ms. */
const LOOK_MS = 1

const FLOOR = `
import { createServer } from "node:http"
createServer((_, response) => response.end("ok")).listen(Number(process.env.PORT), "127.0.0.1")
`

export interface Options {
  readonly rounds: number
  /** Default: the built package, which must exist. */
  readonly variants?: Readonly<Record<string, ReadonlyArray<string>>>
}

export interface Row {
  readonly name: string
  /** Time until the port accepts a connection, in ms. */
  readonly port_ms: Summary
  /** Its ratio to the floor's of the same round. */
  readonly port_ratio: Summary
  /** Time until the first response to a probe, in ms. */
  readonly probe_ms: Summary
  /** Its ratio to the floor's of the same round. */
  readonly probe_ratio: Summary
  /** Time until the first response of the API, in ms. */
  readonly wall_ms: Summary
  /** CPU of all threads until then, in ms. */
  readonly cpu_ms: Summary
  /** Ratio of wall time to the floor's of the same round. */
  readonly ratio: Summary
  /** Ratio of CPU time to the floor's of the same round. */
  readonly cpu_ratio: Summary
  /** The very first start, in ms: no compile cache, no data. */
  readonly first_ms: number
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true))
    socket.once("error", () => resolve(false)).once("connect", () => socket.destroy())
  })

const answers = (port: number, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asked.once("error", () => resolve(false))
    asked.end()
  })

const gone = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once("exit", () => resolve())
    child.kill("SIGTERM")
    setTimeout(() => child.kill("SIGKILL"), 10_000).unref()
  })

/** Starts a program on one core, waits for its first responses, and stops it. */
const startOnce = async (command: ReadonlyArray<string>, folder: string) => {
  const port = await freePort()
  const pinned = existsSync("/usr/bin/taskset") ? ["taskset", "-c", "0"] : []
  const [executable, ...args] = [...pinned, process.execPath, ...command]
  const began = performance.now()
  const child = spawn(executable!, args, {
    env: {
      ...process.env,
      PORT: String(port),
      HOST: "127.0.0.1",
      DATA_DIR: join(folder, "data"),
      NODE_COMPILE_CACHE: join(folder, "compiled"),
      LOG_LEVEL: "error",
      DRAIN_MS: "0"
    },
    stdio: ["ignore", "ignore", "inherit"]
  })
  const until = async (holds: () => Promise<boolean>): Promise<number> => {
    while (!(await holds())) {
      if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended with ${child.exitCode}`)
      if (performance.now() - began > START_MS) throw new Error(`${command.join(" ")} does not answer`)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
    return performance.now() - began
  }
  try {
    const port_ms = await until(() => isOpen(port))
    const probe_ms = await until(() => answers(port, "/health"))
    const wall_ms = await until(() => answers(port, "/api/v1/market/time"))
    return { port_ms, probe_ms, wall_ms, cpu_ms: cpuOf(child.pid!) / 1_000 }
  } finally {
    await gone(child)
  }
}

export const run = async (options: Options): Promise<ReadonlyArray<Row>> => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-start-"))
  try {
    const floor = join(folder, "floor.mjs")
    writeFileSync(floor, FLOOR)
    const variants = Object.entries({
      floor: [floor],
      ...(options.variants ?? { modules: [modules], gateway: [program] })
    }).map(([name, command]) => ({
      name,
      command,
      folder: mkdtempSync(join(folder, "of-")),
      first_ms: 0,
      port: [] as Array<number>,
      probe: [] as Array<number>,
      wall: [] as Array<number>,
      cpu: [] as Array<number>
    }))
    for (const variant of variants) variant.first_ms = (await startOnce(variant.command, variant.folder)).wall_ms
    for (let round = 0; round <= options.rounds; round++) {
      for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
        const { cpu_ms, port_ms, probe_ms, wall_ms } = await startOnce(variant.command, variant.folder)
        if (round === 0) continue // warm-up
        variant.port.push(port_ms)
        variant.probe.push(probe_ms)
        variant.wall.push(wall_ms)
        variant.cpu.push(cpu_ms)
      }
    }
    const [against] = variants
    const ratios = (of: ReadonlyArray<number>, to: ReadonlyArray<number>) => summary(of.map((ms, i) => ms / to[i]!))
    return variants.map(({ cpu, first_ms, name, port, probe, wall }) => ({
      name,
      port_ms: summary(port),
      port_ratio: ratios(port, against!.port),
      probe_ms: summary(probe),
      probe_ratio: ratios(probe, against!.probe),
      wall_ms: summary(wall),
      cpu_ms: summary(cpu),
      ratio: ratios(wall, against!.wall),
      cpu_ratio: ratios(cpu, against!.cpu),
      first_ms
    }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const format = ({ max, median, min }: Summary, digits: number) =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

export const main = async (): Promise<void> => {
  if (!existsSync(program)) throw new Error("build the package first: npm run build")
  const rounds = 15
  const rows = await run({ rounds })
  console.log(
    JSON.stringify(header("npm run bench -- start", rounds, "npx; the very first start is reported separately"))
  )
  for (const row of rows) console.log(JSON.stringify(row))
  console.log(
    "\n| variant | ms to the open port | ratio to floor | ms to the first probe | ratio to floor | ms to the first response of the API | ratio to floor | CPU ms | ratio to floor | very first start, ms |"
  )
  console.log("|---|---|---|---|---|---|---|---|---|---|")
  for (const row of rows)
    console.log(
      `| ${row.name} | ${format(row.port_ms, 0)} | ${format(row.port_ratio, 2)} | ${format(row.probe_ms, 0)} | ${format(row.probe_ratio, 2)} | ${format(row.wall_ms, 0)} | ${format(row.ratio, 2)} | ${format(row.cpu_ms, 0)} | ${format(row.cpu_ratio, 2)} | ${row.first_ms.toFixed(0)} |`
    )
}
