/** The ten points at which a process is killed, and how it is held to them. */
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
  "after the sockets are told"
] as const
export type Point = (typeof points)[number]

/** Which process passes a point. */
export const victimOf = (point: Point): "backend" | "gateway" =>
  points.indexOf(point) < points.indexOf("before the acknowledgement") ? "backend" : "gateway"

/** Points that lie inside a system call, which strace ends the process at the beginning of. */
export const calls: { readonly [P in Point]?: "pwrite64" | "fsync,fdatasync" } = {
  "amid the journal's write": "pwrite64",
  "before the journal's sync": "fsync,fdatasync"
}

/** What a process that was started with the trap does once it is told to: it dies when it has passed a point so often. */
export interface Order {
  readonly point: Point
  readonly passes: number
}

/** Tells a process that has the trap; `file` is the one that it was told to read. */
export const arm = (pid: number, file: string, order: Order): void => {
  writeFileSync(`${file}.next`, JSON.stringify(order))
  renameSync(`${file}.next`, file)
  process.kill(pid, "SIGUSR2")
}

/** Has strace kill a process when it begins a call on a file for the n-th time; answers once strace has ended. */
export const strike = (pid: number, path: string, call: string, passes: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const inject = `inject=${call}:signal=KILL:when=${passes}`
    const options = ["-f", "-qq", "-o", "/dev/null", "-p", String(pid), "-P", path, "-e", `trace=${call}`, "-e", inject]
    const child = spawn("strace", options, { stdio: "ignore" })
    child.once("error", reject)
    child.once("exit", () => resolve())
  })
