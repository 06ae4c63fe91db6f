/** Command lines of the suites: flags with numbers, and positional arguments. */
import { parseArgs } from "node:util"

/** Reads `--name N` flags with these defaults; the rest are positional arguments. */
export const numbers = <K extends string>(
  defaults: Readonly<Record<K, number>>
): { readonly values: Readonly<Record<K, number>>; readonly positionals: ReadonlyArray<string> } => {
  const names = Object.keys(defaults) as Array<K>
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]))
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  const valueOf = (name: K): number => {
    const value = values[name] === undefined ? defaults[name] : Number(values[name])
    if (!Number.isFinite(value)) throw new Error(`--${name}: ${values[name]} is not a number`)
    return value
  }
  return { positionals, values: Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<K, number> }
}

/** Aborts at SIGINT and SIGTERM, so that a run ends the processes that it started. */
export const interruption = (): AbortSignal => {
  const stop = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort())
  return stop.signal
}
