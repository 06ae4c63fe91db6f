/** Export to a collector is optional: without the setting there is not even a layer. */
import { Cause, ConfigProvider, Context, Effect, Layer, Logger, References, Tracer } from "effect"
import { assert, it } from "vitest"
import * as Otlp from "../../../src/layers/otlp/Otlp.ts"
import * as OtlpLogger from "../../../src/layers/otlp/OtlpLogger.ts"
import { settings } from "../../../src/layers/Settings.ts"
import { CurrentTracer } from "../../../src/services/operations/Tracing.ts"
import { Collector } from "../../doubles/Collector.ts"
import { stillClock } from "../../doubles/StillClock.ts"

const layerOf = (environment: Record<string, string>) =>
  Effect.runPromise(
    Effect.map(settings, Otlp.layer).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(environment))
    )
  )

it("is an empty layer without an endpoint", async () => {
  assert.strictEqual(await layerOf({}), Layer.empty)
  assert.strictEqual(await layerOf({ OTEL_SERVICE_NAME: "a" }), Layer.empty)
})

it("provides a tracer, and exports log lines in addition to the other loggers", async () => {
  const collector = await Collector.start()
  const layer = await layerOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: "a=b%20c" })
  const said = Effect.gen(function* () {
    assert.isDefined(Context.get(yield* Effect.context<never>(), CurrentTracer))
    yield* Effect.logWarning("something happened").pipe(Effect.annotateLogs({ seq: 7 }))
  })
  // the rest is posted at the end
  await Effect.runPromise(Effect.provide(said, layer))
  assert.deepStrictEqual(
    collector.logs.map(({ attributes, body, severityText }) => [severityText, body, attributes]),
    [["Warn", "something happened", { seq: 7 }]]
  )
  assert.deepInclude(collector.posts[0]!.headers, { a: "b c", "content-type": "application/json" })
  await collector.close()
})

it("parses headers in the usual form", () => {
  assert.deepStrictEqual(Otlp.headersOf("authorization=Basic%20YTpi, x-key=YQ==, x-tenant = one,bad=100%"), {
    authorization: "Basic YTpi",
    "x-key": "YQ==",
    "x-tenant": "one",
    bad: "100%"
  })
})

it("writes a log line with its time, its severity by OpenTelemetry, its span and the cause of a failure", async () => {
  const severities = { Trace: 1, Debug: 5, Info: 9, Warn: 13, Error: 17, Fatal: 21 } as const
  const lines: Array<object> = []
  const logger = Logger.layer([OtlpLogger.make((line) => void lines.push(line))])
  const ids = { traceId: "ab".repeat(16), spanId: "cd".repeat(8) }
  for (const level of Object.keys(severities) as Array<keyof typeof severities>)
    await Effect.runPromise(
      Effect.logWithLevel(level)("late", Cause.fail("no backend")).pipe(
        Effect.withParentSpan(Tracer.externalSpan(ids)),
        Effect.provideService(References.MinimumLogLevel, "All"),
        Effect.provide([logger, stillClock(1_700_000_000_001).layer])
      )
    )
  for (const [i, [severityText, severityNumber]] of Object.entries(severities).entries()) {
    const { attributes, body, ...rest } = lines[i] as { readonly attributes: unknown; readonly body: unknown }
    assert.deepStrictEqual<object>(rest, { timeUnixNano: "1700000000001000000", severityNumber, severityText, ...ids })
    assert.deepStrictEqual(body, { stringValue: "late" })
    assert.match(JSON.stringify(attributes), /"exception\.stacktrace".*no backend/u)
  }
})
