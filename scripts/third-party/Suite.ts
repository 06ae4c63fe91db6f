/** Tests that run through the validating proxy, each as a process of its own. */
import { root } from "../../verification/harness/NodeProcess.ts"
import type { Proxy } from "./Prism.ts"
import { run } from "./Tools.ts"

/** All e2e files except those that count requests, send broken bodies or stop their exchange: `npm test` runs these. */
const files = [
  "Auth",
  "Commands",
  "Competition",
  "Conditional",
  "Expiry",
  "Foreign",
  "Holdings",
  "KeyRotation",
  "Reads",
  "Story",
  "Users"
]

/** Runs e2e tests through the proxy. A violation fails the test that meets it. */
export const runTests = (home: string, { url }: Proxy): Promise<{ readonly ok: boolean; readonly output: string }> => {
  const tests = files.map((name) => `test/e2e/${name}.test.ts`)
  return run(root, home, [`${root}/node_modules/.bin/vitest`, "run", "--maxWorkers=1", ...tests], { E2E_PROXY: url })
}

/** The report of `test/spec/through-proxy.ts`. */
export interface Cells {
  /** Answers of the gateway that passed the proxy. */
  readonly answers: number
  /** Cells whose request the proxy could not read: it answered by itself, or not at all. */
  readonly refused: ReadonlyArray<string>
  /** Cells whose request the proxy changed: broken escapes, duplicate keys. */
  readonly rewritten: ReadonlyArray<string>
  readonly violations: ReadonlyArray<string>
}

/** Sends every cell of the table of endpoints through the proxy. */
export const sendCells = async (home: string, { url }: Proxy): Promise<Cells> => {
  const { ok, output } = await run(root, home, [process.execPath, "test/spec/through-proxy.ts", url])
  if (!ok) throw new Error(output)
  return JSON.parse(output.trim().split("\n").at(-1)!) as Cells
}
