/** A PostgreSQL of its own: a data directory that is thrown away, a free port on the loopback, and what may befall it. */
import { execFile, execFileSync, spawn } from "node:child_process"
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { freePort } from "./GatewayProcess.ts"
import { binaries } from "./PostgresBinaries.ts"

/** Time a start may take on a busy machine, in ms. */
export const START_MS = 60_000
/** A port that was free a moment ago may be taken: how often another is tried. */
const TRIES_MAX = 5

const folder = binaries()
/** PostgreSQL refuses to run as root: then it is the user whom the package made. */
const owner = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

export const isThere = folder !== undefined

interface Running {
  readonly port: number
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** Serves a data directory on a port; `undefined`: the port was taken. */
const serve = async (data: string, port: number): Promise<Running | undefined> => {
  const child = spawn(
    join(folder!, "postgres"),
    ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", "-F"].concat(
      ["full_page_writes=off", "shared_buffers=16MB", "max_connections=100", "autovacuum=off"].flatMap((setting) => [
        "-c",
        setting
      ])
    ),
    { ...owner(), stdio: ["ignore", "ignore", "pipe"], cwd: "/" }
  )
  // were this process ended before the file is over
  const end = () => void child.kill("SIGKILL")
  process.once("exit", end)
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  let said = ""
  const serves = await new Promise<boolean>((resolve, reject) => {
    const timer = setTimeout(() => {
      end()
      reject(new Error(`PostgreSQL did not start in ${START_MS} ms:\n${said}`))
    }, START_MS)
    const settle = (serves: boolean) => {
      clearTimeout(timer)
      resolve(serves)
    }
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text
      if (said.includes("ready to accept connections")) settle(true)
    })
    child.once("exit", () => settle(false))
  })
  const stop = async () => {
    process.off("exit", end)
    // ends at once, and takes its children along
    child.kill("SIGQUIT")
    await ended
  }
  if (serves) return { port, pid: child.pid!, stop }
  process.off("exit", end)
  if (/Address already in use/u.test(said)) return undefined
  throw new Error(`PostgreSQL did not start:\n${said}`)
}

/** A new data directory. */
const initialize = async (): Promise<string> => {
  const data = mkdtempSync(join(tmpdir(), "postgres-"))
  const user = owner()
  if (user !== undefined) chownSync(data, user.uid, user.gid)
  const options = ["-D", data, "-U", "gateway", "-A", "trust", "-E", "UTF8", "-N", "--no-locale"]
  await promisify(execFile)(join(folder!, "initdb"), options, { ...user, cwd: "/" })
  return data
}

/** The processes that a server has started for its clients and for itself. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number)

export class PostgresServer {
  private data: string
  private running: Running
  private constructor(data: string, running: Running) {
    this.data = data
    this.running = running
  }
  static async start(): Promise<PostgresServer> {
    const data = await initialize()
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const running = await serve(data, await freePort())
      if (running !== undefined) return new PostgresServer(data, running)
    }
    throw new Error("no free port for PostgreSQL")
  }
  get port(): number {
    return this.running.port
  }
  /** Serves again, on the port that it had. */
  async begin(): Promise<void> {
    const running = await serve(this.data, this.port)
    if (running === undefined) throw new Error("the port of PostgreSQL is taken")
    this.running = running
  }
  /** Ends it at once, as a crash does. */
  kill(): Promise<void> {
    return this.running.stop()
  }
  /** What it kept is gone: it begins with an empty directory. */
  async forget(): Promise<void> {
    rmSync(this.data, { recursive: true, force: true })
    this.data = await initialize()
  }
  private signal(signal: NodeJS.Signals): void {
    // those who serve clients are processes of their own, which answer while the first one stands still
    for (const pid of [this.running.pid, ...childrenOf(this.running.pid)]) process.kill(pid, signal)
  }
  /** Neither answers nor ends. */
  hang(): void {
    this.signal("SIGSTOP")
  }
  goOn(): void {
    this.signal("SIGCONT")
  }
  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.data, { recursive: true, force: true })
  }
}

/** Address of a schema of a server that listens on this port. */
export const urlOf = (schema: string, port: number): string =>
  `postgres://gateway@127.0.0.1:${port}/postgres?options=${encodeURIComponent(`-csearch_path=${schema}`)}`
