/** Figures of many measurements. */

/** The value below which a share of all values lies; 0 of none. */
export const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
export const median = (values: ReadonlyArray<number>): number => percentile(values, 0.5)
export const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Counts by name. */
export type Counts = Record<string, number>
export const count = (counts: Counts, name: string): void => void (counts[name] = (counts[name] ?? 0) + 1)
/** The sum of several counts, by name. */
export const sumOf = (all: ReadonlyArray<Readonly<Counts>>): Counts => {
  const sum: Counts = {}
  for (const counts of all) for (const [name, times] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + times
  return sum
}
/** The counts as text: `3 × timeout; 1 × refused`. */
export const listed = (counts: Readonly<Counts>): string =>
  Object.entries(counts)
    .map(([name, times]) => `${times} × ${name}`)
    .join("; ") || "none"
