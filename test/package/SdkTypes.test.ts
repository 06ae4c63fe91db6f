/** The types of the SDK's package equal those that its sources derive from the schemas, and need no Effect. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { library } from "../../scripts/build.ts"
import { assembleSdk } from "../../scripts/packages/Assemble.ts"
import { operations } from "../../src/sdk/Operations.ts"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const tsc = join(root, "node_modules/.bin/tsc")
const STRICT = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom"]

describe("the types of the SDK's package", { timeout: 60_000 }, () => {
  let folder: string
  const installed = () => join(folder, "node_modules/@trading-gateway/sdk")
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "gateway-sdk-types-"))
    library(join(folder, "built"), "declarations of the SDK")
    await assembleSdk(join(folder, "built"), join(folder, "packages"))
    mkdirSync(dirname(installed()), { recursive: true })
    symlinkSync(join(folder, "packages/sdk"), installed())
    mkdirSync(join(folder, "packages/sdk/node_modules/@noble"), { recursive: true })
    symlinkSync(join(root, "node_modules/@noble/ed25519"), join(folder, "packages/sdk/node_modules/@noble/ed25519"))
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  }, 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Compiles a program beside the package; what the compiler prints. */
  const compile = (code: string, ...options: ReadonlyArray<string>): string => {
    writeFileSync(join(folder, "program.ts"), code)
    return spawnSync(tsc, [...STRICT, ...options, "program.ts"], { cwd: folder, encoding: "utf8" }).stdout
  }

  it("accept a program without Effect and without types of Node, and refuse wrong fields", () => {
    const program = `import { connect, type Input, type Response } from "@trading-gateway/sdk"
      const order: Input<"order", "create"> = {
        sub_account_address: "0x00", symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "1", price: "2"
      }
      const exchange = await connect({ url: "http://127.0.0.1:3010" })
      const ref: Response<"order", "create"> = await exchange.order.create(order)
      for await (const event of exchange.orderEvents())
        if (event.kind === "order") console.log(event.data.list[0]?.order_status === "Filled", ref.order_id)
      // @ts-expect-error a symbol is text
      await exchange.position.list({ symbol: 1 })
      // @ts-expect-error there is no such field
      console.log((await exchange.market.time()).nothing)`
    assert.strictEqual(compile(program, "--types", ""), "")
  })

  it("equal the types of the schemas, in both directions", () => {
    const pairs = Object.entries(operations).flatMap(([group, named]) =>
      Object.keys(named).map((name) => `"${group}", "${name}"`)
    )
    const program = [
      `import type * as Package from "@trading-gateway/sdk"`,
      `import type * as Source from ${JSON.stringify(join(root, "src/sdk/index.ts"))}`,
      `const is = <A>(_: A): void => {}`,
      `declare const any: <A>() => A`,
      ...pairs.flatMap((pair) =>
        ["Input", "Response"].flatMap((type) => [
          `is<Package.${type}<${pair}>>(any<Source.${type}<${pair}>>())`,
          `is<Source.${type}<${pair}>>(any<Package.${type}<${pair}>>())`
        ])
      ),
      `// @ts-expect-error these are different`,
      `is<Package.Input<"order", "create">>(any<Source.Input<"order", "cancel">>())`,
      `type Data<E> = E extends { readonly kind: infer K; readonly data: infer D } ? readonly [K, D] : E extends { readonly kind: "state" } ? E : never`,
      `is<Data<Package.FeedEvent>>(any<Data<Source.FeedEvent>>())`,
      `is<Data<Source.FeedEvent>>(any<Data<Package.FeedEvent>>())`,
      `is<Package.ExchangeError["reason"]>(any<Source.ExchangeError["reason"]>())`,
      `is<Source.ExchangeError["reason"]>(any<Package.ExchangeError["reason"]>())`
    ].join("\n")
    const options = [
      "--allowImportingTsExtensions",
      "--skipLibCheck",
      "--types",
      "node",
      "--typeRoots",
      join(root, "node_modules/@types")
    ]
    assert.strictEqual(compile(program, ...options), "")
  })

  it("come with a module that Node imports", () => {
    const code = `const { connect, newSeed } = await import("@trading-gateway/sdk"); console.log(typeof connect, newSeed().length)`
    assert.strictEqual(
      execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, encoding: "utf8" }).trim(),
      "function 64"
    )
  })
})
