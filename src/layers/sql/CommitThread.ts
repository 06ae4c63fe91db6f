/**
 * The thread that commits to an SQLite database, with a connection of its own. The thread that serves requests then
 * neither writes nor checkpoints.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { parentPort, workerData } from "node:worker_threads"
import type { CommitReply, CommitRequest, CommitThreadData, StatementRef } from "./SqliteCommits.ts"

const { busy_ms, filename, synchronous } = workerData as CommitThreadData
const database = new DatabaseSync(filename, { timeout: busy_ms })
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};`)

const known: Array<string> = []
/** By the index of their text. */
const prepared: Array<StatementSync> = []

const all = ([text, values]: StatementRef) => {
  const statement = (prepared[text] ??= database.prepare(known[text]!))
  return statement.all(...(values as ReadonlyArray<SQLInputValue>))
}

const commit = ({ guard, rest, texts }: Extract<CommitRequest, { readonly type: "commit" }>): boolean => {
  known.push(...texts)
  database.exec("BEGIN IMMEDIATE")
  try {
    const isExpected = all(guard).length > 0
    if (isExpected) rest.forEach(all)
    database.exec(isExpected ? "COMMIT" : "ROLLBACK")
    return isExpected
  } catch (cause) {
    if (database.isTransaction) database.exec("ROLLBACK")
    throw cause
  }
}

const reply = (message: CommitReply): void => parentPort!.postMessage(message)

parentPort!.on("message", (request: CommitRequest) => {
  if (request.type === "close") {
    database.close()
    parentPort!.close()
    return
  }
  try {
    reply({ id: request.id, isDone: commit(request) })
  } catch (cause) {
    const { errcode, message } = cause as { readonly errcode?: number; readonly message: string }
    reply({ id: request.id, failure: { message, errcode } })
  }
})
