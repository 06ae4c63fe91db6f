/** A PostgreSQL server on a temporary data directory and a free port, which a test can kill, suspend or empty. */
import { execFile, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { binaries } from "./PostgresBinaries.ts"
import { freePort, type TemporaryFolder, temporaryFolder } from "./Programs.ts"
import { START_MS } from "./Wait.ts"

/** Attempts to start: another process may take the port in between. */
const TRIES_MAX = 5

const folder = binaries()
/** PostgreSQL refuses to run as root: then it runs as the user of the package. */
const owner = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

export const isPostgresInstalled = folder !== undefined

interface Running {
  readonly port: number
  readonly pid: number
  readonly stop: () => Promise<void>
}

const SETTINGS = ["shared_buffers=16MB", "max_connections=100", "autovacuum=off"]
/** A crash of the machine may lose what was committed: tests do not crash it. */
const FAST = ["fsync=off", "full_page_writes=off"]
const DURABLE = ["max_wal_size=4GB"]

/** Serves a data directory on a port; `undefined`: the port was taken. */
const serve = async (data: string, port: number, durable: boolean): Promise<Running | undefined> => {
  const settings = [...SETTINGS, ...(durable ? DURABLE : FAST)].flatMap((setting) => ["-c", setting])
  const child = spawn(
    join(folder!, "postgres"),
    ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", ...settings],
    { ...owner(), stdio: ["ignore", "ignore", "pipe"], cwd: "/" }
  )
  // it must not outlive this process
  const end = () => void child.kill("SIGKILL")
  process.once("exit", end)
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  let log = ""
  const isServing = await new Promise<boolean>((resolve, reject) => {
    const timer = setTimeout(() => {
      end()
      reject(new Error(`PostgreSQL did not start in ${START_MS} ms:\n${log}`))
    }, START_MS)
    const settle = (isServing: boolean) => {
      clearTimeout(timer)
      resolve(isServing)
    }
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text
      if (/ready to accept (?:read-only )?connections/u.test(log)) settle(true)
    })
    child.once("exit", () => settle(false))
  })
  const stop = async () => {
    process.off("exit", end)
    // an immediate shutdown, which ends the child processes too
    child.kill("SIGQUIT")
    await ended
  }
  if (isServing) return { port, pid: child.pid!, stop }
  process.off("exit", end)
  if (/Address already in use/u.test(log)) return undefined
  throw new Error(`PostgreSQL did not start:\n${log}`)
}

/** A data directory of its own. */
const initialize = async (): Promise<TemporaryFolder> => {
  const data = temporaryFolder("postgres")
  const { path } = data
  const user = owner()
  if (user !== undefined) chownSync(path, user.uid, user.gid)
  const options = ["-D", path, "-U", "gateway", "-A", "trust", "-E", "UTF8", "-N", "--no-locale"]
  await promisify(execFile)(join(folder!, "initdb"), options, { ...user, cwd: "/" })
  return data
}

/**
 * A new data directory: where POSTGRES_TEMPLATE names a path, a copy of the one there, which the first server creates. A copy takes an
 * eighth of the processor time.
 */
const newData = async (): Promise<TemporaryFolder> => {
  const { POSTGRES_TEMPLATE: template } = process.env
  if (template === undefined) return initialize()
  if (!existsSync(template)) {
    const made = await initialize()
    try {
      renameSync(made.path, template)
    } catch {
      // another process was first
      made.remove()
    }
  }
  const data = temporaryFolder("postgres")
  await promisify(execFile)("cp", ["-a", `${template}/.`, data.path])
  return data
}

/** A copy of a running server's data, which starts as its standby. */
const copyOf = async (port: number): Promise<TemporaryFolder> => {
  const data = temporaryFolder("postgres")
  const user = owner()
  if (user !== undefined) chownSync(data.path, user.uid, user.gid)
  const options = ["-D", data.path, "-h", "127.0.0.1", "-p", String(port), "-U", "gateway", "-R", "-c", "fast"]
  await promisify(execFile)(join(folder!, "pg_basebackup"), options, { ...user, cwd: "/" })
  return data
}

/** The child processes of a server: one for each client, and its own workers. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number)

export class PostgresServer {
  private data: TemporaryFolder
  private running: Running
  private readonly durable: boolean
  private constructor(data: TemporaryFolder, running: Running, durable: boolean) {
    this.data = data
    this.running = running
    this.durable = durable
  }
  /** Starts a new server, or a standby of another one. `durable`: commits are synced, for measurements. */
  static async start(primary?: PostgresServer, durable = primary?.durable ?? false): Promise<PostgresServer> {
    const data = await (primary === undefined ? newData() : copyOf(primary.port))
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const running = await serve(data.path, await freePort(), durable)
      if (running !== undefined) return new PostgresServer(data, running, durable)
    }
    throw new Error("no free port for PostgreSQL")
  }
  get port(): number {
    return this.running.port
  }
  /** Runs a statement and returns the values of its rows, one a line. */
  async query(sql: string): Promise<string> {
    const options = ["-h", "127.0.0.1", "-p", String(this.port), "-U", "gateway", "-d", "postgres", "-Atc", sql]
    return (await promisify(execFile)(join(folder!, "psql"), options)).stdout.trim()
  }
  /** Starts again on the same data and port. */
  async begin(): Promise<void> {
    const running = await serve(this.data.path, this.port, this.durable)
    if (running === undefined) throw new Error("the port of PostgreSQL is taken")
    this.running = running
  }
  /** Ends it at once, as a crash does. Its data stay. */
  kill(): Promise<void> {
    return this.running.stop()
  }
  /** Deletes its data; it must be down. */
  async forget(): Promise<void> {
    this.data.remove()
    this.data = await newData()
  }
  private signal(signal: NodeJS.Signals): void {
    // each client has a process of its own, which answers while the first process is suspended
    for (const pid of [this.running.pid, ...childrenOf(this.running.pid)]) process.kill(pid, signal)
  }
  /** Suspends all its processes: connections stay open and nothing is answered. */
  freeze(): void {
    this.signal("SIGSTOP")
  }
  thaw(): void {
    this.signal("SIGCONT")
  }
  async remove(): Promise<void> {
    await this.kill()
    this.data.remove()
  }
}

/** Address of a schema of a server that listens on this port. */
export const urlOf = (schema: string, port: number): string =>
  `postgres://gateway@127.0.0.1:${port}/postgres?options=${encodeURIComponent(`-csearch_path=${schema}`)}`
