/** Says once, before the tests, which adapters this machine can test: what needs a program that is missing is skipped. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { binaries } from "../verification/harness/PostgresBinaries.ts"

/** What it calls itself; `undefined`: it is not installed. */
const postgres = (): string | undefined => {
  const folder = binaries()
  return folder && execFileSync(join(folder, "postgres"), ["--version"], { encoding: "utf8" }).trim()
}

export default function setup(): void {
  const services = { PostgreSQL: postgres() }
  const here = Object.values(services).filter((version) => version !== undefined)
  const missing = Object.entries(services).flatMap(([name, version]) => (version === undefined ? [name] : []))
  console.log(`Adapters: memory, SQLite ${process.versions.sqlite}, gRPC, ${here.join(", ")}`)
  if (missing.length > 0) console.log(`Skipped, because it is not installed: ${missing.join(", ")}`)
}
