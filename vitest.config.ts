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
    pool: "forks",
    // a file waits for processes, sockets and clocks for more than half of its time: two would leave a core of two idle
    maxWorkers: 4,
    reporters: ["default"],
    projects: [
      { extends: true, test: { name: "shared", include: shared, isolate: false } },
      { extends: true, test: { name: "alone", include: ["test/**/*.test.ts"], exclude: shared } }
    ]
  }
})
