/**
 * Holds the documents against other people's tools: of the OpenAPI one linters, a validating proxy in front of a running
 * exchange, and code generators whose clients place an order; of the AsyncAPI one its parser. The tools are installed into
 * a folder of their own.
 *
 * `npm run third-party`; `THIRD_PARTY_DIR` keeps the folder for the next run.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { makeWorld, type World } from "../test/spec/World.ts"
import * as AsyncApi from "./third-party/AsyncApi.ts"
import { type Generator, generators } from "./third-party/Clients.ts"
import { throughPrism } from "./third-party/Prism.ts"
import { suiteThroughPrism } from "./third-party/Suite.ts"
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
  { exchange, alice }: World,
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
    const { ok, output } = await run(folder, home, line, { URL: exchange.url, TOKEN: alice.token, VAULT: alice.vault })
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
const world = await makeWorld()
try {
  await lint(home)
  const { answers, refused, rewritten, violations } = await throughPrism(home, document, world)
  note(
    "prism, as a proxy",
    violations.length === 0,
    `${answers} answers, ${violations.length} violations; ${refused.length} requests that it could not read, ${rewritten.length} that it mended`,
    violations.join("\n")
  )
  const suite = await suiteThroughPrism(home, document)
  note(
    "prism, under the e2e suite",
    suite.ok,
    suite.ok ? `${suite.calls} calls, 0 violations` : `failed in ${suite.calls} calls`,
    suite.output
  )
  if (process.env["VERBOSE"] !== undefined) console.log([...refused, ...rewritten].join("\n"))
  for (const generator of generators) await place(home, world, generator)
} finally {
  await world.exchange.close()
  if (process.env["THIRD_PARTY_DIR"] === undefined) rmSync(home, { recursive: true, force: true })
}
process.exit(results.every((ok) => ok) ? 0 : 1)
