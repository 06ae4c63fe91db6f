/**
 * The tests with changed texts of sources, which {@link Sources} holds: Vitest loads them in this process, and {@link Planted}
 * in processes that tests start. With REACHED each test file has its own process and records the marked places that it executes.
 */
import { join } from "node:path"
import { defineConfig, type Plugin } from "vitest/config"
import base from "../../vitest.config.ts"
import { read } from "./Sources.ts"

const plant: Plugin = { name: "plant", enforce: "pre", load: (id) => read()[id] ?? null }
const recorded = {
  setupFiles: [join(import.meta.dirname, "ReachedBy.ts")],
  projects: [{ extends: true as const, test: { name: "recorded", include: ["test/**/*.test.ts"], isolate: true } }]
}

export default defineConfig({
  ...base,
  plugins: [plant],
  test: {
    ...base.test,
    // the plugin serves the changed texts
    experimental: { viteModuleRunner: true },
    // the key of a cached module does not hold a changed text
    fsModuleCache: false,
    fileParallelism: false,
    ...(process.env["REACHED"] === undefined ? {} : recorded)
  }
})
