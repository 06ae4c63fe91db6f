/** Load clients in processes of their own: a program that serves calls over IPC, and its caller. */
import { type ChildProcess, fork, type ForkOptions } from "node:child_process"

/** The calls of a load client. Arguments and results are JSON. */
export type Calls = Readonly<Record<string, (argument: never) => Promise<unknown>>>

type Argument<C extends Calls, K extends keyof C> = Parameters<C[K]>[0]
type Result<C extends Calls, K extends keyof C> = Awaited<ReturnType<C[K]>>

interface Call {
  readonly name: string
  readonly argument: unknown
}
type Reply = { readonly result: unknown } | { readonly fault: string }

export interface LoadProcess<C extends Calls> {
  readonly pid: number
  /** One call at a time. Fails with the fault of the load client, or at its exit. */
  readonly call: <K extends keyof C & string>(name: K, argument: Argument<C, K>) => Promise<Result<C, K>>
  readonly stop: () => Promise<void>
}

/** Starts the program of a file, which {@link serve}s such calls. */
export const startLoad = <C extends Calls>(file: string, options: ForkOptions = { execArgv: [] }): LoadProcess<C> => {
  const child: ChildProcess = fork(file, options)
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  return {
    pid: child.pid!,
    call: (name, argument) =>
      new Promise((resolve, reject) => {
        const onExit = (code: number | null) => reject(new Error(`${file} ended with ${code}`))
        child.once("exit", onExit)
        child.once("message", (reply: Reply) => {
          child.off("exit", onExit)
          if ("fault" in reply) reject(new Error(reply.fault))
          // both sides share the type of the calls
          else resolve(reply.result as Result<C, typeof name>)
        })
        child.send({ name, argument } satisfies Call)
      }),
    stop: async () => {
      child.kill("SIGKILL")
      await exited
    }
  }
}

/** Serves calls until the parent process disconnects. */
export const serve = (calls: Calls): void => {
  process.once("disconnect", () => process.exit(0))
  process.on("message", ({ argument, name }: Call) => {
    calls[name]!(argument as never).then(
      (result) => process.send!({ result: result ?? null } satisfies Reply),
      (fault: unknown) =>
        process.send!({ fault: fault instanceof Error ? String(fault.stack) : String(fault) } satisfies Reply)
    )
  })
}
