/**
 * Plants a fault in the source of a module as it is loaded: `node --import ./verification/simulation/Mutant.ts …` with MUTANT set
 * to the JSON of a {@link Mutant}. For rules that no seam reaches.
 */
import { registerHooks } from "node:module"

export interface Mutant {
  /** How the path of the module ends. */
  readonly module: string
  /** What stands there once. */
  readonly right: string
  /** What shall stand there instead. */
  readonly wrong: string
}

const { module, right, wrong } = JSON.parse(process.env["MUTANT"]!) as Mutant

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith(module)) return loaded
    const parts = String(loaded.source).split(right)
    if (parts.length !== 2) throw new Error(`${url} has "${right}" ${parts.length - 1} times`)
    return { ...loaded, source: parts.join(wrong) }
  }
})
