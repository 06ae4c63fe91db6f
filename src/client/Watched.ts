/** A value that changes. It can be read at any time or watched; a slow watcher receives only the newest value. */
import { Effect, Queue, Stream } from "effect"

export interface Watched<A> {
  /** The current value. */
  readonly get: () => A
  /** The current value, then each change. One value is buffered for a busy watcher. */
  readonly changes: Stream.Stream<A>
}

/** A {@link Watched} value with a setter. */
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
