/**
 * Spans, where somebody wants them: what a request, a call of a backend and a batch of events took. Nobody does unless a
 * {@link CurrentTracer} is provided; parts ask for it when they are built, and without one the way of a request has no step
 * more. It is not the tracer of Effect itself, so nothing else makes spans: what is in them is what stands here.
 *
 * A span holds names, ids of requests and commands, counts and outcomes; never a header, a body, a query or an address.
 */
import { Context, Effect, Exit, type Fiber, Option, Tracer } from "effect"
import { RequestContext } from "./RequestContext.ts"

export const CurrentTracer = Context.Reference<Tracer.Tracer | undefined>("gateway/services/Tracer", {
  defaultValue: () => undefined
})

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Begins a span at a time (Unix ns). */
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

/** The same under the span of a fiber, with the id of the request that it serves. */
export const beginIn = (
  fiber: Fiber.Fiber<unknown, unknown>,
  tracer: Tracer.Tracer,
  name: string,
  kind: Tracer.SpanKind,
  startTime: bigint,
  attributes: Attributes = {}
): Tracer.Span => {
  const asking = Context.getOrUndefined(fiber.context, RequestContext)
  const parent = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
  const id = asking === undefined ? {} : { request_id: asking.id }
  return begin(tracer, name, kind, parent, startTime, { ...id, ...attributes })
}

const well = Exit.void
/** Ends a span; `fault` is a word for what went wrong, never its text. */
export const end = (span: Tracer.Span, endTime: bigint, fault?: string): void => {
  if (fault === undefined) return span.end(endTime, well)
  span.attribute("error.type", fault)
  span.end(endTime, Exit.fail(fault))
}

/** Runs an effect in a span of its own, which no other caused; where nobody wants spans, just so. */
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
const NOTHING = /^0+$/u

/** Whoever calls, as its `traceparent` header says; `undefined`: it says nothing that can be read. Source: W3C Trace Context. */
export const callerOf = (traceparent: string | undefined): Tracer.ExternalSpan | undefined => {
  const found = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  if (found === null) return undefined
  const [text, version, traceId, spanId, flags] = found as unknown as [string, string, string, string, string]
  if (version === "ff" || NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined
  if (version === "00" && text.endsWith("-")) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}

/** The header that makes a span the caller of what is asked. */
export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`

/** Spans of requests, by the platform's own object of the request. */
const requests = new WeakMap<object, Tracer.Span>()
export const beginRequest = (request: object, span: Tracer.Span): void => void requests.set(request, span)
/** The span of a request, which tells the id of the request from now on; `undefined`: it has none. */
export const ofRequest = (request: object, id: string): Tracer.Span | undefined => {
  const span = requests.get(request)
  span?.attribute("request_id", id)
  return span
}
