/**
 * The tests with one fault planted in a module: the JSON of a {@link Mutant} in MUTANT. Processes that the tests start load it
 * through NODE_OPTIONS. The cache of modules is off, because its key does not hold the fault.
 */
import { defineConfig, mergeConfig, type Plugin } from "vitest/config"
import type { Mutant } from "../simulation/Mutant.ts"
import base from "../../vitest.config.ts"

const { module, right, wrong } = JSON.parse(process.env["MUTANT"]!) as Mutant

const plant: Plugin = {
  name: "plant",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith(module)) return null
    const parts = code.split(right)
    if (parts.length !== 2) throw new Error(`${id} has "${right}" ${parts.length - 1} times`)
    return parts.join(wrong)
  }
}

export default mergeConfig(base, defineConfig({ plugins: [plant], test: { fsModuleCache: false, maxWorkers: 1 } }))
