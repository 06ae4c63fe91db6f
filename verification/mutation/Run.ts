/** Runs tests with a fault planted. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Mutant } from "../simulation/Mutant.ts"

const root = join(import.meta.dirname, "../..")

export interface Judgement {
  /** `broken`: the tests did not run, so the fault proves nothing. */
  readonly verdict: "killed" | "survived" | "slow" | "broken"
  /** full names of the tests that failed */
  readonly failed: ReadonlyArray<string>
}

interface Report {
  readonly numTotalTests: number
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly message: string
    readonly assertionResults: ReadonlyArray<{ readonly fullName: string; readonly status: string }>
  }>
}

/** Runs test files with a fault planted, until the first failure; a run beyond the limit counts as `slow`. */
export const judge = (mutant: Mutant, tests: ReadonlyArray<string>, limit_ms: number): Judgement => {
  const folder = mkdtempSync(join(tmpdir(), "mutant-"))
  const report = join(folder, "report.json")
  try {
    const { error } = spawnSync(
      process.execPath,
      [
        join(root, "node_modules/vitest/vitest.mjs"),
        "run",
        "--root",
        root,
        "--config",
        join(import.meta.dirname, "vitest.config.ts"),
        "--bail",
        "1",
        "--reporter",
        "json",
        "--outputFile",
        report,
        ...tests
      ],
      {
        cwd: root,
        stdio: "ignore",
        timeout: limit_ms,
        env: { ...process.env, MUTANT: JSON.stringify(mutant) }
      }
    )
    if (error !== undefined) return { verdict: "slow", failed: [] }
    const { numTotalTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report
    const failed = testResults.flatMap(({ assertionResults, message, name, status }) => {
      const named = assertionResults.filter((test) => test.status === "failed").map((test) => test.fullName)
      // a file whose import fails has no tests
      return named.length === 0 && status === "failed" ? [`${name}: ${message.split("\n")[0]}`] : named
    })
    if (numTotalTests === 0) return { verdict: "broken", failed }
    return { verdict: failed.length > 0 ? "killed" : "survived", failed }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
