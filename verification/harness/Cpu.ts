/** Processor time of a process on Linux. */
import { readdirSync, readFileSync } from "node:fs"

/** CPU time of all threads of a process, in us. */
export const cpuOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]) / 1_000)
    .reduce((sum, each) => sum + each, 0)
