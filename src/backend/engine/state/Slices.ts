/**
 * An input in execution: it stops where the rest can wait, so that the caller can return to the event loop. The state is
 * inconsistent until the end; the results do not depend on the stops.
 */
export type Slices<A = void> = Generator<undefined, A, undefined>

/** Time after which an input returns to the event loop before it goes on, in ms. */
export const SLICE_MS = 5

/** Runs all slices at once. */
export const drain = <A>(slices: Slices<A>): A => {
  let next = slices.next()
  while (next.done !== true) next = slices.next()
  return next.value
}

/** Items that are sorted at once. */
const SORTED_AT_ONCE = 512

/** A sorted copy, as Array.prototype.sort makes it. */
export const sort = function* <A>(items: Iterable<A>, compare: (a: A, b: A) => number): Slices<Array<A>> {
  let sorted = [...items]
  if (sorted.length <= SORTED_AT_ONCE) return sorted.sort(compare)
  const { length } = sorted
  const runs: Array<A> = []
  for (let start = 0; start < length; start += SORTED_AT_ONCE) {
    yield
    for (const item of sorted.slice(start, start + SORTED_AT_ONCE).sort(compare)) runs.push(item)
  }
  sorted = runs
  for (let size = SORTED_AT_ONCE; size < length; size *= 2) {
    const merged: Array<A> = []
    for (let start = 0; start < length; start += 2 * size) {
      let left = start
      let right = start + size
      const middle = Math.min(right, length)
      const end = Math.min(right + size, length)
      while (left < middle || right < end) {
        if (merged.length % SORTED_AT_ONCE === 0) yield
        const isLeft = right >= end || (left < middle && compare(sorted[left]!, sorted[right]!) <= 0)
        merged.push(sorted[isLeft ? left++ : right++]!)
      }
    }
    sorted = merged
  }
  return sorted
}
