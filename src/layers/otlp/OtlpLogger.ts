/** Converts log lines to OTLP, each with the span that it was written in. */
import { Cause, Logger, type LogLevel, References } from "effect"
import { OtlpResource } from "effect/observability"
import type { Push } from "./OtlpExporter.ts"

const SEVERITIES: Partial<Record<LogLevel.LogLevel, number>> = {
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warn: 13,
  Error: 17,
  Fatal: 21
}

export const make = (push: Push): Logger.Logger<unknown, void> =>
  Logger.make(({ cause, date, fiber, logLevel, message }) => {
    const { span } = fiber.cache
    const text = Array.isArray(message) && message.length === 1 ? (message[0] as unknown) : message
    const attributes: Record<string, unknown> = { ...fiber.getRef(References.CurrentLogAnnotations) }
    if (cause.reasons.length > 0) attributes["exception.stacktrace"] = Cause.pretty(cause)
    push({
      timeUnixNano: String(BigInt(date.getTime()) * 1_000_000n),
      severityNumber: SEVERITIES[logLevel] ?? 0,
      severityText: logLevel,
      body: OtlpResource.unknownToAttributeValue(text),
      attributes: OtlpResource.entriesToAttributes(Object.entries(attributes)),
      ...(span !== undefined && { traceId: span.traceId, spanId: span.spanId })
    })
  })
