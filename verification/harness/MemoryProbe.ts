/**
 * Preloaded into a gateway: reports the memory of each thread after a garbage collection, and the delay of the event loop
 * since the last report.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { BroadcastChannel, isMainThread } from "node:worker_threads"

declare module "node:worker_threads" {
  /** Node has this method; its types lack it. */
  interface BroadcastChannel {
    unref(): this
  }
}

/** What the process holds. */
export interface Held {
  /** Heap and external memory of the main thread, and of the other threads. */
  readonly main_bytes: number
  readonly threads_bytes: number
  readonly rss_bytes: number
  /** Timers, sockets, servers and other active resources of the main thread. */
  readonly handles: number
  readonly lag_p99_ms: number
  readonly lag_max_ms: number
}

/** Resolution of the delay, and longest answer of a thread, in ms. */
const LAG_MS = 10
const ANSWER_MS = 30_000
/** After the first answer, silence of so long ends the wait: a short-lived thread, such as that of snapshots, may not answer. */
const SETTLED_MS = 500

/** Messages between threads: a numbered request, and the answer to it. */
type Message = { readonly request: number } | { readonly answerTo: number; readonly bytes: number }
const channel = new BroadcastChannel("soak")
const post = (message: Message): void => channel.postMessage(message)
const onMessage = (take: (message: Message) => void): void => {
  channel.addEventListener("message", (event) => take((event as MessageEvent<Message>).data))
  // the channel must keep no thread alive
  channel.unref()
}
const heldHere = (): number => {
  // the second frees what finalizers of the first released
  globalThis.gc?.()
  globalThis.gc?.()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + Math.max(external, arrayBuffers)
}

if (isMainThread) {
  const lag = monitorEventLoopDelay({ resolution: LAG_MS })
  lag.enable()
  let requested = 0
  let onAnswer: (bytes: number) => void = () => {}
  onMessage((message) => {
    if ("answerTo" in message && message.answerTo === requested) onAnswer(message.bytes)
  })
  process.on("message", async () => {
    const [p99, max] = [lag.percentile(99) / 1e6 - LAG_MS, lag.max / 1e6 - LAG_MS]
    // the measurement itself does not count
    lag.disable()
    let threads_bytes = 0
    await new Promise<void>((resolve) => {
      let quiet = setTimeout(resolve, ANSWER_MS)
      onAnswer = (bytes) => {
        threads_bytes += bytes
        clearTimeout(quiet)
        quiet = setTimeout(resolve, SETTLED_MS)
      }
      post({ request: ++requested })
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
  onMessage((message) => {
    if ("request" in message) post({ answerTo: message.request, bytes: heldHere() })
  })
}
