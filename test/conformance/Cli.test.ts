/** `npm run conformance`: what it prints, and with what it exits. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cases } from "../../conformance/Suite.ts"
import { start } from "../doubles/LyingBackend.ts"
import { startEmbedded } from "./Run.ts"

const program = fileURLToPath(new URL("../../conformance/main.ts", import.meta.url))

/** A process has to start, on a machine that may be busy. */
const TIMEOUT_MS = 120_000

const run = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number | null; readonly text: string; readonly errors: string }>((resolve) => {
    const child = spawn(process.execPath, [program, "--patience", "30000", ...args], {
      stdio: ["ignore", "pipe", "pipe"]
    })
    let text = ""
    let errors = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk))
    child.once("close", (code) => resolve({ code, text, errors }))
  })

describe("the conformance suite as a program", { timeout: TIMEOUT_MS }, () => {
  let embedded: Awaited<ReturnType<typeof startEmbedded>>
  beforeAll(async () => {
    embedded = await startEmbedded()
  })
  afterAll(() => embedded?.stop())

  it("exits with 0 and one document where every case passes", async () => {
    const { code, text } = await run("--sequencer", embedded.address, "--only", "head,fill", "--json")
    const { passed, failed, cases: ran } = JSON.parse(text)
    assert.deepStrictEqual(
      [code, passed, failed, ran.map(({ name }: { readonly name: string }) => name)],
      [0, 2, 0, ["head", "fill"]]
    )
  })

  it("exits with 1 and prints the rule of a case that fails, and its place in the contract", async () => {
    const liar = await start(embedded.address, { answer: (answer) => [answer, answer] })
    try {
      const { code, text } = await run("--sequencer", liar.address, "--only", "head,one-answer")
      const [head, failed, must, contract, last] = text.trim().split("\n")
      assert.strictEqual(code, 1)
      assert.match(head!, /^pass {3}head \(\d+ ms\)$/u)
      assert.match(failed!, /^FAIL {3}one-answer: command [0-9a-f-]+ was sent 1 times and got 2 results$/u)
      assert.strictEqual(must, "       must: every command of the stream gets one result")
      assert.strictEqual(contract, "       contract: docs/contract/boundary.md#sequencer (SubmitStream)")
      assert.strictEqual(last, "does not conform: core 1 of 2 passed")
    } finally {
      liar.stop()
    }
  })

  it("exits with 2 and the reason where nothing can be run", async () => {
    const [nobody, misnamed] = await Promise.all([run("--sequencer", "127.0.0.1:1"), run("--only", "nothing")])
    assert.strictEqual(nobody.code, 2)
    assert.match(nobody.errors, /^conformance: ListInstruments answered UNAVAILABLE/u)
    assert.deepStrictEqual(
      [misnamed.code, misnamed.errors.trim()],
      [2, "conformance: there is no case nothing; --list prints all"]
    )
  })

  it("names every case once, with its clause", async () => {
    assert.strictEqual(new Set(cases.map(({ name }) => name)).size, cases.length)
    const lines = (await run("--list")).text.trim().split("\n")
    assert.strictEqual(lines.length, cases.length)
    for (const line of lines) assert.match(line, /^(?:core|full) {2}[a-z-]+: .+ \(.+\)$/u)
  })
})
