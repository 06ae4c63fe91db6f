/** Runs every command in a terminal, against an exchange that `gateway` serves, and compares the screens with docs/cli.md. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { bundled } from "../Bundle.ts"
import { freePort } from "../../verification/harness/Programs.ts"
import { type Session, startSession } from "./Commands.ts"
import { afterwards, lasting, type Part, type Step, story } from "./Story.ts"
import { onTerminal, type Run } from "./Terminal.ts"

const home = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const page = join(home, "docs/cli.md")

const INTRODUCTION = `# Command line

\`gateway\` runs the exchange and is a client for one: \`npx trading-gateway\` from the package, \`npm run -s gateway --\` from the sources.
The screens on this page come from a test; \`UPDATE=1 npx vitest run test/cli/Screens.test.ts\` regenerates them.

| | |
|---|---|
| \`--url\`, \`GATEWAY_URL\` | URL of the gateway; default http://127.0.0.1:3010 |
| \`--key\`, \`GATEWAY_SEED\` | key to use: a name or a path; or its seed, from the environment only |
| \`GATEWAY_API_KEY\` | seed of the API key of [\`gateway mcp\`](guides/mcp.md) |
| \`GATEWAY_HOME\` | folder of keys and sessions; default \`~/.trading-gateway\` |
| \`--json\` | JSON, one value per line; an error is \`{"error": {"code", "message", "hint", "details"}}\` on standard error |
| \`NO_COLOR\` | no colours |

The exit code is 0, or 1 after an error. Without a command, \`gateway\` runs \`serve\`. Settings are environment variables.
`

/** Longest wait for a result to become visible, in ms. */
const LATER_MS = 30_000

