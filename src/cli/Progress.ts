/** How far long work has come: a line on the standard error that is written over, where that is a terminal. */
import { Effect } from "effect"

/** Time between two looks, in ms. */
const LOOK_MS = 100

const write = (text: string): void => void process.stderr.write(`\r\u001b[K${text}`)

/** Shows the share of work that is counted, while it runs; the work itself calls back. */
export const counted = <A, E, R>(
  label: string,
  work: (progress: (done: number, total: number) => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (!process.stderr.isTTY) return work(() => {})
  let looked = 0
  const progress = (done: number, total: number): void => {
    const now = performance.now()
    if (now - looked < LOOK_MS && done < total) return
    looked = now
    write(`${label}: ${Math.floor((100 * done) / Math.max(1, total))} % of ${total}`)
  }
  return Effect.ensuring(
    Effect.suspend(() => work(progress)),
    Effect.sync(() => write(""))
  )
}

/** Shows for how long work has been going on that nobody can count. */
export const timed = <A, E, R>(label: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (!process.stderr.isTTY) return work
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const began = performance.now()
      const look = () => write(`${label}: ${Math.floor((performance.now() - began) / 1_000)} s`)
      look()
      return setInterval(look, LOOK_MS)
    }),
    () => work,
    (timer) =>
      Effect.sync(() => {
        clearInterval(timer)
        write("")
      })
  )
}
