/**
 * Copies a data directory, which can be in use.
 *
 * SQLite copies each database at one point in time. The order matters: data that follow from the journal (the gateway's
 * databases, the snapshots) are copied before it, so that the copied journal contains everything that the other files
 * refer to. The copy gets its final name when it is complete and synced. Only its owner can read it.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { backup as copyDatabase, type DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import * as PrivateFiles from "../../node/PrivateFiles.ts"
import * as Directory from "./Directory.ts"
import { JournalError } from "./JournalError.ts"
import * as ReadOnlyDatabase from "./ReadOnlyDatabase.ts"
import * as Snapshots from "./Snapshots.ts"

export interface BackedUp {
  readonly directory: string
  /** Names below the directory, in the order in which they were copied. */
  readonly files: ReadonlyArray<string>
}

const JOURNAL = join("backend", "journal.sqlite")

const copy = async (from: string, to: string): Promise<void> => {
  let db: DatabaseSync | undefined
  try {
    db = ReadOnlyDatabase.open(from)
    PrivateFiles.file(to)
    // all pages in one step: a copy in several steps restarts at every commit of the writer
    await copyDatabase(db, to, { rate: 0x7fffffff })
  } catch (cause) {
    // SQLite names no file
    throw new Error(`cannot copy ${from}: ${(cause as Error).message}`, { cause })
  } finally {
    db?.close()
  }
  Directory.syncFile(to)
}

const copyFile = (from: string, to: string): void => {
  copyFileSync(from, to)
  // the copy has the permissions of the original by now
  PrivateFiles.file(to)
  Directory.syncFile(to)
}

/** Copies the files of a data directory into a new directory, durably. Returns their names. */
const copyAll = async (dataDir: string, aside: string): Promise<ReadonlyArray<string>> => {
  PrivateFiles.makeDirectory(join(aside, "backend", "snapshots"))
  const files: Array<string> = []
  const folders = ["", "backend", join("backend", "snapshots")]
  for (const name of readdirSync(dataDir).sort()) {
    if (name.endsWith(".sqlite")) await copy(join(dataDir, name), join(aside, name))
    else if (name.endsWith(".json")) copyFile(join(dataDir, name), join(aside, name))
    else continue
    files.push(name)
  }
  const [newest] = Snapshots.list(join(dataDir, "backend", "snapshots"))
  if (newest !== undefined) {
    const name = join("backend", "snapshots", Snapshots.nameOf(newest))
    copyFile(join(dataDir, name), join(aside, name))
    files.push(name)
  }
  // the proofs of older rules, and where the current ones begin
  const eras = join("backend", "eras")
  const closings = Snapshots.list(join(dataDir, eras))
  if (closings.length > 0) {
    mkdirSync(join(aside, eras), { mode: 0o700 })
    folders.push(eras)
  }
  for (const position of closings) {
    const name = join(eras, Snapshots.nameOf(position))
    copyFile(join(dataDir, name), join(aside, name))
    files.push(name)
  }
  await copy(join(dataDir, JOURNAL), join(aside, JOURNAL))
  files.push(JOURNAL)
  for (const folder of folders) Directory.sync(join(aside, folder))
  return files
}

/** Copies a data directory, in use or not, to a path that does not exist yet. */
export const backup = (dataDir: string, target: string): Effect.Effect<BackedUp, JournalError> =>
  Effect.tryPromise({
    try: async () => {
      if (existsSync(target)) throw new Error(`${target} already exists`)
      if (!existsSync(join(dataDir, JOURNAL))) throw new Error(`there is no journal in ${dataDir}`)
      const aside = `${target}.partial`
      const remove = () => rmSync(aside, { recursive: true, force: true })
      remove()
      try {
        const files = await copyAll(dataDir, aside)
        renameSync(aside, target)
        Directory.sync(dirname(target))
        return { directory: target, files }
      } catch (cause) {
        // most often the disk is full, perhaps that of the exchange
        remove()
        throw cause
      }
    },
    catch: (cause) =>
      new JournalError({ message: `the backup failed: ${(cause as Error).message}`, cause: cause as Error })
  })
