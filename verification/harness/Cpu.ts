/** Processor time of processes on Linux. */
import { readdirSync, readFileSync } from "node:fs"

/** CPU time of the calling thread so far, in ms. */
export const cpuOfThisThread = (): number => {
  // Linux updates the time of a running thread every 4 ms, and where the time of its whole process is read
  process.cpuUsage()
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

/** CPU time of each thread of a process, in us, by its id. */
export const cpuOfThreads = (pid: number): ReadonlyMap<number, number> =>
  new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => [
      Number(thread),
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]) / 1_000
    ])
  )

/** CPU time of all threads of a process, in us. */
export const cpuOf = (pid: number): number => [...cpuOfThreads(pid).values()].reduce((sum, each) => sum + each, 0)

/** CPU time of a process, ended threads included, in ticks of /proc/stat. */
export const ticksOf = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8")
  // the name of the program, in brackets, may hold spaces
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return Number(fields[11]) + Number(fields[12])
}
