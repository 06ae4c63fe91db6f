import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/adapters.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    // many tests wait for processes of their own: one at a time would leave a core of two idle
    maxWorkers: 2,
    reporters: ["default"]
  }
})
