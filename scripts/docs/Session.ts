/**
 * Runs the commands of a page as a reader would: in one terminal, in order, standing in a clone, against an exchange.
 *
 * Pages name 127.0.0.1:3010, the exchange of `npm start`. Here the exchange has another address, which replaces it.
 */
import { spawn } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Block } from "./Markdown.ts"

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const HOST = "127.0.0.1:3010"

/** The Python whose packages are Debian's; a version manager may have put another one first. */
export const python = process.env["PYTHON"] ?? "/usr/bin/python3"

/** Puts the address of the exchange where pages have the default one. */
export const addressed = (text: string, url: string): string => text.replaceAll(HOST, new URL(url).host)

/** What readers run of a clone. Copied: a program that is linked does not know that it is the one that was started. */
const PARTS = ["package.json", "tsconfig.json", "src", "examples", "scripts", "verification", "proto", "clients"]

/** A folder that looks like a clone, and in which what commands write does no harm. */
export interface Clone {
  readonly path: string
  readonly remove: () => void
}
export const clone = (): Clone => {
  const path = mkdtempSync(join(tmpdir(), "gateway-docs-"))
  for (const name of PARTS) cpSync(join(root, name), join(path, name), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"))
  const bin = join(path, ".bin")
  mkdirSync(bin)
  writeFileSync(join(bin, "python3"), `#!/bin/sh\nexec ${python} "$@"\n`)
  chmodSync(join(bin, "python3"), 0o755)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export interface Ran {
  /** 0, or why it ended: an exit code, a signal. */
  readonly ended: number | string
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program in a clone until it ends; one that takes longer than `limit_ms` is ended, with whatever it started. */
export const run = (
  clone: Clone,
  url: string,
  command: string,
  args: ReadonlyArray<string>,
  limit_ms: number,
  onOutput: (text: string) => void = () => {}
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const path = [join(clone.path, ".bin"), join(root, "node_modules/.bin"), process.env["PATH"]].join(":")
    const env = {
      ...process.env,
      PATH: path,
      GATEWAY_URL: url,
      // the Python client, as if it were installed
      PYTHONPATH: join(clone.path, "clients/python/src")
    }
    // a group of its own, so that all of it can be ended
    const child = spawn(command, args, { cwd: clone.path, env, detached: true, stdio: ["ignore", "pipe", "pipe"] })
    let [stdout, stderr] = ["", ""]
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text
      onOutput(text)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    const end = (): void => {
      try {
        process.kill(-child.pid!, "SIGKILL")
      } catch {
        // it is gone already
      }
    }
    const late = setTimeout(end, limit_ms)
    child.once("error", reject)
    child.once("exit", () => {
      clearTimeout(late)
      // what it left behind would keep its output open
      end()
    })
    child.once("close", (code, signal) => resolve({ ended: code ?? signal ?? "unknown", stdout, stderr }))
  })

/** What stands between the commands of a session on standard output. */
const SEPARATOR = "\u001e"

export interface Step {
  readonly block: Block
  /** What it printed. */
  readonly output: string
  /** When it was done, in ms after the start of the session. */
  readonly done_ms: number
}
export interface Session extends Ran {
  /** The blocks that were done, in order. */
  readonly steps: ReadonlyArray<Step>
}

/** Runs the shell blocks of a page in one bash, one after the other; the first command that fails ends it. */
export const session = async (
  clone: Clone,
  url: string,
  blocks: ReadonlyArray<Block>,
  limit_ms: number
): Promise<Session> => {
  const script = join(clone.path, ".session.sh")
  const parts = blocks.map(({ text }) => `${addressed(text, url)}\nprintf '\\036'\n`)
  writeFileSync(script, `set -eu\n${parts.join("")}`)
  const began = performance.now()
  const done: Array<number> = []
  const ran = await run(clone, url, "bash", [script], limit_ms, (text) => {
    for (let i = 0; i < text.split(SEPARATOR).length - 1; i++) done.push(performance.now() - began)
  })
  const outputs = ran.stdout.split(SEPARATOR)
  const steps = done.map((done_ms, i) => ({ block: blocks[i]!, output: outputs[i]!, done_ms }))
  return { ...ran, steps }
}
