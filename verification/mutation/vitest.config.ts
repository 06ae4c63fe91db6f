/**
 * The tests with changed texts of sources, which {@link Sources} holds: Vitest loads them in this process, and {@link Planted}
 * in processes that tests start. With REACHED each test file has its own process and records the marked places that it executes.
 */
import { join } from "node:path"
import { defineConfig, mergeConfig, type Plugin } from "vitest/config"
import base from "../../vitest.config.ts"
import { read } from "./Sources.ts"

const plant: Plugin = { name: "plant", enforce: "pre", load: (id) => read()[id] ?? null }
const isRecorded = process.env["REACHED"] !== undefined

export default mergeConfig(
  base,
  defineConfig({
    plugins: [plant],
    test: {
      // the key of a cached module does not hold a changed text
      fsModuleCache: false,
      fileParallelism: false,
      ...(isRecorded ? { setupFiles: [join(import.meta.dirname, "ReachedBy.ts")] } : {})
    }
  })
)
