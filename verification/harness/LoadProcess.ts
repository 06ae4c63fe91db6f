/** Load clients are processes of their own: a program that answers calls over IPC, and who calls it. */
import { type ChildProcess, fork } from "node:child_process"

/** What a load client can be asked; arguments and answers are what JSON can say. */
export type Calls = Readonly<Record<string, (argument: never) => Promise<unknown>>>

type Argument<C extends Calls, K extends keyof C> = Parameters<C[K]>[0]
type Answer<C extends Calls, K extends keyof C> = Awaited<ReturnType<C[K]>>

interface Call {
  readonly name: string
  readonly argument: unknown
}
type Reply = { readonly answer: unknown } | { readonly fault: string }

export interface Child<C extends Calls> {
  /** One call at a time; fails with what the load client failed with, or when it ends. */
  readonly call: <K extends keyof C & string>(name: K, argument: Argument<C, K>) => Promise<Answer<C, K>>
  readonly stop: () => Promise<void>
}

/** Starts the program of a file, which {@link serve}s such calls. */
export const start = <C extends Calls>(file: string): Child<C> => {
  const child: ChildProcess = fork(file, { execArgv: [] })
  const over = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  return {
    call: (name, argument) =>
      new Promise((resolve, reject) => {
        const ended = (code: number | null) => reject(new Error(`${file} ended with ${code}`))
        child.once("exit", ended)
        child.once("message", (reply: Reply) => {
          child.off("exit", ended)
          if ("fault" in reply) reject(new Error(reply.fault))
          // both sides are of one program
          else resolve(reply.answer as Answer<C, typeof name>)
        })
        child.send({ name, argument } satisfies Call)
      }),
    stop: async () => {
      child.kill("SIGKILL")
      await over
    }
  }
}

/** Answers calls until whoever started this process is gone. */
export const serve = (calls: Calls): void => {
  process.once("disconnect", () => process.exit(0))
  process.on("message", ({ argument, name }: Call) => {
    calls[name]!(argument as never).then(
      (answer) => process.send!({ answer: answer ?? null } satisfies Reply),
      (fault: unknown) =>
        process.send!({ fault: fault instanceof Error ? String(fault.stack) : String(fault) } satisfies Reply)
    )
  })
}
