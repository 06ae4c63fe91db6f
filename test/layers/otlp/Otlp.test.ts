/** Export to a collector is optional: without the setting there is not even a layer. */
import { ConfigProvider, Context, Effect, Layer } from "effect"
import { assert, it } from "vitest"
import * as Otlp from "../../../src/layers/otlp/Otlp.ts"
import { settings } from "../../../src/layers/Settings.ts"
import { CurrentTracer } from "../../../src/services/operations/Tracing.ts"
import { Collector } from "../../doubles/Collector.ts"

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
  const layer = await layerOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: "a=b%20c,d" })
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
  assert.strictEqual(collector.posts[0]!.headers["a"], "b c")
  await collector.close()
})

it("parses headers in the usual form", () => {
  assert.deepStrictEqual(Otlp.headersOf("authorization=Basic%20YTpi, x-tenant = one,odd,bad=100%"), {
    authorization: "Basic YTpi",
    "x-tenant": "one",
    bad: "100%"
  })
})
