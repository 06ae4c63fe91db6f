/**
 * Every fenced block of the pages is run against an exchange, or checked, or says why it is not.
 *
 * Info strings: a language; then nothing, and it is run; `refused`, and it is run and shall be refused; `no-run: why`; a file
 * of `examples` that it is a part of; or, of JSON, the schema or message that it is one of.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { addressed, type Clone, clone, python, type Ran, run, session } from "../../scripts/docs/Session.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { document, faults } from "../../verification/harness/documents/JsonSchema.ts"
import { wrongWith } from "../../verification/harness/documents/AsyncApi.ts"
import { pages, type Snippet, snippets, textOf, tracked } from "./Pages.ts"
import { call } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"

/** Time that one program, or the commands of one page, may take on a busy machine, in ms. */
const LIMIT_MS = 180_000
/** Longer than {@link LIMIT_MS}: a program that hangs is ended before its test, which then reports its output. */
const TEST = { timeout: LIMIT_MS + 20_000 }
/** A program has a wallet of its own, so it runs beside others. The commands of pages do not: they share a folder. */
const BESIDE = { ...TEST, concurrent: true }
const has = (command: string, ...args: ReadonlyArray<string>) => spawnSync(command, args).status === 0
const hasTools = has("bash", "-c", "openssl version && curl --version")
const hasPython = has(python, "-c", "import websockets, cryptography")

const ofKind = <K extends Snippet["fate"]["kind"]>(kind: K) =>
  snippets.flatMap(({ fate, ...rest }) =>
    fate.kind === kind ? [{ ...rest, fate: fate as Extract<Snippet["fate"], { readonly kind: K }> }] : []
  )
const toRun = ofKind("run")
const inLanguage = (language: string) => toRun.filter(({ block }) => block.language === language)

/** Entries of the other packages, as `scripts/packages/Manifests.ts` has them. */
const packages: Readonly<Record<string, string>> = {
  "@trading-gateway/sdk": "../src/sdk/index.ts",
  "@trading-gateway/client": "../src/client/index.ts",
  "@trading-gateway/contract": "../src/Contract.ts",
  "@trading-gateway/contract/domain/Decimal": "../src/domain/Decimal.ts"
}
/** Packages as the pages name them, and what they are in a clone. */
const entries: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<{ readonly default?: string }>(JSON.parse(textOf("package.json")).exports).flatMap(([name, to]) =>
    to.default === undefined
      ? []
      : [[`trading-gateway${name.slice(1)}`, to.default.replace("./dist/", "../src/").replace(/\.js$/u, ".ts")]]
  )
)
/** A program of a page, as it runs in a clone. */
const program = (text: string): string =>
  Object.entries({ ...entries, ...packages }).reduce((code, [name, path]) => code.replaceAll(`"${name}"`, `"${path}"`), text)

const asExpected = (at: string, { ended, stderr, stdout }: Ran) =>
  assert.strictEqual(ended, 0, `${at} ended with ${ended}:\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`)

describe("the snippets of the pages", () => {
  let here: Clone
  let exchange: Exchange
  const counts = { run: 0, checked: 0 }

  beforeAll(async () => {
    here = clone()
    mkdirSync(join(here.path, "snippets"))
    exchange = await startExchange({ dataDir: join(here.path, "data"), env: { SIM_MAKER: "on", SIM_TAKERS: "off", INDEX_SOURCE: "simulated" } })
    await eventually(
      "a book with two sides",
      () => call(exchange, "GET", "/api/v1/market/orderbook?symbol=BTC-USDC&depth=1"),
      ({ body }) => body.bids?.length === 1 && body.asks?.length === 1,
      60_000
    )
  }, LIMIT_MS)
  afterAll(async () => {
    await exchange?.close()
    here?.remove()
    const [marked, shown] = [ofKind("marked"), ofKind("shown")]
    const all = snippets.length - shown.length
    console.log(`${all} snippets: ${counts.run} run, ${counts.checked} checked, ${marked.length} marked`)
    for (const { at, fate } of marked) console.log(`  not run: ${at}: ${fate.reason}`)
  })

  it("are run, or checked, or state why not", () => {
    const unknown = [...ofKind("unknown"), ...ofKind("marked").filter(({ fate }) => fate.reason === "")]
    assert.deepStrictEqual(
      unknown.map(({ at, block }) => `${at}: ${block.language} ${block.mark}`),
      []
    )
    assert.isAbove(toRun.length, 15)
  })

  it("are those of the named files, and a test runs these files", () => {
    const tests = tracked.filter((path) => path.startsWith("test/") && path.endsWith(".ts")).map(textOf)
    const commands = inLanguage("sh").map(({ block }) => block.text)
    for (const { at, block, fate } of ofKind("file")) {
      assert.include(textOf(fate.file), program(block.text).trimEnd(), `${at}: not in ${fate.file}`)
      const isRun = [...tests, ...commands].some((text) => text.includes(fate.file))
      assert.isTrue(isRun, `${at}: nothing runs ${fate.file}`)
      counts.checked++
    }
  })

  it("are JSON of the stated kind", () => {
    for (const { at, block, fate } of ofKind("json")) {
      const value: unknown = JSON.parse(block.text)
      const { [fate.schema]: schema } = document.components.schemas
      if (schema !== undefined) assert.deepStrictEqual(faults(schema, value), [], at)
      else if (fate.schema !== "") assert.isUndefined(wrongWith(fate.schema, value), at)
      counts.checked++
    }
  })

  const typescript = inLanguage("ts").map((snippet, i) => ({ ...snippet, file: `snippets/${i}.ts` }))
  it("in TypeScript have the types of now", TEST, async () => {
    for (const { block, file } of typescript)
      writeFileSync(join(here.path, file), program(addressed(block.text, exchange.url)))
    const config = { extends: "./tsconfig.json", include: ["snippets"] }
    writeFileSync(join(here.path, "tsconfig.snippets.json"), JSON.stringify(config))
    const checked = await run(here, exchange.url, "tsc", ["-p", "tsconfig.snippets.json"], LIMIT_MS)
    asExpected(typescript.map(({ at, file }) => `${file} is ${at}`).join(", "), checked)
  })

  for (const { at, file } of typescript) {
    it(`run: ${at}`, BESIDE, async () => {
      asExpected(at, await run(here, exchange.url, process.execPath, [file], LIMIT_MS))
      counts.run++
    })
  }

  for (const { at, block } of inLanguage("python")) {
    it.skipIf(!hasPython)(`run: ${at}`, BESIDE, async () => {
      asExpected(at, await run(here, exchange.url, python, ["-c", addressed(block.text, exchange.url)], LIMIT_MS))
      counts.run++
    })
  }

  for (const { path } of pages) {
    const own = inLanguage("sh").filter(({ page }) => page.path === path)
    if (own.length === 0) continue
    const needsPython = own.some(({ block }) => block.text.includes("python3"))
    it.skipIf(!hasTools || (needsPython && !hasPython))(`run: ${path}`, TEST, async () => {
      const ran = await session(here, exchange.url, own.map(({ block }) => block), LIMIT_MS)
      const failed = own[ran.steps.length]
      asExpected(failed?.at ?? path, ran)
      for (const [i, { at, fate }] of own.entries()) {
        const refusal = /"code":"(?!OK")[A-Za-z_]+","message":"[^"]*"/u.exec(ran.steps[i]!.output)?.[0]
        assert.strictEqual(refusal !== undefined, fate.refused, `${at}: ${ran.steps[i]!.output}`)
        counts.run++
      }
    })
  }
})
