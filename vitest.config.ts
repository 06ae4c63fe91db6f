import { defineConfig } from "vitest/config"

/**
 * Files whose tests share a process one after another, so that each loads only what the files before it did not. What they test
 * is in this process alone, and they replace no module.
 */
const shared = ["domain", "services", "client", "backend/engine", "ws", "http"].map(
  (folder) => `test/${folder}/**/*.test.ts`
)

export default defineConfig({
  test: {
    globalSetup: "test/adapters.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // whole exchanges, kills and clocks on a machine that others share: there one stall is no verdict, and .ci/run names who had it
    retry: process.env["CI"] === undefined ? 0 : 1,
    pool: "forks",
    // most of a file's time it waits, for processes of its own or to load: two at a time leave half of two cores idle
    maxWorkers: 3,
    reporters: ["default"],
    projects: [
      { extends: true, test: { name: "shared", include: shared, isolate: false } },
      { extends: true, test: { name: "alone", include: ["test/**/*.test.ts"], exclude: shared } }
    ]
  }
})
