/**
 * Checks the documents with third-party tools. For OpenAPI: linters, a validating proxy in front of running exchanges, and code
 * generators whose clients place an order. For AsyncAPI: its parser. The tools are installed into a folder of their own.
 *
 * `npm run third-party`; `THIRD_PARTY_DIR` keeps the folder for the next run.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Exchange, startExchange } from "../verification/harness/Exchange.ts"
import { funded, type Session } from "../verification/harness/RestClient.ts"
import * as AsyncApi from "./third-party/AsyncApi.ts"
import { type Generator, generators } from "./third-party/Clients.ts"
import { withPrism } from "./third-party/Prism.ts"
import { runTests, sendCells } from "./third-party/Suite.ts"
import { install, run } from "./third-party/Tools.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const document = join(root, "docs/openapi.json")
const feeds = join(root, "docs/asyncapi.json")
const ORDER_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/mu
/** Lines of a tool that are shown when it fails. */
const LINES_SHOWN = 30

const results: Array<boolean> = []
const note = (what: string, ok: boolean, found: string, output = "") => {
  results.push(ok)
  console.log(`${ok ? "ok    " : "FAILED"} ${what.padEnd(30)} ${found}`)
  if (!ok && output !== "") console.error(`== ${what}\n${output.split("\n").slice(-LINES_SHOWN).join("\n")}`)
}

const lint = async (home: string): Promise<void> => {
  const spectral = await run(home, home, [
    "spectral",
    "lint",
    "-q",
    "-f",
    "json",
    "--ruleset",
    "spectral.yaml",
    document
  ])
  const found = JSON.parse(/^\[[\s\S]*\]/mu.exec(spectral.output)?.[0] ?? "null") as ReadonlyArray<{
    readonly severity: number
  }> | null
  const errors = found?.filter(({ severity }) => severity === 0)
  note(
    "spectral, with OWASP's rules",
    errors?.length === 0,
    `${errors?.length ?? "?"} errors, ${(found?.length ?? 0) - (errors?.length ?? 0)} warnings`,
    JSON.stringify(errors, undefined, 1)
  )
  const redocly = await run(home, home, ["redocly", "lint", document], { REDOCLY_TELEMETRY: "off" })
  note("redocly", redocly.ok, redocly.ok ? "0 errors" : "errors", redocly.output)
  const { errors: wrong, ok, others } = await AsyncApi.parse(home, feeds)
  note("@asyncapi/parser", ok, `${wrong.length} errors, ${others} hints`, wrong.join("\n"))
}

/** Generates, compiles and runs one client. */
const place = async (
  home: string,
  exchange: Exchange,
  user: Session,
  { command, files, name, program }: Generator
): Promise<void> => {
  const folder = join(home, "clients", name.replaceAll("/", "-"))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(document, join(folder, "openapi.json"))
  for (const [file, text] of Object.entries(files?.(exchange.url) ?? {})) writeFileSync(join(folder, file), text)
  writeFileSync(join(folder, "main.ts"), program)
  const steps = [
    ["generates", [...command]],
    [
      "compiles",
      "tsc --strict --target es2022 --module nodenext --lib es2022,dom,dom.iterable --outDir out main.ts".split(" ")
    ],
    ["places an order", ["node", "out/main.js"]]
  ] as const
  for (const [step, line] of steps) {
    const { ok, output } = await run(folder, home, line, { URL: exchange.url, TOKEN: user.token, VAULT: user.vault })
    if (!ok) return note(name, false, `does not: ${step}`, output)
    if (step === "places an order") note(name, ORDER_ID.test(output), "generated, compiled, placed an order", output)
  }
}

const home = process.env["THIRD_PARTY_DIR"] ?? mkdtempSync(join(tmpdir(), "third-party-"))
const installed = await install(home, join(root, "scripts/third-party/tools"))
if (!installed.ok) {
  console.error(installed.output)
  process.exit(1)
}
const exchange = await startExchange()
try {
  await lint(home)
  await withPrism(home, document, async (proxy) => {
    const { answers, refused, rewritten, violations } = await sendCells(home, proxy)
    note(
      "prism, as a proxy",
      violations.length === 0,
      `${answers} answers, ${violations.length} violations; ${refused.length} unreadable requests, ${rewritten.length} changed ones`,
      violations.join("\n")
    )
    if (process.env["VERBOSE"] !== undefined) console.log([...refused, ...rewritten].join("\n"))
    const before = proxy.forwarded()
    const { ok, output } = await runTests(home, proxy)
    const calls = proxy.forwarded() - before
    note("prism, under the e2e suite", ok, ok ? `${calls} calls, 0 violations` : `failed in ${calls} calls`, output)
  })
  const user = await funded(exchange)
  for (const generator of generators) await place(home, exchange, user, generator)
} finally {
  await exchange.close()
  if (process.env["THIRD_PARTY_DIR"] === undefined) rmSync(home, { recursive: true, force: true })
}
process.exit(results.every((ok) => ok) ? 0 : 1)
