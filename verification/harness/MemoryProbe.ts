/**
 * Loaded into a gateway before anything else: tells what each of its threads holds after a collection, and how late its
 * event loop was since it was asked last.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { BroadcastChannel, isMainThread } from "node:worker_threads"

declare module "node:worker_threads" {
  /** It has it; the types leave it out. */
  interface BroadcastChannel {
    unref(): this
  }
}

/** What the process holds, in bytes and counts. */
export interface Held {
  /** Heaps of the threads together with what they hold outside, of the main thread, and of the others. */
  readonly main_bytes: number
  readonly threads_bytes: number
  readonly rss_bytes: number
  /** Timers, sockets, servers and the like of the main thread. */
  readonly handles: number
  readonly lag_p99_ms: number
  readonly lag_max_ms: number
}

/** How finely the event loop is looked at, and how long threads may take to answer, in ms. */
const LAG_MS = 10
const ANSWER_MS = 30_000
/** Threads that live for a moment only, such as the one that takes snapshots, are not waited for. */
const SETTLED_MS = 500

/** What threads say to each other: a question, and what one holds as the answer to it. */
type Said = { readonly ask: number } | { readonly about: number; readonly bytes: number }
const channel = new BroadcastChannel("soak")
const say = (said: Said): void => channel.postMessage(said)
const onSaid = (take: (said: Said) => void): void => {
  channel.addEventListener("message", (event) => take((event as MessageEvent<Said>).data))
  // it keeps no thread alive
  channel.unref()
}
const heldHere = (): number => {
  // the second takes what finalizers of the first let go
  globalThis.gc?.()
  globalThis.gc?.()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + Math.max(external, arrayBuffers)
}

if (isMainThread) {
  const lag = monitorEventLoopDelay({ resolution: LAG_MS })
  lag.enable()
  /** Others answer with the number of the question. */
  let asked = 0
  let heard: (bytes: number) => void = () => {}
  onSaid((said) => {
    if ("about" in said && said.about === asked) heard(said.bytes)
  })
  process.on("message", async () => {
    const [p99, max] = [lag.percentile(99) / 1e6 - LAG_MS, lag.max / 1e6 - LAG_MS]
    // what measuring costs is not the gateway's
    lag.disable()
    let threads_bytes = 0
    await new Promise<void>((resolve) => {
      let quiet = setTimeout(resolve, ANSWER_MS)
      heard = (bytes) => {
        threads_bytes += bytes
        clearTimeout(quiet)
        quiet = setTimeout(resolve, SETTLED_MS)
      }
      say({ ask: ++asked })
    })
    const held: Held = {
      main_bytes: heldHere(),
      threads_bytes,
      rss_bytes: process.memoryUsage.rss(),
      handles: process.getActiveResourcesInfo().length,
      lag_p99_ms: Math.max(0, p99),
      lag_max_ms: Math.max(0, max)
    }
    lag.reset()
    lag.enable()
    process.send?.(held)
  })
  process.channel?.unref()
} else {
  onSaid((said) => {
    if ("ask" in said) say({ about: said.ask, bytes: heldHere() })
  })
}
