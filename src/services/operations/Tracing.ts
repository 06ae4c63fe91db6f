/**
 * Optional tracing of requests, backend calls and event batches. Without a {@link CurrentTracer} there are no spans
 * and no extra steps: parts read the tracer when they are built. It is separate from Effect's own tracer, so only the
 * spans created here exist.
 *
 * A span contains names, ids of requests and commands, counts and outcomes; never a header, a body, a query or an
 * address.
 */
import { Context, Effect, Exit, type Fiber, Option, Tracer } from "effect"
import { RequestContext } from "./RequestContext.ts"

export const CurrentTracer = Context.Reference<Tracer.Tracer | undefined>("gateway/services/Tracer", {
  defaultValue: () => undefined
})

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Starts a span at a time (Unix ns). */
export const begin = (
  tracer: Tracer.Tracer,
  name: string,
  kind: Tracer.SpanKind,
  parent: Tracer.AnySpan | undefined,
  startTime: bigint,
  attributes: Attributes
): Tracer.Span => {
  const span = tracer.span({
    name,
    kind,
    parent: Option.fromUndefinedOr(parent),
    annotations: Context.empty(),
    links: [],
    startTime,
    root: parent === undefined,
    sampled: parent?.sampled ?? true
  })
  for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
  return span
}

/** Starts a span as a child of the fiber's span, with the id of the fiber's request. */
export const beginIn = (
  fiber: Fiber.Fiber<unknown, unknown>,
  tracer: Tracer.Tracer,
  name: string,
  kind: Tracer.SpanKind,
  startTime: bigint,
  attributes: Attributes = {}
): Tracer.Span => {
  const request = Context.getOrUndefined(fiber.context, RequestContext)
  const parent = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
  const id = request === undefined ? {} : { request_id: request.id }
  return begin(tracer, name, kind, parent, startTime, { ...id, ...attributes })
}

const success = Exit.void
/** Ends a span; `fault` is a short error type, never an error text. */
export const end = (span: Tracer.Span, endTime: bigint, fault?: string): void => {
  if (fault === undefined) return span.end(endTime, success)
  span.attribute("error.type", fault)
  span.end(endTime, Exit.fail(fault))
}

/** Runs an effect in a root span; without a tracer, runs the effect alone. */
export const around = <A, E, R>(
  tracer: Tracer.Tracer | undefined,
  name: string,
  attributes: Attributes,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  tracer === undefined
    ? effect
    : Effect.clockWith((clock) => {
        const span = begin(tracer, name, "internal", undefined, clock.currentTimeNanosUnsafe(), attributes)
        return effect.pipe(
          Effect.provideService(Tracer.ParentSpan, span),
          Effect.onExit((exit) =>
            Effect.sync(() => end(span, clock.currentTimeNanosUnsafe(), Exit.isSuccess(exit) ? undefined : "failed"))
          )
        )
      })

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:$|-)/u
const ALL_ZERO = /^0+$/u

/**
 * The parent span of a `traceparent` header; `undefined` if the header is absent or invalid. Source: W3C Trace
 * Context.
 */
export const callerOf = (traceparent: string | undefined): Tracer.ExternalSpan | undefined => {
  const found = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  if (found === null) return undefined
  const [text, version, traceId, spanId, flags] = found as unknown as [string, string, string, string, string]
  if (version === "ff" || ALL_ZERO.test(traceId) || ALL_ZERO.test(spanId)) return undefined
  if (version === "00" && text.endsWith("-")) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

/** The `traceparent` header of a span. */
export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

/** Spans of requests, keyed by the platform's request object. */
const requests = new WeakMap<object, Tracer.Span>()
export const beginRequest = (request: object, span: Tracer.Span): void => void requests.set(request, span)
/** The span of a request; sets its request id. `undefined`: the request has no span. */
export const ofRequest = (request: object, id: string): Tracer.Span | undefined => {
  const span = requests.get(request)
  span?.attribute("request_id", id)
  return span
}
