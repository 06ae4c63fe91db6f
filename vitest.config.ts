import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/adapters.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // whole exchanges, kills and clocks on a machine that others share: there one stall is no verdict, and .ci/run names who had it
    retry: process.env["CI"] === undefined ? 0 : 1,
    pool: "forks",
    // many tests wait for processes of their own: one at a time would leave a core of two idle
    maxWorkers: 2,
    reporters: ["default"]
  }
})
