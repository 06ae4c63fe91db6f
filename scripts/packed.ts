/**
 * `npm run packed`: the packages as a stranger gets them, from tarballs in empty folders. Prints what each takes on the disk and how
 * long its import takes, checks the types of the SDK, and lets `npx trading-gateway` start the whole exchange. `npm run build` first.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../verification/harness/Programs.ts"
import { env, pack } from "./packages/Pack.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Time that the exchange may take to be ready, in ms. */
const READY_MS = 60_000

/** Waits until an address answers 200. */
export const ready = async (url: string, isOver: () => boolean): Promise<void> => {
  for (const deadline = Date.now() + READY_MS; ;) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.status === 200) return
    if (isOver()) throw new Error("the exchange ended")
    if (Date.now() > deadline) throw new Error(`${url} did not answer 200 in ${READY_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const start = async (folder: string): Promise<void> => {
  const port = await freePort()
  const child = spawn("npx", ["trading-gateway"], {
    cwd: folder,
    env: { ...env, PORT: String(port), HOST: "127.0.0.1", LOG_LEVEL: "error", DRAIN_MS: "50" },
    stdio: ["ignore", "inherit", "inherit"],
    // npx leaves Ctrl-C to its child, which gets it as a terminal would tell: all of them at once
    detached: true
  })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  try {
    await ready(`http://127.0.0.1:${port}/ready`, () => child.exitCode !== null)
    console.log("the exchange is ready")
    execFileSync("npx", ["gateway", "book", "BTC-USDC", "--levels", "3", "--count", "1"], {
      cwd: folder,
      env: { ...env, GATEWAY_URL: `http://127.0.0.1:${port}` },
      stdio: "inherit"
    })
  } finally {
    if (child.exitCode === null) process.kill(-child.pid!, "SIGINT")
    await ended
  }
}

/** A program for the SDK, as a strict compiler reads it. */
const PROGRAM = `import { connect, type ExchangeError, type Input } from "@trading-gateway/sdk"

const order: Input<"order", "create"> = {
  sub_account_address: "0x00", symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "0.001", price: "60000"
}
const exchange = await connect({ url: "http://127.0.0.1:3010" })
try {
  const { order_id } = await exchange.order.create(order)
  console.log(order_id.length)
  for await (const event of exchange.orderEvents()) if (event.kind === "order") console.log(event.data.list[0]?.order_status)
} catch (error) {
  console.log((error as ExchangeError).reason === "NotMultipleOfTick")
}
`

/** Size of a folder, in kB. */
const sizeOf = (folder: string): number =>
  Number(execFileSync("du", ["-sk", folder], { encoding: "utf8" }).split("\t")[0])

/** Imports a module in a new process; the fastest of some attempts, in ms. */
const importTime = (folder: string, name: string): number => {
  const code = `const began = performance.now(); await import(${JSON.stringify(name)}); console.log(performance.now() - began)`
  const times = Array.from({ length: 7 }, () =>
    Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, encoding: "utf8" }))
  )
  return Math.round(Math.min(...times))
}

const install = (folder: string, ...what: ReadonlyArray<string>): void => {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", ...what], {
    cwd: folder,
    env,
    stdio: "inherit"
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const home = mkdtempSync(join(tmpdir(), "gateway-packed-"))
  try {
    const tarballs = Object.fromEntries(
      ["sdk", "contract", "client", "gateway"].map((name) => [
        name,
        pack(home, join(root, "dist/packages", name)).tarball
      ])
    )
    const folderOf = (name: string, ...what: ReadonlyArray<string>): string => {
      const folder = join(home, name)
      mkdirSync(folder)
      install(folder, ...what)
      return folder
    }
    const sdk = folderOf("sdk", tarballs["sdk"]!)
    console.log(
      `@trading-gateway/sdk: ${sizeOf(join(sdk, "node_modules"))} kB, import ${importTime(sdk, "@trading-gateway/sdk")} ms`
    )
    writeFileSync(join(sdk, "program.ts"), PROGRAM)
    const began = performance.now()
    const options = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--lib",
      "es2024,dom",
      "--types",
      ""
    ]
    execFileSync(join(root, "node_modules/.bin/tsc"), [...options, "program.ts"], { cwd: sdk, stdio: "inherit" })
    console.log(`its types, with --strict: ${Math.round(performance.now() - began)} ms`)
    const client = folderOf("client", tarballs["contract"]!, tarballs["client"]!)
    for (const name of ["contract", "client"]) {
      const kB = sizeOf(join(client, "node_modules/@trading-gateway", name))
      console.log(`@trading-gateway/${name}: ${kB} kB, import ${importTime(client, `@trading-gateway/${name}`)} ms`)
    }
    const gateway = folderOf("gateway", tarballs["gateway"]!)
    console.log(
      `trading-gateway: ${sizeOf(join(gateway, "node_modules"))} kB, import ${importTime(gateway, "trading-gateway")} ms`
    )
    await start(gateway)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
