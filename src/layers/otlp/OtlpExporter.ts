/**
 * Brings records to a collector over OTLP/HTTP: a bounded list of them, and one fiber that posts it piece by piece. Nobody
 * waits for it: what comes while the list is full is dropped and counted. A piece that the collector did not take is posted
 * again, after a pause that grows; one that it refuses for good is dropped. At the end what waits is posted once more,
 * within a bound. (Effect's own exporter has no bound while a collector takes posts and does not answer.)
 */
import { Deferred, Duration, Effect, Fiber, type Scope } from "effect"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"

/** Records that wait; later ones are dropped. */
export const RECORDS_MAX = 8_192
/** Records of one post. */
export const POST_RECORDS_MAX = 512
/** Time between two looks at the list. */
const EVERY = Duration.seconds(1)
/** Time that a post may take. */
const POST_WAIT = Duration.seconds(5)
/** First and longest pause after a failure, in ms. */
const PAUSE_MS_MIN = 1_000
const PAUSE_MS_MAX = 30_000
/** Time that the last posts of a signal may take when the gateway stops. */
const LAST_WAIT = Duration.millis(1_500)

export interface Options {
  readonly url: string
  readonly signal: "traces" | "logs"
  readonly headers: Readonly<Record<string, string>>
  /** The message of some records. */
  readonly message: (records: ReadonlyArray<object>) => object
  /** Default {@link EVERY}. */
  readonly every?: Duration.Input
}

export type Push = (record: object) => void

/** A status that will not be another one when the same is sent again. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && status !== 408 && status !== 429

/** Posts for as long as the scope lives; answers how to add a record. */
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
      Effect.timeout(POST_WAIT),
      Effect.orElseSucceed(() => 0)
    )

  /** Posts what waits, up to the first failure; false: there was one. */
  const postAll = Effect.gen(function* () {
    while (waiting.length > 0) {
      const records = waiting.slice(0, POST_RECORDS_MAX)
      const status = yield* post(records)
      const taken = status >= 200 && status < 300
      if (!taken && !isFinal(status)) return false
      waiting.splice(0, records.length)
      const outcome = taken ? sent : dropped
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
      const well = yield* postAll
      if (!well && failures === 0)
        yield* Effect.logWarning("telemetry is not taken").pipe(Effect.annotateLogs({ signal }))
      if (well && failures > 0) yield* Effect.logInfo("telemetry is taken again").pipe(Effect.annotateLogs({ signal }))
      failures = well ? 0 : failures + 1
    }
  }).pipe(Effect.forkScoped)
  yield* Effect.addFinalizer(() =>
    Deferred.succeed(ending, undefined).pipe(
      Effect.andThen(Effect.timeoutOption(Fiber.await(posting), LAST_WAIT)),
      Effect.andThen(Effect.sync(() => dropped.add(waiting.length)))
    )
  )

  return (record) => {
    if (waiting.length < RECORDS_MAX) waiting.push(record)
    else dropped.add()
  }
})
