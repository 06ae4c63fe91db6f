/** Other people's tools in a folder of their own: installed as pinned, run to their end. */
import { execFile, spawn } from "node:child_process"
import { cpSync, mkdirSync } from "node:fs"
import { join } from "node:path"

/** A tool is given so long to end. */
const TOOL_MS_MAX = 300_000
/** What a tool says is read up to here. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

export interface Ran {
  readonly ok: boolean
  readonly output: string
}

/** Runs a program in a folder to its end; its tools come first. */
export const run = (
  folder: string,
  home: string,
  command: ReadonlyArray<string>,
  env: Record<string, string> = {}
): Promise<Ran> =>
  new Promise((resolve) => {
    const [name, ...args] = command
    const options = {
      cwd: folder,
      timeout: TOOL_MS_MAX,
      maxBuffer: OUTPUT_BYTES_MAX,
      env: { ...process.env, ...env, PATH: `${join(home, "node_modules/.bin")}:${process.env["PATH"]}` }
    }
    execFile(name!, args, options, (error, stdout, stderr) => resolve({ ok: error === null, output: stdout + stderr }))
  })

/** Installs the pinned tools; scripts of packages are not run. */
export const install = (home: string, from: string): Promise<Ran> => {
  mkdirSync(home, { recursive: true })
  cpSync(join(from, "package.json"), join(home, "package.json"))
  cpSync(join(from, "spectral.yaml"), join(home, "spectral.yaml"))
  return run(home, home, ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"])
}

/** Starts a program that stays; resolves when it says that it is ready. */
export const start = (home: string, command: ReadonlyArray<string>, ready: RegExp): Promise<() => Promise<void>> =>
  new Promise((resolve, reject) => {
    const [name, ...args] = command
    const child = spawn(join(home, "node_modules/.bin", name!), args, { cwd: home, stdio: ["ignore", "pipe", "pipe"] })
    const ended = new Promise<void>((done) => child.once("exit", () => done()))
    let said = ""
    const hear = (chunk: Buffer) => {
      said += chunk.toString()
      if (ready.test(said)) {
        resolve(() => {
          child.kill()
          return ended
        })
        said = ""
      }
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.once("exit", () => reject(new Error(`${name} ended: ${said}`)))
  })
