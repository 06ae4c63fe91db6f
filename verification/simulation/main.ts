/**
 * Runs seeds of the simulation on every core: `node verification/simulation/main.ts [seeds = 10000] [commands = 1000] [first = 1]`.
 *
 * A failure is printed at once, with the command that repeats its seed. Progress lines name the seed from which an interrupted run
 * can continue. The last line is a summary.
 */
import { availableParallelism } from "node:os"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { type Outcome, simulate } from "./Simulation.ts"

/** Time between two lines of progress, in ms. */
const PROGRESS_MS = 30_000

interface Task {
  readonly seed: number
  readonly commands: number
}

interface Finished {
  readonly seed: number
  readonly outcome?: Outcome
  readonly failure?: string
}

const run = async ({ seed, commands }: Task): Promise<Finished> => {
  try {
    return { seed, outcome: await simulate({ seed, commands }) }
  } catch (error) {
    return { seed, failure: (error as Error).message }
  }
}

const serve = (): void => {
  const { commands } = workerData as { readonly commands: number }
  parentPort!.on(
    "message",
    (seed: number) => void run({ seed, commands }).then((finished) => parentPort!.postMessage(finished))
  )
}

const coordinate = async (seeds: number, commands: number, first: number): Promise<void> => {
  const began = performance.now()
  const running = new Set<number>()
  const sums = { failures: 0, crashes: 0, fills: 0, deleveraged: 0, marked: 0, fired: 0, late: 0, entries: 0 }
  let next = first
  let done = 0
  const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
  const seconds = () => Math.round((performance.now() - began) / 1000)
  const progress = setInterval(() => {
    const resume = Math.min(next, ...running)
    say({
      done,
      ...sums,
      seconds: seconds(),
      resume: `node verification/simulation/main.ts ${first + seeds - resume} ${commands} ${resume}`
    })
  }, PROGRESS_MS)
  const take = ({ seed, outcome, failure }: Finished): void => {
    running.delete(seed)
    done++
    if (outcome === undefined) {
      sums.failures++
      process.stderr.write(`${failure}\n`)
      return
    }
    sums.crashes += outcome.crashes
    sums.fills += outcome.fills
    sums.deleveraged += outcome.deleveraged
    sums.marked += outcome.marked
    sums.fired += outcome.fired
    sums.late += outcome.late
    sums.entries += outcome.entries
  }
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { commands } })
      const give = (): void => {
        if (next >= first + seeds) return void worker.terminate().then(() => resolve())
        running.add(next)
        worker.postMessage(next++)
      }
      worker.on("error", reject)
      worker.on("message", (finished: Finished) => {
        take(finished)
        give()
      })
      give()
    })
  await Promise.all(Array.from({ length: Math.min(seeds, availableParallelism()) }, work))
  clearInterval(progress)
  say({ seeds, commands, ...sums, seconds: seconds() })
  process.exitCode = sums.failures === 0 ? 0 : 1
}

if (isMainThread) {
  const [seeds = 10_000, commands = 1000, first = 1] = process.argv.slice(2).map(Number)
  await coordinate(seeds, commands, first)
} else serve()
