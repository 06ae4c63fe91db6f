/** A PostgreSQL with its own data directory on a free port of the loopback, for tests and scripts. */
import { execFileSync, spawn } from "node:child_process"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../scripts/GatewayProcess.ts"
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

/** A server that runs, with a data directory of its own. */
export interface Running {
  readonly port: number
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
  if (serves) return { port, stop }
  process.off("exit", end)
  if (/Address already in use/u.test(said)) return undefined
  throw new Error(`PostgreSQL did not start:\n${said}`)
}

/** Makes a data directory and serves it; `stop` removes it. */
export const start = async (): Promise<Running> => {
  const data = mkdtempSync(join(tmpdir(), "postgres-"))
  const user = owner()
  if (user !== undefined) chownSync(data, user.uid, user.gid)
  execFileSync(
    join(folder!, "initdb"),
    ["-D", data, "-U", "gateway", "-A", "trust", "-E", "UTF8", "-N", "--no-locale"],
    {
      ...user,
      stdio: "ignore",
      cwd: "/"
    }
  )
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const running = await serve(data, await freePort())
    if (running === undefined) continue
    const stop = async () => {
      await running.stop()
      rmSync(data, { recursive: true, force: true })
    }
    return { port: running.port, stop }
  }
  throw new Error("no free port for PostgreSQL")
}

/** Address of a schema of a server that listens on this port. */
export const urlOf = (schema: string, port: number): string =>
  `postgres://gateway@127.0.0.1:${port}/postgres?options=${encodeURIComponent(`-csearch_path=${schema}`)}`
