/** Seeded randomness: one seed repeats one run. */

/** Uniform in [0, 1). */
export type Random = () => number

/** The mulberry32 generator. */
export const random =
  (seed: number): Random =>
  () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

export const pick = <A>(next: Random, list: ReadonlyArray<A>): A => list[Math.floor(next() * list.length)]!