/** Splits a command line as a shell does. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [...line.matchAll(/'([^']*)'|(\S+)/gu)].map(([, quoted, bare]) => quoted ?? bare!)

describe("the command line", { timeout: 600_000 }, () => {
  let folder: string
  let program: string
  let port: number
  let exchange: Run
  let session: Session
  const shown: Array<string> = []
  const kept = new Map<string, string>()
  const env = () => ({
    PORT: String(port),
    HOST: "127.0.0.1",
    DATA_DIR: "./data",
    GATEWAY_HOME: join(folder, "home"),
    GATEWAY_URL: `http://127.0.0.1:${port}`,
    ADMIN_USERNAME: "admin",
    ADMIN_PASSWORD: "correct-horse-battery",
    RATE_LIMIT_MODE: "off",
    SIM_MAKER: "off",
    INDEX_SOURCE: "manual",
    LOG_LEVEL: "error",
    DRAIN_MS: "50",
    NODE_COMPILE_CACHE: join(folder, "compiled")
  })
  /** The program in a process of its own. */
  const terminal = (args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}): Run =>
    onTerminal([process.execPath, program, ...args], { cwd: folder, env: { ...env(), ...more } })

  /** Replaces the paths and the port of this run by the defaults. */
  const withDefaults = (screen: string): string =>
    screen
      .replaceAll(join(folder, "home"), "~/.trading-gateway")
      // the whole number: its digits can also be part of an id
      .replaceAll(new RegExp(`\\b${port}\\b`, "gu"), "3010")

  const show = (typed: string, screen: string): void => {
    shown.push(`\`\`\`text\n$ ${typed}\n${withDefaults(screen)}\n\`\`\``)
  }

  /** Runs a command to its end; repeats it until `until` matches. */
  const ran = async (step: Step, args: ReadonlyArray<string>) => {
    for (const deadline = Date.now() + LATER_MS; ;) {
      const ran = await session.run(args, step.env)
      if (step.until?.test(ran.screen) !== false) return ran
      assert.isBelow(Date.now(), deadline, `${step.type} never shows ${step.until}:\n${ran.screen}`)
    }
  }

  /** Replaces `$NAME` by what a step kept. */
  const withKept = (text: string): string => text.replaceAll(/\$[A-Z]+/gu, (name) => kept.get(name.slice(1)) ?? name)

  /** Runs a command and records its screen. */
  const record = async (step: Step): Promise<void> => {
    for (const [name, value] of Object.entries(step.files ?? {}))
      writeFileSync(join(folder, name), withKept(JSON.stringify(value)))
    const prefix = Object.entries(step.env ?? {}).map(
      ([name, value]) => `${name}=${/SEED|PASS|URL/u.test(name) ? "…" : value} `
    )
    const typed = withKept(step.type)
    const [, ...args] = wordsOf(typed)
    const { code, screen } = await ran(step, args)
    assert.strictEqual(code, step.exit ?? 0, `${typed}\n${screen}`)
    for (const [name, pattern] of Object.entries(step.keep ?? {})) {
      const found = pattern.exec(screen)
      assert.isNotNull(found, `${typed} shows no ${name}:\n${screen}`)
      kept.set(name, found[1]!)
    }
    const lines = screen.split("\n")
    const cut = step.lines === undefined ? screen : [...lines.slice(0, step.lines), "…"].join("\n")
    show(`${prefix.join("")}${step.type}`, cut)
    for (const secret of ["correct-horse", "not-the-password", "battery-horse-correct", ":secret@", "11".repeat(32)])
      assert.notInclude(screen, secret, typed)
  }
  const play = async (parts: ReadonlyArray<Part>): Promise<void> => {
    for (const part of parts) {
      if (typeof part === "string") shown.push(part)
      else await record(part)
    }
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "gateway-cli-"))
    program = join(await bundled(), "main.js")
    port = await freePort()
    exchange = terminal([])
    await exchange.shows(/Try next:/u)
    await exchange.shows(/npx trading-gateway/u)
    session = await startSession({ cwd: folder, env: env() })
  }, 180_000)
  afterAll(async () => {
    await session?.close()
    exchange.interrupt()
    await exchange.ended
    rmSync(folder, { recursive: true, force: true })
  })

  it("prints an unexpected error, as text and as JSON", async () => {
    // a time that no calendar has
    const funding = { symbol: "BTC-USDC", funding_rate: "0", mark_price: "1", funding_time: "", funding_time_ms: 9e15 }
    const liar = createServer((_, response) =>
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ list: [funding], next_page_cursor: "" }))
    )
    await new Promise<void>((resolve) => liar.listen(0, "127.0.0.1", resolve))
    const url = { GATEWAY_URL: `http://127.0.0.1:${(liar.address() as AddressInfo).port}` }
    try {
      const run = terminal(["funding", "BTC-USDC"], url)
      assert.strictEqual(await run.ends(), 1)
      assert.match(run.screen(), /^error: RangeError: Invalid time value\n +INTERNAL$/u)
      const broken = terminal(["funding", "BTC-USDC", "--limit", "0"], url)
      assert.strictEqual(await broken.ends(), 1)
    } finally {
      liar.close()
    }
  })

  it("fits a terminal of 24 rows", async () => {
    const small = await startSession({ cwd: folder, env: { ...env(), GATEWAY_SEED: "22".repeat(32) }, rows: 24 })
    const done = async (args: ReadonlyArray<string>) => {
      const { code, screen } = await small.run(args)
      assert.strictEqual(code, 0, screen)
      return screen
    }
    await done(["faucet", "10000"])
    const address = /"sub_account_address":"(0x[0-9a-f]+)"/u.exec(await done(["keys", "show", "--json"]))![1]
    for (const side of ["Buy", "Sell"]) {
      const orders = Array.from({ length: 15 }, (_, i) => ({
        sub_account_address: address,
        symbol: "ETH-USDC",
        side,
        order_type: "Limit",
        qty: "0.01",
        price: String(side === "Buy" ? 2_900 - i : 3_100 + i)
      }))
      writeFileSync(join(folder, "many.json"), JSON.stringify({ orders }))
      await done(["order", "batch", "--file", "many.json"])
    }
    const book = await done(["book", "ETH-USDC", "--levels", "15", "--count", "1"])
    assert.lengthOf(book.split("\n"), 23)
    assert.match(book, /2900 .*[^]*\n *2891 /u)
    const list = await done(["order", "list"])
    assert.lengthOf(list.split("\n"), 22)
    assert.match(list, /older ones follow; --limit shows up to 200$/u)
    // a watched list is redrawn in place, however long it is
    const watched = await done(["order", "list", "--limit", "30", "--watch", "--count", "2"])
    assert.lengthOf(watched.split("\n"), 23)
    assert.match(watched, /… 9 more lines$/u)
    await done(["order", "cancel-all"])
    await small.close()
  })

  it("prints the screens of docs/cli.md", async () => {
    // the rest of the start screen is not part of the page
    show("gateway", [...exchange.screen().split("\n").slice(0, 5), "  …"].join("\n"))
    await play(story)

    const backend = terminal(["backend", "--port", "0", "--data-dir", "alone"], { LOG_LEVEL: "info" })
    await backend.shows(/backend serves/u)
    backend.interrupt()
    assert.strictEqual(await backend.ends(), 0)

    // Ctrl-C stops the exchange gracefully
    exchange.interrupt()
    assert.strictEqual(await exchange.ends(), 0, exchange.screen())
    await play(afterwards)

    const current = `${INTRODUCTION}\n${shown.join("\n\n")}\n`
    if (process.env["UPDATE"] === "1") writeFileSync(page, current)
    assert.strictEqual(
      lasting(current),
      lasting(readFileSync(page, "utf8")),
      "run with UPDATE=1 to regenerate docs/cli.md"
    )
  })
})
