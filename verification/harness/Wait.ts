/** Waiting for what is asked again and again. */

/** Pause between two looks, in ms. */
const LOOK_MS = 20

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Asks until something is answered; fails after `limit_ms`, naming what was awaited. */
export const until = async <A>(what: string, limit_ms: number, look: () => Promise<A | undefined>): Promise<A> => {
  const deadline = performance.now() + limit_ms
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`${what}: not within ${limit_ms} ms`)
    await sleep(LOOK_MS)
  }
}
