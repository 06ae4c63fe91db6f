/**
 * Data of an earlier version: the files of a machine and of a fleet after the same story, and the records that its users read at
 * the end. Files are compressed one by one; the database of the fleet is a dump as SQL text.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { root } from "../harness/NodeProcess.ts"
import type { Records } from "./Story.ts"

export const FIXTURES = join(root, "test/fixtures/0.1.1")
export type Kind = "machine" | "fleet"

/** What the fixture recorded. */
export interface Recorded {
  /** Time of the reads, Unix ms. */
  readonly at_ms: number
  readonly records: Records
}

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))

/** Files that a start makes again. */
const isDisposable = (file: string) => /(?:-wal|-shm|\.lock|\.tmp)$/u.test(file)

/** Stores the files of a stopped exchange. */
export const pack = (kind: Kind, dataDir: string, recorded: Recorded): void => {
  const folder = join(FIXTURES, kind)
  rmSync(join(folder, "files"), { recursive: true, force: true })
  for (const file of filesIn(dataDir)) {
    if (isDisposable(file)) continue
    const target = join(folder, "files", `${file}.gz`)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, gzipSync(readFileSync(join(dataDir, file)), { level: 9 }))
  }
  writeFileSync(join(folder, "records.json"), `${JSON.stringify(recorded, undefined, 1)}\n`)
}

/** Copies the files into a folder and returns what was recorded. */
export const unpack = (kind: Kind, dataDir: string): Recorded => {
  const data = join(FIXTURES, kind, "files")
  for (const file of filesIn(data)) {
    const target = join(dataDir, file.slice(0, -".gz".length))
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    writeFileSync(target, gunzipSync(readFileSync(join(data, file))), { mode: 0o600 })
  }
  return JSON.parse(readFileSync(join(FIXTURES, kind, "records.json"), "utf8"))
}

const DUMP = join(FIXTURES, "fleet", "postgres.sql")
const target = (port: number) => ["-h", "127.0.0.1", "-p", String(port), "-U", "gateway", "-d", "postgres"]

/** Stores a database as SQL text. */
export const dumpPostgres = (port: number): void => {
  const sql = execFileSync("pg_dump", [...target(port), "--no-owner", "--inserts"], { encoding: "utf8" })
  mkdirSync(dirname(DUMP), { recursive: true })
  // newer servers reject or lack what only clients of one version set
  writeFileSync(
    DUMP,
    sql.replaceAll(/^(?:--.*|\\(?:un)?restrict.*|SET transaction_timeout.*)\n/gmu, "").replaceAll(/\n{3,}/gu, "\n\n")
  )
}

/** Fills an empty database. */
export const loadPostgres = (port: number): void => {
  execFileSync("psql", [...target(port), "-q", "-v", "ON_ERROR_STOP=1", "-f", DUMP], {
    stdio: ["ignore", "ignore", "pipe"]
  })
}
