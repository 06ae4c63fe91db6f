/** The process with the Python clients: its events, its commands and its reports. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import type { FeedEvent } from "../../src/client/FeedEvent.ts"
import { ended } from "../harness/Programs.ts"
import { PYTHON, pythonClient, pythonEnv } from "../harness/Python.ts"

export interface Report {
  readonly busy: boolean
  /** For each user the ids of its orders by `order_link_id`; "": refused, null: its fate is unknown. */
  readonly orders: ReadonlyArray<Readonly<Record<string, string | null>>>
  readonly books: ReadonlyArray<{
    readonly bids: ReadonlyArray<unknown>
    readonly asks: ReadonlyArray<unknown>
    readonly sound: boolean
    readonly faults: number
  }>
}
type Line =
  | { readonly follower: number; readonly event: FeedEvent }
  | { readonly report: Report }
  | { readonly fault: string }
  | { readonly ready: true }

export class PythonClients {
  private readonly child: ChildProcessByStdio<Writable, Readable, null>
  private readonly readiness = Promise.withResolvers<void>()
  private reports: Array<(report: Report) => void> = []

  /** Starts the process. `onEvent` receives the events of the followers, `onFault` what must not happen. */
  constructor(
    setting: object,
    onEvent: (follower: number, event: FeedEvent) => void,
    onFault: (fault: string) => void
  ) {
    const file = join(pythonClient, "tests/cut.py")
    this.child = spawn(PYTHON, [file], { env: pythonEnv, stdio: ["pipe", "pipe", "inherit"] })
    this.child.once("exit", (code) => {
      if (code !== null) onFault(`the Python process ended with ${code}`)
      this.readiness.reject(new Error(`the Python process ended with ${code}`))
    })
    this.readiness.promise.catch(() => {}) // `ready` rejects with it
    createInterface(this.child.stdout).on("line", (text) => {
      const line = JSON.parse(text) as Line
      if ("event" in line) onEvent(line.follower, line.event)
      else if ("report" in line) this.reports.shift()?.(line.report)
      else if ("fault" in line) onFault(line.fault)
      else this.readiness.resolve()
    })
    this.send(JSON.stringify(setting))
  }
  /** Resolves when all clients are connected. */
  get ready(): Promise<void> {
    return this.readiness.promise
  }
  send(command: string): void {
    this.child.stdin.write(`${command}\n`)
  }
  report(): Promise<Report> {
    this.send("report")
    return new Promise((resolve) => this.reports.push(resolve))
  }
  close(): Promise<void> {
    return ended(this.child)
  }
}
