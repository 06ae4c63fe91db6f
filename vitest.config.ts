import * as module from "node:module"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { defineConfig } from "vitest/config"

/** Files that replace a module or measure the heap, which the files of one process share. */
const alone = [
  "test/backend/Restore.test.ts",
  "test/backend/journal/Backup.test.ts",
  "test/backend/journal/Snapshots.test.ts",
  "test/layers/node/ProcessMetrics.test.ts",
  "test/services/identity/Grants.test.ts"
]

/** Files that take more than a minute: they begin first, so that no worker ends long after the others. */
const long = ["page/Page", "docs/Snippets", "e2e/RestoreFleet"].map((name) => `/test/${name}.test.ts`)

/** The long files, then the others in Vitest's own order. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = long.findIndex((path) => moduleId.endsWith(path))
      return at === -1 ? long.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

// for the processes of the tests, and for the programs that they start
const { directory } = module.enableCompileCache()
if (directory !== undefined) process.env["NODE_COMPILE_CACHE"] ??= directory

export default defineConfig({
  test: {
    globalSetup: "test/adapters.ts",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // whole exchanges, kills and clocks on a machine that others share: there one stall is no verdict, and .ci/run names who had it
    retry: process.env["CI"] === undefined ? 0 : 1,
    pool: "forks",
    // a third of a file's time it waits, for processes of its own
    maxWorkers: 4,
    reporters: ["default"],
    sequence: { sequencer: LongFilesFirst },
    // Node loads the sources itself
    experimental: { viteModuleRunner: false },
    projects: [
      // a process loads the sources once for all its files
      {
        extends: true,
        test: {
          name: "shared",
          include: ["test/**/*.test.ts"],
          exclude: alone,
          isolate: false,
          setupFiles: "test/threads.ts"
        }
      },
      { extends: true, test: { name: "alone", include: alone } }
    ]
  }
})
