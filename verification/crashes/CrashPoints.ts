/** The ten points at which a process is killed, and how the kill is arranged. */
import { spawn } from "node:child_process"
import { renameSync, writeFileSync } from "node:fs"

export const points = [
  "before the journal is written",
  "amid the journal's write",
  "before the journal's sync",
  "after the journal's sync",
  "after the backend's answer",
  "before the acknowledgement",
  "after the acknowledgement",
  "before the projector's commit",
  "after the projector's commit",
  "after the sockets' frames"
] as const
export type Point = (typeof points)[number]

/** The process that passes a point. */
export const victimOf = (point: Point): "backend" | "gateway" =>
  points.indexOf(point) < points.indexOf("before the acknowledgement") ? "backend" : "gateway"

/** Points inside a system call: strace kills the process when it begins the call. */
export const calls: { readonly [P in Point]?: "pwrite64" | "fsync,fdatasync" } = {
  "amid the journal's write": "pwrite64",
  "before the journal's sync": "fsync,fdatasync"
}

/** The order to a process with the crash injector: it dies when it has passed a point so often. */
export interface CrashOrder {
  readonly point: Point
  readonly passes: number
}

/** Sends an order to a process with the crash injector, through the file that its KILL_ORDER names. */
export const arm = (pid: number, file: string, order: CrashOrder): void => {
  writeFileSync(`${file}.next`, JSON.stringify(order))
  renameSync(`${file}.next`, file)
  process.kill(pid, "SIGUSR2")
}

/** Attaches strace, which kills the process when it begins a call on a file for the n-th time. Resolves when strace has ended. */
export const strike = (pid: number, path: string, call: string, passes: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const inject = `inject=${call}:signal=KILL:when=${passes}`
    const options = ["-f", "-qq", "-o", "/dev/null", "-p", String(pid), "-P", path, "-e", `trace=${call}`, "-e", inject]
    const child = spawn("strace", options, { stdio: "ignore" })
    child.once("error", reject)
    child.once("exit", () => resolve())
  })
