/** What the client takes from where it runs: a page, Node, or a test with a clock and chance of its own. */
import type { WebSocketLike } from "effect/socket/Socket"

export interface Environment {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly WebSocket: new (url: string) => WebSocketLike
  /** Time that only goes forward, in ms. */
  readonly now: () => number
  /** Unix time as this machine has it, in ms. */
  readonly wall: () => number
  /** A number from 0 to 1. */
  readonly chance: () => number
  /** Resolves after so many ms; rejects with the signal's reason when that comes first. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener("abort", stop, { once: true })
  })

/** The environment of now. */
export const here = (): Environment => ({
  fetch: (url, init) => globalThis.fetch(url, init),
  WebSocket: globalThis.WebSocket,
  now: () => performance.now(),
  wall: () => Date.now(),
  chance: () => Math.random(),
  sleep
})

/**
 * A controller that is aborted with the first of some signals; `free` takes its listeners off them. (`AbortSignal.any` would leave
 * them on a signal that lives long.)
 */
export const joined = (...signals: ReadonlyArray<AbortSignal | undefined>) => {
  const controller = new AbortController()
  const frees = signals.map((signal) => {
    const stop = (): void => controller.abort(signal!.reason)
    if (signal?.aborted === true) stop()
    signal?.addEventListener("abort", stop)
    return () => signal?.removeEventListener("abort", stop)
  })
  return {
    signal: controller.signal,
    abort: (reason?: unknown): void => controller.abort(reason),
    free: (): void => frees.forEach((free) => free())
  }
}
