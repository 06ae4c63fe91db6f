/**
 * Commits to an SQLite database in a thread of their own. The thread starts with the first commit, and again after it
 * has ended; commits that it did not answer have failed.
 */
import { Worker } from "node:worker_threads"
import { Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { CommitPort } from "./CommitPort.ts"
import { BUSY_TIMEOUT_MS, failure, type Options } from "./NodeSqlite.ts"
import type { Statement, Value } from "./Tables.ts"

export interface CommitThreadData extends Options {
  /** Longest wait for the lock of another connection, in ms. */
  readonly busy_ms: number
}
/** A statement by the index of its text. */
export type StatementRef = readonly [text: number, values: ReadonlyArray<Value>]
export type CommitRequest =
  | {
      readonly type: "commit"
      readonly id: number
      /** Texts that the thread has not received before. */
      readonly texts: ReadonlyArray<string>
      readonly guard: StatementRef
      readonly rest: ReadonlyArray<StatementRef>
    }
  | { readonly type: "close" }
export type CommitReply =
  | { readonly id: number; readonly isDone: boolean }
  | { readonly id: number; readonly failure: { readonly message: string; readonly errcode: number | undefined } }

/** URL of the thread's module, as source or as built. */
const entry = new URL(import.meta.url.endsWith(".ts") ? "./CommitThread.ts" : "./CommitThread.js", import.meta.url)

type Result = Effect.Effect<boolean, SqlError.SqlError>

/** One run of the thread. */
class CommitThread {
  readonly worker: Worker
  isOver = false
  private readonly texts = new Map<string, number>()
  private readonly waiting = new Map<number, (result: Result) => void>()
  private ids = 0
  private readonly filename: string

  constructor(data: CommitThreadData) {
    this.filename = data.filename
    this.worker = new Worker(entry, { workerData: data, name: "commits" })
    this.worker.on("message", (reply: CommitReply) => {
      const resume = this.waiting.get(reply.id)
      this.waiting.delete(reply.id)
      resume?.(
        "failure" in reply
          ? Effect.fail(
              failure(
                this.filename,
                Object.assign(new Error(reply.failure.message), { errcode: reply.failure.errcode }),
                "commit"
              )
            )
          : Effect.succeed(reply.isDone)
      )
    })
    this.worker.once("error", (cause) => this.end(cause))
    this.worker.once("exit", () => this.end(new Error("the commit thread ended")))
  }
  private end(cause: unknown): void {
    this.isOver = true
    for (const resume of this.waiting.values()) resume(Effect.fail(failure(this.filename, cause, "commit")))
    this.waiting.clear()
  }
  private send(request: CommitRequest): void {
    this.worker.postMessage(request)
  }

  commit(guard: Statement, statements: ReadonlyArray<Statement>, resume: (result: Result) => void): void {
    const texts: Array<string> = []
    const ref = ([text, values]: Statement): StatementRef => {
      let index = this.texts.get(text)
      if (index === undefined) {
        index = this.texts.size
        this.texts.set(text, index)
        texts.push(text)
      }
      return [index, values]
    }
    const id = ++this.ids
    this.waiting.set(id, resume)
    this.send({ type: "commit", id, guard: ref(guard), rest: statements.map(ref), texts })
  }
  /** Ends the thread after the commits that it has received. */
  readonly close: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.isOver) return resume(Effect.void)
    this.worker.once("exit", () => resume(Effect.void))
    this.send({ type: "close" })
  })
}

export const layer = (options: Options): Layer.Layer<never> =>
  Layer.effect(
    CommitPort,
    Effect.gen(function* () {
      let thread: CommitThread | undefined
      yield* Effect.addFinalizer(() => Effect.suspend(() => thread?.close ?? Effect.void))
      return {
        commit: (guard, statements) =>
          Effect.callback((resume) => {
            if (thread === undefined || thread.isOver) {
              thread = new CommitThread({ ...options, busy_ms: BUSY_TIMEOUT_MS })
            }
            thread.commit(guard, statements, resume)
          })
      }
    })
  )
