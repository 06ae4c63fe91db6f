/**
 * Processor time of an exchange at rest, that is one with the simulated market and without users:
 * `node verification/rest/main.ts [minutes = 10]`. Prints the share of a core of each thread, minute by minute from the
 * second minute on, and ends with 1 where the mean exceeds 3 %.
 */
import { readFileSync } from "node:fs"
import { cpuOfThreads } from "../harness/Cpu.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { numbers } from "../harness/Arguments.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { sleep } from "../harness/Wait.ts"

const MINUTE_MS = 60_000
/** Largest mean, in percent of a core. */
const PERCENT_MAX = 3

const minutes = Math.max(2, Number(numbers({}).positionals[0] ?? 10))
const folder = temporaryFolder("rest")
const gateway = await startGateway({ dataDir: folder.path, env: { SIM_TAKERS: "on" } })
/** Threads that V8 and libuv start together have one line. */
const nameOf = (thread: number): string =>
  readFileSync(`/proc/${gateway.pid}/task/${thread}/comm`, "utf8")
    .trim()
    .replace(/[-\d]+$/, "")
let sum = 0
try {
  await sleep(MINUTE_MS)
  for (let minute = 2; minute <= minutes; minute++) {
    const before = cpuOfThreads(gateway.pid)
    const began = performance.now()
    await sleep(MINUTE_MS)
    const wall_ms = performance.now() - began
    const shares = new Map<string, number>()
    for (const [thread, us] of cpuOfThreads(gateway.pid)) {
      const percent = (us - (before.get(thread) ?? 0)) / 10 / wall_ms
      const name = nameOf(thread)
      shares.set(name, (shares.get(name) ?? 0) + percent)
      sum += percent
    }
    const parts = [...shares]
      .filter(([, percent]) => percent >= 0.01)
      .map(([name, percent]) => `${name} ${percent.toFixed(2)}`)
    const total = [...shares.values()].reduce((all, each) => all + each, 0)
    console.log(`minute ${minute}: ${total.toFixed(2)} % of a core; ${parts.join(", ")}`)
  }
} finally {
  await gateway.stop()
  folder.remove()
}
const mean = sum / (minutes - 1)
console.log(`mean ${mean.toFixed(2)} % of a core`)
process.exit(mean <= PERCENT_MAX ? 0 : 1)
