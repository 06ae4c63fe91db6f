/** Commands over one SubmitStream, with a count of all results. Source: docs/contract/boundary.md#sequencer. */
import type { ServiceError } from "@grpc/grpc-js"
import { Effect, type Scope } from "effect"
import {
  type Command,
  type CommandResult,
  SequencerService,
  type SubmitStreamRequest,
  type SubmitStreamResponse
} from "../src/proto/gateway/v1/sequencer.ts"
import { Broken } from "./Expect.ts"
import { abandon, type Link, statusName } from "./Link.ts"

export interface CommandStream {
  /** Sends commands in one message. Returns their results in the order of the commands. */
  readonly submitAll: (commands: ReadonlyArray<Command>) => Effect.Effect<ReadonlyArray<CommandResult>, Broken>
  /** How often each command_id was sent, and got a result. */
  readonly sent: ReadonlyMap<string, number>
  readonly answered: ReadonlyMap<string, number>
  /** The last reading of the stream's clock, in ms. */
  readonly clock_ms: () => number | undefined
}

/** Pending commands, which get results in the order of submission. */
interface Waiter {
  readonly take: (result: CommandResult) => void
  readonly fail: (cause: Broken) => void
}

const count = (counts: Map<string, number>, id: string): void => void counts.set(id, (counts.get(id) ?? 0) + 1)

/** Opens the stream for the life of the scope. A lost stream is not reopened, because a conforming backend loses none. */
export const make = Effect.fnUntraced(function* (
  link: Link,
  patience_ms: number
): Effect.fn.Return<CommandStream, never, Scope.Scope> {
  const sent = new Map<string, number>()
  const answered = new Map<string, number>()
  const waiting = new Map<string, Array<Waiter>>()
  let lost: Broken | undefined
  let batch_id = 0
  let clock_ms: number | undefined
  const call = yield* Effect.acquireRelease(
    Effect.sync(() => link.duplex<SubmitStreamRequest, SubmitStreamResponse>(SequencerService.submitStream)),
    (call) => Effect.sync(() => abandon(call))
  )
  const end = (message: string) => {
    lost ??= new Broken({ message })
    for (const waiters of waiting.values()) for (const { fail } of waiters) fail(lost)
    waiting.clear()
  }
  call.on("error", ({ code, details }: ServiceError) => end(`SubmitStream ended with ${statusName(code)}: ${details}`))
  call.on("end", () => end("SubmitStream was ended by the backend"))
  call.on("data", ({ results, ...response }: SubmitStreamResponse) => {
    clock_ms = response.clock_ms
    for (const result of results) {
      const id = result.outcome?.value.command_id ?? ""
      count(answered, id)
      waiting.get(id)?.shift()?.take(result)
    }
  })

  const submitAll = (commands: ReadonlyArray<Command>) =>
    Effect.callback<ReadonlyArray<CommandResult>, Broken>((resume) => {
      if (lost !== undefined) return resume(Effect.fail(lost))
      const results: Array<CommandResult> = []
      let left = commands.length
      commands.forEach(({ command_id }, i) => {
        count(sent, command_id)
        const waiter: Waiter = {
          take: (result) => {
            results[i] = result
            if (--left === 0) resume(Effect.succeed(results))
          },
          fail: (cause) => resume(Effect.fail(cause))
        }
        waiting.set(command_id, [...(waiting.get(command_id) ?? []), waiter])
      })
      call.write({ batch_id: ++batch_id, commands: [...commands] })
    }).pipe(
      Effect.timeoutOrElse({
        duration: patience_ms,
        orElse: () => {
          const mute = commands.filter(({ command_id }) => sent.get(command_id)! > (answered.get(command_id) ?? 0))
          const names = mute.map(({ command_id, command }) => `${command?.$case} ${command_id}`).slice(0, 3)
          const message = `${mute.length} commands got no answer within ${patience_ms} ms: ${names.join(", ")}`
          return Effect.fail(new Broken({ message }))
        }
      })
    )
  return { submitAll, sent, answered, clock_ms: () => clock_ms }
})
