/**
 * Sends records to a collector over OTLP/HTTP: a list with a limit, and one fiber that posts it in batches. No caller waits
 * for it: records beyond the limit are dropped and counted. A batch that fails is posted again after a growing pause; a
 * batch that the collector rejects for good is dropped. At shutdown the rest is posted within a time limit. Why this is not
 * Effect's exporter: docs/decisions/0015-otlp.md.
 */
import { Deferred, Duration, Effect, Fiber, type Scope } from "effect"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"

/** Records in the list; further ones are dropped. */
export const RECORDS_MAX = 8_192
/** Records per post. */
export const POST_RECORDS_MAX = 512
/** Interval between posts. */
const EVERY = Duration.seconds(1)
/** Time limit of a post. */
const POST_TIMEOUT = Duration.seconds(5)
/** First and longest pause after a failure, in ms. */
const PAUSE_MS_MIN = 1_000
const PAUSE_MS_MAX = 30_000
/** Time limit for the last posts of a signal at shutdown. */
const SHUTDOWN_TIMEOUT = Duration.millis(1_500)

export interface Options {
  readonly url: string
  readonly signal: "traces" | "logs"
  readonly headers: Readonly<Record<string, string>>
  /** The OTLP message of a batch. */
  readonly message: (records: ReadonlyArray<object>) => object
  /** Interval between posts. Default {@link EVERY}. */
  readonly every?: Duration.Input
}

export type Push = (record: object) => void

/** Whether a retry would fail with the same status. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && status !== 408 && status !== 429

/** Posts for the lifetime of the scope; returns the function that adds a record. */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Push, never, Scope.Scope> {
  const meter = yield* CurrentMetricsRegistry
  const { headers, message, signal, url } = options
  const sent = meter.counter("gateway_otlp_records_total", { signal, outcome: "sent" })
  const dropped = meter.counter("gateway_otlp_records_total", { signal, outcome: "dropped" })
  const waiting: Array<object> = []
  const ending = yield* Deferred.make<void>()

  const post = (records: ReadonlyArray<object>) =>
    Effect.tryPromise(async (signal) => {
      const body = JSON.stringify(message(records))
      const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "error" })
      await response.arrayBuffer()
      return response.status
    }).pipe(
      Effect.timeout(POST_TIMEOUT),
      Effect.orElseSucceed(() => 0)
    )

  /** Posts all records up to the first failure; false: a post failed. */
  const postAll = Effect.gen(function* () {
    while (waiting.length > 0) {
      const records = waiting.slice(0, POST_RECORDS_MAX)
      const status = yield* post(records)
      const accepted = status >= 200 && status < 300
      if (!accepted && !isFinal(status)) return false
      waiting.splice(0, records.length)
      const outcome = accepted ? sent : dropped
      outcome.add(records.length)
    }
    return true
  })
  const ended = Effect.as(Deferred.await(ending), true)
  const pause = (duration: Duration.Input) => Effect.raceFirst(Effect.as(Effect.sleep(duration), false), ended)

  const posting = yield* Effect.gen(function* () {
    let failures = 0
    let isEnding = false
    while (!isEnding) {
      const wait = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(failures, 16))
      isEnding = yield* pause(failures === 0 ? (options.every ?? EVERY) : wait / 2)
      const succeeded = yield* postAll
      if (!succeeded && failures === 0)
        yield* Effect.logWarning("telemetry is not accepted").pipe(Effect.annotateLogs({ signal }))
      if (succeeded && failures > 0)
        yield* Effect.logInfo("telemetry is accepted again").pipe(Effect.annotateLogs({ signal }))
      failures = succeeded ? 0 : failures + 1
    }
  }).pipe(Effect.forkScoped)
  yield* Effect.addFinalizer(() =>
    Deferred.succeed(ending, undefined).pipe(
      Effect.andThen(Effect.timeoutOption(Fiber.await(posting), SHUTDOWN_TIMEOUT)),
      Effect.andThen(Effect.sync(() => dropped.add(waiting.length)))
    )
  )

  return (record) => {
    if (waiting.length < RECORDS_MAX) waiting.push(record)
    else dropped.add()
  }
})
