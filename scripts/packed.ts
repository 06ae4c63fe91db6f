/**
 * `npm run packed`: the package as a stranger gets it. Packs it, installs the tarball into an empty folder from the registry,
 * and lets `npx trading-gateway` start the whole exchange there, by the bare command and without anything of this folder.
 * `npm run packed -- TARBALL` takes one that is packed already.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "../verification/harness/Programs.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Time that the exchange may take to be ready, in ms. */
const READY_MS = 60_000
/** The Node of this script first: it is what `npx` shall find. */
const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter) }

/** Packs the package that is built in `home`, or builds it first, into a folder; answers the tarball. */
export const pack = (
  folder: string,
  scripts: "run" | "ignore",
  home = root
): { readonly tarball: string; readonly files: ReadonlyArray<string>; readonly bytes: number } => {
  const ignore = scripts === "ignore" ? ["--ignore-scripts"] : []
  const output = execFileSync("npm", ["pack", "--json", "--silent", ...ignore, "--pack-destination", folder], {
    cwd: home,
    env,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "inherit"]
  })
  const parsed = JSON.parse(output.slice(output.search(/^[[{]/mu))) as unknown
  const [packed] = (Array.isArray(parsed) ? parsed : Object.values(parsed as object)) as ReadonlyArray<{
    readonly filename: string
    readonly size: number
    readonly files: ReadonlyArray<{ readonly path: string }>
  }>
  return { tarball: join(folder, packed!.filename), files: packed!.files.map(({ path }) => path), bytes: packed!.size }
}

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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-packed-"))
  try {
    const [given] = process.argv.slice(2)
    const tarball = given === undefined ? pack(folder, "run").tarball : resolve(given)
    writeFileSync(join(folder, "package.json"), "{}")
    execFileSync("npm", ["install", "--no-audit", "--no-fund", tarball], { cwd: folder, env, stdio: "inherit" })
    await start(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
