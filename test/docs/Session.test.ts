/** The terminal in which the commands of the pages run: it notices what fails, and leaves nothing running. */
import { spawnSync } from "node:child_process"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Clone, clone, session } from "../../scripts/docs/Session.ts"

const LIMIT_MS = 60_000
const hasBash = spawnSync("bash", ["-c", "true"]).status === 0
const blocks = (...texts: ReadonlyArray<string>) =>
  texts.map((text, i) => ({ language: "sh", mark: "", text: `${text}\n`, line: i }))

describe.skipIf(!hasBash)("a session", { timeout: LIMIT_MS + 20_000 }, () => {
  let here: Clone
  beforeAll(() => {
    here = clone()
  })
  afterAll(() => here?.remove())
  const run = (...texts: ReadonlyArray<string>) => session(here, "http://127.0.0.1:4711", blocks(...texts), LIMIT_MS)

  it("runs all commands in one terminal, and returns the output of each", async () => {
    const { ended, steps } = await run("NAME=alice", "echo $NAME; pwd", "echo http://127.0.0.1:3010/ready")
    assert.strictEqual(ended, 0)
    assert.deepStrictEqual(
      steps.map(({ output }) => output.trim()),
      ["", `alice\n${here.path}`, "http://127.0.0.1:4711/ready"]
    )
  })

  it("ends with the first command that fails", async () => {
    const { ended, steps, stderr } = await run("echo one", "echo why >&2; (exit 3); echo no", "echo two")
    assert.deepStrictEqual([ended, steps.length, stderr], [3, 1, "why\n"])
  })

  it("ends with an undefined name", async () => {
    const { ended, steps } = await run("echo $TOKEN_THAT_NOBODY_SET")
    assert.deepStrictEqual([ended, steps.length], [1, 0])
  })

  it("ends what it left running", async () => {
    // a session is over when nobody holds its output any more
    const { ended, steps } = await run("sleep 600 & echo started")
    assert.deepStrictEqual([ended, steps.map(({ output }) => output)], [0, ["started\n"]])
  })
})
