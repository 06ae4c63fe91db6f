/**
 * Exports traces and logs to an OTLP collector: spans for {@link CurrentTracer}, and every log line in addition to the
 * console. Without the setting nothing is exported.
 */
import { Effect, Layer, Logger, Redacted } from "effect"
import { OtlpResource } from "effect/observability"
import { CurrentTracer } from "../../services/operations/Tracing.ts"
import type { Settings } from "../Settings.ts"
import * as OtlpExporter from "./OtlpExporter.ts"
import * as OtlpLogger from "./OtlpLogger.ts"
import * as OtlpTracer from "./OtlpTracer.ts"

const SCOPE = { name: "trading-gateway" }

/** A percent-decoded value; text with invalid encoding remains as it is. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** `name=value,name=value`, values percent-encoded. Source: OpenTelemetry, OTLP exporter configuration. */
export const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(",").map((pair) => {
      const at = pair.indexOf("=")
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]
    })
  )

export const layer = (settings: Settings): Layer.Layer<never> => {
  const { otlpEndpoint, otlpHeaders, otlpServiceName } = settings
  if (otlpEndpoint === undefined) return Layer.empty
  const base = Redacted.value(otlpEndpoint).replace(/\/+$/u, "")
  const headers = {
    "content-type": "application/json",
    ...(otlpHeaders === undefined ? {} : headersOf(Redacted.value(otlpHeaders)))
  }
  const resource = OtlpResource.make({ serviceName: otlpServiceName })
  const traces = OtlpExporter.make({
    url: `${base}/v1/traces`,
    signal: "traces",
    headers,
    message: (spans) => ({ resourceSpans: [{ resource, scopeSpans: [{ scope: SCOPE, spans }] }] })
  })
  const logs = OtlpExporter.make({
    url: `${base}/v1/logs`,
    signal: "logs",
    headers,
    message: (logRecords) => ({ resourceLogs: [{ resource, scopeLogs: [{ scope: SCOPE, logRecords }] }] })
  })
  return Layer.mergeAll(
    Layer.effect(CurrentTracer, Effect.map(traces, OtlpTracer.make)),
    Logger.layer([Effect.map(logs, OtlpLogger.make)], { mergeWithExisting: true })
  )
}
