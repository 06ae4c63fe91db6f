/** Preloaded into a gateway: measures the processor time of its main thread, in total and of the longest turn of its event loop. */
import { isMainThread } from "node:worker_threads"
import { cpuOfThisThread } from "../harness/Cpu.ts"

export type Order = "begin" | "watch" | "end"
export interface Cost {
  /** Processor time of the thread, in ms. */
  readonly cpu_ms: number
  /** The same of the longest turn of the event loop; 0 unless "watch" was the order. */
  readonly longest_ms: number
}

if (isMainThread && process.send !== undefined) {
  let began = 0
  let last = 0
  let longest = 0
  let watching = false
  const turn = (): void => {
    const now = cpuOfThisThread()
    longest = Math.max(longest, now - last)
    last = now
    if (watching) setImmediate(turn)
  }
  process.on("message", ({ order }: { readonly order: Order }) => {
    if (order === "end") {
      const cost: Cost = { cpu_ms: cpuOfThisThread() - began, longest_ms: longest }
      watching = false
      process.send!(cost)
      return
    }
    longest = 0
    began = last = cpuOfThisThread()
    watching = order === "watch"
    if (watching) setImmediate(turn)
    process.send!({})
  })
}
