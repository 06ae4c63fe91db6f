/** The published packages: the contents of the tarball, its programs, and the size of an app that uses a part of it. */
import { build } from "esbuild"
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { bundle, library } from "../../scripts/build.ts"
import { freePort } from "../../verification/harness/Programs.ts"
import { assembleClient, assembleContract, assembleGateway } from "../../scripts/packages/Assemble.ts"
import * as Manifests from "../../scripts/packages/Manifests.ts"
import { pack } from "../../scripts/packages/Pack.ts"
import { ready } from "../../scripts/packed.ts"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const manifest = Manifests.gateway as unknown as {
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, unknown>>
  readonly version: string
}

/** Most bytes of the tarball; unwanted files would be several times this. */
const BYTES_MAX = 6 * 1024 * 1024

describe("the package", { timeout: 120_000 }, () => {
  let folder: string
  let packed: ReturnType<typeof pack>
  const installed = () => join(folder, "node_modules/trading-gateway")
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "gateway-package-"))
    // built in a separate folder; npm run package:check checks types with publint and are-the-types-wrong
    const [built, packages] = [join(folder, "built"), join(folder, "packages")]
    library(built, "without types")
    await bundle(join(built, "bin"))
    await assembleGateway(built, packages)
    assembleContract(built, packages)
    await assembleClient(built, packages)
    packed = pack(folder, join(packages, "gateway"))
    // an installation without a registry: the tarball with its own dependencies and nothing else
    mkdirSync(installed(), { recursive: true })
    execFileSync("tar", ["xzf", packed.tarball, "-C", installed(), "--strip-components=1"])
    for (const name of Object.keys(manifest.dependencies)) {
      mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true })
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
    }
    for (const name of ["contract", "client"]) {
      const to = join(folder, "node_modules/@trading-gateway", name)
      mkdirSync(dirname(to), { recursive: true })
      execFileSync("cp", ["-r", join(packages, name), to])
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  }, 180_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("contains the programs, the library, the boundary and the documents, and nothing for development", () => {
    const folders = new Set(packed.files.map((path) => path.split("/")[0]))
    const known = ["LICENSE", "README.md", "dist", "docs", "package.json", "proto", "src"]
    assert.includeMembers([...folders], known)
    // the page is built separately, and may be missing in a build
    assert.includeMembers([...known, "page"], [...folders])
    for (const path of [
      ...Object.values(manifest.bin),
      "dist/index.js",
      "docs/openapi.json",
      "docs/markets.schema.json",
      "proto/gateway/v1/types.proto",
      "LICENSE",
      "README.md"
    ])
      assert.include(packed.files, path)
    assert.deepStrictEqual(
      packed.files.filter((path) => /(?:^|\/)(?:test|bench|node_modules|data)\//u.test(path)),
      []
    )
    assert.isBelow(packed.bytes, BYTES_MAX)
  })

  it("starts the exchange with its bare command, responds to another one, and stops in order", async () => {
    const port = await freePort()
    const program = join(installed(), manifest.bin["trading-gateway"]!)
    const env = { ...process.env, PORT: String(port), HOST: "127.0.0.1", LOG_LEVEL: "error", DRAIN_MS: "50" }
    // Node has an HTTP client of its own, which takes a tenth of a start to load
    const hook = `process.on("exit", () => console.log("client of Node:", process.moduleLoadList.some((name) => name.endsWith("undici/undici"))))`
    const args = ["--import", `data:text/javascript,${encodeURIComponent(hook)}`, program]
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] })
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
    try {
      await ready(`http://127.0.0.1:${port}/ready`, () => child.exitCode !== null)
      assert.include(printed, "npx trading-gateway book BTC-USDC")
      const gateway = (...args: ReadonlyArray<string>) =>
        execFileSync(process.execPath, [program, ...args, "--json"], {
          cwd: folder,
          env: { ...env, GATEWAY_URL: `http://127.0.0.1:${port}`, GATEWAY_HOME: join(folder, "home") },
          encoding: "utf8"
        })
      assert.strictEqual(JSON.parse(gateway("--version")).version, manifest.version)
      gateway("keys", "new")
      assert.strictEqual(JSON.parse(gateway("faucet", "10")).status, "completed")
      assert.strictEqual(
        JSON.parse(gateway("backend", "verify", "--data-dir", join(folder, "data"))).rules.slice(0, 14),
        "gateway-engine"
      )
    } finally {
      child.kill("SIGTERM")
      assert.strictEqual(await ended, 0)
      // threads print theirs too
      assert.include(printed, "client of Node: false")
      assert.notInclude(printed, "client of Node: true")
    }
  })

  it("can be imported by each of its entries", () => {
    const named = Object.keys(manifest.exports).filter((entry) => !entry.includes("*") && !entry.endsWith(".json"))
    for (const entry of [...named, "./domain/Decimal"]) {
      const code = `if (Object.keys(await import("trading-gateway${entry.slice(1)}")).length === 0) process.exit(1)`
      execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, stdio: "inherit" })
    }
  })

  it("is imported by Node as a few files, and runs the exchange in a larger app", async () => {
    const code = `import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      const { Effect, Layer } = await import("effect")
      const { Gateway, Settings, Standalone } = await import("trading-gateway")
      const { parse } = await import("trading-gateway/domain/Decimal")
      console.log(typeof parse, loaded.filter((url) => url.includes("/trading-gateway/")).length)
      const Exchange = Layer.unwrap(Effect.map(Settings.settings, (settings) =>
        Gateway.layer(settings).pipe(Layer.provide(Standalone.layer(settings)))))
      const ask = Effect.promise(async () => (await fetch("http://127.0.0.1:" + process.env.PORT + "/api/v1/market/instruments-info")).status)
      console.log(await Effect.runPromise(Effect.scoped(Effect.andThen(Layer.build(Exchange), ask))))`
    const env = {
      ...process.env,
      PORT: String(await freePort()),
      LOG_LEVEL: "error",
      DRAIN_MS: "0",
      DATA_DIR: "embedded"
    }
    writeFileSync(join(folder, "app.mjs"), code)
    const printed = execFileSync(process.execPath, ["app.mjs"], { cwd: folder, env, encoding: "utf8" })
    const [, files, status] = /^function (\d+)\n(\d+)\n$/u.exec(printed) ?? assert.fail(printed)
    // the modules are five times as many
    assert.isBelow(Number(files), 100)
    assert.strictEqual(status, "200")
  })

  it("brings no Node binary and nothing for development", () => {
    for (const key of ["optionalDependencies", "devDependencies", "scripts", "private"])
      assert.notProperty(manifest, key)
    for (const one of [Manifests.gateway, Manifests.sdk, Manifests.client, Manifests.contract])
      for (const key of ["repository", "homepage", "bugs", "keywords", "license", "version"]) assert.property(one, key)
  })

  it("has a client and a contract that share their modules, and load no index of Effect", () => {
    const code = `import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      const { Client, Wallet } = await import("@trading-gateway/client")
      const { Api } = await import("@trading-gateway/contract/http/Api")
      console.log(typeof Client.make, Wallet.generate().seed.length, Object.keys(Api.groups).length > 10)
      console.log(loaded.filter((url) => url.endsWith("effect/dist/index.js") || url.includes("client/dist/domain")).length)`
    assert.strictEqual(
      execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, encoding: "utf8" }),
      "function 64 true\n0\n"
    )
  })

  it("has a client that loads the schemas of the endpoints with the first `Client.make`", () => {
    const code = `import { registerHooks } from "node:module"
      import * as Effect from "effect/Effect"
      const loaded = []
      registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
      const { Client } = await import("@trading-gateway/client")
      const apis = () => loaded.filter((url) => /\\/http-api\\/|contract\\/dist\\/http\\/api\\//u.test(url)).length
      console.log(apis())
      await Effect.runPromise(Client.make({ baseUrl: "http://127.0.0.1:1" }))
      console.log(apis() > 30)`
    assert.strictEqual(
      execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, encoding: "utf8" }),
      "0\ntrue\n"
    )
  })

  it("names the Node that its program needs, in one line", () => {
    const older = `for (const [name, value] of [["version", "v20.20.2"], ["versions", { ...process.versions, node: "20.20.2" }]])
      Object.defineProperty(process, name, { value })`
    const program = join(installed(), manifest.bin["gateway"]!)
    const args = ["--import", `data:text/javascript,${encodeURIComponent(older)}`, program, "--version"]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
    assert.strictEqual(status, 1)
    assert.match(stderr, /^trading-gateway needs Node 22\.19 or newer, and this is v20\.20\.2: install .*\n$/u)
  })

  /** The modules of the package in a bundle of this code. */
  const taken = async (code: string): Promise<ReadonlyArray<string>> => {
    const { metafile } = await build({
      stdin: { contents: code, resolveDir: folder },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "node",
      packages: "bundle",
      external: Object.keys(manifest.dependencies).flatMap((name) => [name, `${name}/*`]),
      absWorkingDir: folder,
      preserveSymlinks: true
    })
    const [output] = Object.values(metafile.outputs)
    return Object.entries(output!.inputs)
      .filter(([path, { bytesInOutput }]) => path.includes("trading-gateway/dist/") && bytesInOutput > 0)
      .map(([path]) => path.slice(path.indexOf("trading-gateway/dist/") + "trading-gateway/dist/".length))
  }

  it("adds only used modules to an app", async () => {
    // metrics and tracing are small, and do not include a server
    const server =
      /^(?:backend|http\/handlers|http\/fast|layers|proto|services\/(?!operations\/(?:MetricsRegistry|MetricNames|Tracing))|ws\/[A-Z]|cli\/|Serve|Gateway)/u
    const wallet = await taken('import { Wallet } from "trading-gateway/client"; console.log(Wallet.generate())')
    assert.include(wallet, "client/Wallet.js")
    assert.deepStrictEqual(
      // the index itself is a list of names: esbuild keeps it beside the import that loads the endpoints
      wallet.filter((path) => !/^(?:client\/(?:Wallet|Seed|Signed|index)|domain\/\w+)\.js$/u.test(path)),
      []
    )
    const client = await taken('import { Client } from "trading-gateway"; console.log(Client.Client.make)')
    assert.include(client, "client/Client.js")
    assert.deepStrictEqual(
      client.filter((path) => server.test(path)),
      []
    )
    const decimal = await taken('import { parse } from "trading-gateway/domain/Decimal"; console.log(parse("1"))')
    assert.isNotEmpty(decimal)
    assert.isTrue(
      decimal.every((path) => path.startsWith("domain/")),
      decimal.join(", ")
    )
  })
})
