/**
 * Runs once, before the tests: prints which adapters this machine can test, because tests of a program that is missing are
 * skipped; installs the packages of CCXT where they are missing; bundles the programs that tests start; and names the folder
 * in which the PostgreSQL servers of the tests share an initialization.
 */
import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ccxtFolder } from "../verification/ccxt/Ccxt.ts"
import { binaries } from "../verification/harness/PostgresBinaries.ts"
import { bundled } from "./Bundle.ts"
import { install, isCurrent } from "./Installation.ts"

/** Time limit of the installation of CCXT, in ms. */
const INSTALL_MS = 180_000

/** What it calls itself; `undefined`: it is not installed. */
const postgres = (): string | undefined => {
  const folder = binaries()
  return folder && execFileSync(join(folder, "postgres"), ["--version"], { encoding: "utf8" }).trim()
}

/** Packages that `npm ci` at the root leaves out, so that it stays small. Without a network their tests are skipped. */
const ccxt = async (): Promise<void> => {
  if (isCurrent(ccxtFolder)) return
  console.log("Installs CCXT from the lockfile of integrations/ccxt, once")
  await install(ccxtFolder, INSTALL_MS).catch((error: Error) =>
    console.log(`Skipped, because it could not be installed: CCXT. ${error.message}`)
  )
}

export default async function setup(): Promise<() => void> {
  const services = { PostgreSQL: postgres() }
  const here = Object.values(services).filter((version) => version !== undefined)
  const missing = Object.entries(services).flatMap(([name, version]) => (version === undefined ? [name] : []))
  console.log(`Adapters: memory, SQLite ${process.versions.sqlite}, gRPC, ${here.join(", ")}`)
  if (missing.length > 0) console.log(`Skipped, because it is not installed: ${missing.join(", ")}`)
  const template = join(tmpdir(), `gateway-postgres-template-${process.pid}`)
  process.env["POSTGRES_TEMPLATE"] = template
  const teardown = () => rmSync(template, { recursive: true, force: true })
  // a planted fault is in the sources alone
  if (process.env["PLANTED"] !== undefined) return teardown
  await ccxt()
  process.env["PROGRAMS"] = await bundled()
  return teardown
}
