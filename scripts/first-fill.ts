/**
 * `npm run first-fill`: what a new user does, by the clock. Starts the exchange as `npm start` does, on an empty folder, runs the
 * commands of docs/guides/first-fill.md as they stand, and prints each with its answer and the seconds since the exchange was ready.
 *
 * `--write` keeps the transcript in that page.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { read } from "./docs/Markdown.ts"
import { clone, root, session } from "./docs/Session.ts"
import { startGateway } from "../verification/harness/GatewayProcess.ts"
import { filled } from "./reference/Block.ts"

const path = "docs/guides/first-fill.md"
const COMMAND = "npm run first-fill -- --write"
/** Columns of the transcript; an answer that is longer goes on in the next line, after a comma. */
const WIDTH = 150
/** Time that the commands may take, in ms; a new user shall be done in half of it. */
const LIMIT_MS = 120_000

export interface Step {
  readonly command: string
  readonly answer: string
  /** Seconds since the exchange was ready. */
  readonly at_s: number
}
export interface FirstFill {
  readonly steps: ReadonlyArray<Step>
  /** Seconds that the start took. */
  readonly start_s: number
}

/** Waits until somebody sells: on an empty folder the market needs a moment of its own. */
const traded = async (url: string): Promise<void> => {
  const deadline = Date.now() + LIMIT_MS
  for (;;) {
    const answer = await fetch(`${url}/api/v1/market/orderbook?symbol=BTC-USDC&depth=1`)
    const { asks } = (await answer.json()) as { readonly asks?: ReadonlyArray<unknown> }
    if (asks?.length === 1) return
    if (Date.now() > deadline) throw new Error("nobody sells")
    // a new user has 60 requests a minute, and shall find them
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** Starts, trades and stops. Fails where a command does. */
export const firstFill = async (): Promise<FirstFill> => {
  const blocks = read(path, readFileSync(join(root, path), "utf8")).blocks.filter(
    ({ language, mark }) => language === "sh" && mark === ""
  )
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-first-fill-"))
  const here = clone()
  const began = performance.now()
  const gateway = await startGateway({ dataDir })
  try {
    await traded(gateway.url)
    const start_s = (performance.now() - began) / 1000
    const ran = await session(here, gateway.url, blocks, LIMIT_MS)
    if (ran.ended !== 0) throw new Error(`the commands ended with ${ran.ended}:\n${ran.stdout}\n${ran.stderr}`)
    const steps = ran.steps.map(({ block, done_ms, output }) => ({
      command: block.text.trim(),
      answer: output.trim(),
      at_s: done_ms / 1000
    }))
    return { steps, start_s }
  } finally {
    await gateway.stop()
    here.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const folded = (answer: string): ReadonlyArray<string> => answer.match(new RegExp(`.{1,${WIDTH}}(?:,|$)`, "gu")) ?? []
/** A note at the end of a line. */
const noted = (text: string, note: string): string => `${text.padEnd(70)} # ${note}`

/** The text in the page. */
export const transcript = ({ start_s, steps }: FirstFill): string => {
  const lines = steps.flatMap(({ answer, at_s, command }) => {
    const lines = `$ ${command}`.split("\n")
    return [...lines.slice(0, -1), noted(lines.at(-1)!, `${at_s.toFixed(1)} s`), ...folded(answer)]
  })
  const total = steps.at(-1)?.at_s ?? 0
  return [
    "```text",
    noted("$ npm start", `ready after ${start_s.toFixed(1)} s`),
    ...lines,
    "```",
    "",
    `${steps.length} commands, ${total.toFixed(1)} s from ready to filled.`
  ].join("\n")
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = transcript(await firstFill())
  console.log(text)
  if (process.argv.includes("--write")) {
    const file = join(root, path)
    writeFileSync(file, filled(readFileSync(file, "utf8"), "scripts/first-fill.ts", text, COMMAND))
  }
}
