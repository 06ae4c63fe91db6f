/** Runs test files with changed sources, each run within a limit of time. */
import { type ChildProcess, fork } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Sources } from "./Sources.ts"

export interface Request {
  /** Changed texts of sources, by path. */
  readonly sources: Sources
  /** Paths of test files, below the project. */
  readonly tests: ReadonlyArray<string>
  /** Failures after which the run ends; 0: it runs to its end. */
  readonly bail: number
}

export interface TestFile {
  readonly path: string
  readonly ms: number
  readonly failed: ReadonlyArray<readonly [name: string, message: string]>
}

export interface Response {
  readonly files: ReadonlyArray<TestFile>
  /** Errors outside of tests. */
  readonly errors: ReadonlyArray<string>
}

const moduleOf = (name: string): string => pathToFileURL(join(import.meta.dirname, name)).href

/** One Vitest that stays between runs. A run that is late ends it with all its processes; the next run starts another one. */
export class Runner {
  private readonly folder = mkdtempSync(join(tmpdir(), "mutants-"))
  private readonly reached: string | undefined
  private server: ChildProcess | undefined

  /** `reached`: a folder in which each test file records the marked places that it executes. */
  constructor(reached?: string) {
    this.reached = reached
  }

  private start(): ChildProcess {
    const planted = join(this.folder, "sources.json")
    writeFileSync(planted, "{}")
    const loaded = [moduleOf("Planted.ts"), ...(this.reached === undefined ? [] : [moduleOf("Reached.ts")])]
    const server = fork(join(import.meta.dirname, "Server.ts"), {
      // a group of its own, so that its processes end with it
      detached: true,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      execArgv: [],
      env: {
        ...process.env,
        PLANTED: planted,
        NODE_OPTIONS: loaded.map((each) => `--import=${each}`).join(" "),
        ...(this.reached === undefined ? {} : { REACHED: this.reached })
      }
    })
    return server
  }

  /** Returns `undefined` where the run takes longer than `limit_ms`. Fails where the tests could not be run. */
  async run(request: Request, limit_ms: number): Promise<Response | undefined> {
    const response = await this.attempt(request, limit_ms)
    const broken = response?.errors.find((error) => error.includes("[vitest-pool]"))
    if (broken === undefined) return response
    // a machine without CPU starts no process in time: that is no failure of a test
    if (!broken.includes("while running test file")) throw new Error(broken)
    // the tests ended their process, such as by an endless list
    await this.end()
    return response
  }

  private async attempt(request: Request, limit_ms: number): Promise<Response | undefined> {
    const server = (this.server ??= this.start())
    const response = await new Promise<Response | undefined>((resolve, reject) => {
      const timer = setTimeout(() => settle(() => resolve(undefined)), limit_ms)
      const onMessage = (response: Response) => settle(() => resolve(response))
      const onExit = (code: number | null) => settle(() => reject(new Error(`Vitest ended with ${code}`)))
      const settle = (end: () => void) => {
        clearTimeout(timer)
        server.off("message", onMessage).off("exit", onExit)
        end()
      }
      server.on("message", onMessage).on("exit", onExit)
      server.send(request)
    })
    if (response === undefined) await this.end()
    return response
  }

  private async end(): Promise<void> {
    const { server } = this
    if (server === undefined) return
    this.server = undefined
    const ended = new Promise((resolve) => server.once("exit", resolve))
    process.kill(-server.pid!, "SIGKILL")
    await ended
  }

  async close(): Promise<void> {
    await this.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
