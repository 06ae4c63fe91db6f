/** The runtime of the SDK: network, time and randomness of a page, of Node, or of a test. */
import type { WebSocketLike } from "../client/WebSocketLike.ts"
import { deferred } from "./Deferred.ts"

export interface Environment {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly WebSocket: new (url: string) => WebSocketLike
  /** Monotonic time, in ms. */
  readonly now: () => number
  /** Unix time of this machine, in ms. */
  readonly wall: () => number
  /** A number from 0 to 1. */
  readonly chance: () => number
  /** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
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

/** Used where there is no WebSocket, as in Node 20: only feeds need one. */
class MissingWebSocket {
  constructor() {
    throw new Error(
      "this runtime has no WebSocket: use Node 22 or newer, or set environment.WebSocket, such as that of the package ws"
    )
  }
}

/** The environment of the current runtime. */
export const here = (): Environment => ({
  fetch: (url, init) => globalThis.fetch(url, init),
  WebSocket: globalThis.WebSocket ?? MissingWebSocket,
  now: () => performance.now(),
  wall: () => Date.now(),
  chance: () => Math.random(),
  sleep
})

/**
 * A controller that aborts with the first of some signals; `free` removes its listeners. (`AbortSignal.any` would leave them on a
 * long-lived signal.)
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
    abort: (reason: unknown): void => controller.abort(reason),
    free: (): void => frees.forEach((free) => free())
  }
}

/** The result of a promise; rejects with the signal's reason if it aborts first. */
export const unlessAborted = async <A>(promise: Promise<A>, signal: AbortSignal): Promise<A> => {
  const aborted = deferred<never>()
  const stop = (): void => aborted.reject(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop)
  try {
    return await Promise.race([aborted.promise, promise])
  } finally {
    signal.removeEventListener("abort", stop)
  }
}
