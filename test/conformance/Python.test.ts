/** The backend of examples/python passes the core part, also after it was killed and started again. */
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { cases } from "../../conformance/Suite.ts"
import { failures } from "./Run.ts"

/** Debian's: it has the packages of the distribution. */
const PYTHON = "/usr/bin/python3"
const program = fileURLToPath(new URL("../../examples/python/backend.py", import.meta.url))
const works = (command: string, ...args: ReadonlyArray<string>) => spawnSync(command, args).status === 0
const installed =
  works(PYTHON, "-c", "import grpc") && works("protoc", "--version") && works("which", "grpc_python_plugin")

/** Starts it on a free port; `kill` ends it as a power cut would. */
const start = (directory: string) =>
  new Promise<{ readonly address: string; readonly kill: () => Promise<void> }>((resolve, reject) => {
    const child = spawn(PYTHON, [program, "0", directory], { stdio: ["ignore", "pipe", "pipe"] })
    let errors = ""
    child.stderr.on("data", (chunk) => (errors += chunk))
    const exited = new Promise<void>((done) => child.once("exit", () => done()))
    void exited.then(() => reject(new Error(`the Python backend ended: ${errors}`)))
    createInterface({ input: child.stdout }).on("line", (line) => {
      const address = /^listening on (.*)$/u.exec(line)?.[1]
      if (address === undefined) return
      const kill = () => {
        child.kill("SIGKILL")
        return exited
      }
      resolve({ address, kill })
    })
  })

describe("conformance of a backend in another language", () => {
  const title = installed
    ? "passes the core part, and again on the journal that a kill left"
    : "is not tested here: python3-grpcio, protobuf-compiler or protobuf-compiler-grpc is not installed"

  it.skipIf(!installed)(
    title,
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "conformance-python-"))
      const core = cases.filter(({ level }) => level === "core")
      try {
        for (let life = 0; life < 2; life++) {
          const { address, kill } = await start(directory)
          try {
            assert.deepStrictEqual(await failures(address, core), {})
          } finally {
            await kill()
          }
        }
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
    240_000
  )
})
