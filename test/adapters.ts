/**
 * Runs once, before the tests: prints which adapters this machine can test, because tests of a program that is missing are
 * skipped; and bundles the programs that tests start.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { bundled } from "./Bundle.ts"
import { binaries } from "../verification/harness/PostgresBinaries.ts"

/** What it calls itself; `undefined`: it is not installed. */
const postgres = (): string | undefined => {
  const folder = binaries()
  return folder && execFileSync(join(folder, "postgres"), ["--version"], { encoding: "utf8" }).trim()
}

export default async function setup(): Promise<void> {
  const services = { PostgreSQL: postgres() }
  const here = Object.values(services).filter((version) => version !== undefined)
  const missing = Object.entries(services).flatMap(([name, version]) => (version === undefined ? [name] : []))
  console.log(`Adapters: memory, SQLite ${process.versions.sqlite}, gRPC, ${here.join(", ")}`)
  if (missing.length > 0) console.log(`Skipped, because it is not installed: ${missing.join(", ")}`)
  // a planted fault is in the sources alone
  if (process.env["PLANTED"] === undefined) process.env["PROGRAMS"] = await bundled()
}
