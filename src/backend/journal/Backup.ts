/**
 * A copy of a data directory that may be in use.
 *
 * Each database is copied as of one moment by SQLite itself. The order matters: what follows from the journal (the
 * gateway's databases, the snapshots) is copied before it, so that the journal of the copy holds everything that the
 * rest of the copy has seen. The copy appears under its name when it is whole. Only its owner can read it.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { backup as copyDatabase, DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { JournalError } from "./Journal.ts"
import * as PrivateFiles from "./PrivateFiles.ts"
import * as Snapshots from "./Snapshots.ts"

export interface BackedUp {
  readonly directory: string
  /** Names below the directory, in the order in which they were copied. */
  readonly files: ReadonlyArray<string>
}

const copy = async (from: string, to: string): Promise<void> => {
  const db = new DatabaseSync(from, { readOnly: true })
  try {
    PrivateFiles.file(to)
    // all pages in one step: a copy in several would begin anew with every commit of the writer
    await copyDatabase(db, to, { rate: 0x7fffffff })
  } finally {
    db.close()
  }
}

const copyFile = (from: string, to: string): void => {
  PrivateFiles.file(to)
  copyFileSync(from, to)
}

/** Copies a data directory, in use or not, into one that does not exist yet. */
export const backup = (dataDir: string, target: string): Effect.Effect<BackedUp, JournalError> =>
  Effect.tryPromise({
    try: async () => {
      const journal = join("backend", "journal.sqlite")
      if (existsSync(target)) throw new Error(`${target} exists already`)
      if (!existsSync(join(dataDir, journal))) throw new Error(`there is no journal in ${dataDir}`)
      const aside = `${target}.partial`
      rmSync(aside, { recursive: true, force: true })
      mkdirSync(join(aside, "backend", "snapshots"), { recursive: true, mode: 0o700 })
      const files: Array<string> = []
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
      await copy(join(dataDir, journal), join(aside, journal))
      files.push(journal)
      mkdirSync(dirname(target), { recursive: true })
      renameSync(aside, target)
      return { directory: target, files }
    },
    catch: (cause) =>
      new JournalError({ message: `the backup was not made: ${(cause as Error).message}`, cause: cause as Error })
  })
