/** A value that changes, to be read at any time or watched: who watches slowly sees the newest one, not each. */
import { Effect, Queue, Stream } from "effect"

export interface Watched<A> {
  /** The value now. */
  readonly get: () => A
  /** The value now, then whenever it changed. One value is kept for a watcher that is busy. */
  readonly changes: Stream.Stream<A>
}

/** A {@link Watched} value with the means to change it. */
export const make = <A>(first: A): Watched<A> & { readonly set: (value: A) => void } => {
  let value = first
  const watchers = new Set<(value: A) => void>()
  return {
    get: () => value,
    set: (next) => {
      value = next
      for (const watcher of watchers) watcher(next)
    },
    changes: Stream.callback<A>(
      (queue) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const watcher = (next: A): void => void Queue.offerUnsafe(queue, next)
            watchers.add(watcher)
            watcher(value)
            return watcher
          }),
          (watcher) => Effect.sync(() => watchers.delete(watcher))
        ),
      { bufferSize: 1, strategy: "sliding" }
    )
  }
}
