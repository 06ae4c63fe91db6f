/** A tracer that exports sampled spans as OTLP when they end. */
import { Context, type Exit, Option, Tracer } from "effect"
import { Hex } from "effect/encoding"
import { OtlpResource } from "effect/observability"
import type { Push } from "./OtlpExporter.ts"

type Options = Parameters<Tracer.Tracer["span"]>[0]

const KINDS: Record<Tracer.SpanKind, number> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 }
const OK = 1
const ERROR = 2

class OtlpSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly name: string
  readonly spanId = Hex.random(16)
  readonly traceId: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations = Context.empty()
  readonly attributes = new Map<string, unknown>()
  readonly links: ReadonlyArray<Tracer.SpanLink> = []
  readonly sampled: boolean
  readonly kind: Tracer.SpanKind
  status: Tracer.SpanStatus
  private readonly push: Push

  constructor({ kind, name, parent, sampled, startTime }: Options, push: Push) {
    this.name = name
    this.kind = kind
    this.parent = parent
    this.sampled = sampled
    this.traceId = Option.isSome(parent) ? parent.value.traceId : Hex.random(32)
    this.status = { _tag: "Started", startTime }
    this.push = push
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    const { startTime } = this.status
    this.status = { _tag: "Ended", startTime, endTime, exit }
    if (!this.sampled) return
    this.push({
      traceId: this.traceId,
      spanId: this.spanId,
      ...(Option.isSome(this.parent) && { parentSpanId: this.parent.value.spanId }),
      name: this.name,
      kind: KINDS[this.kind],
      startTimeUnixNano: String(startTime),
      endTimeUnixNano: String(endTime),
      attributes: OtlpResource.entriesToAttributes(this.attributes),
      status: { code: exit._tag === "Success" ? OK : ERROR }
    })
  }
  attribute(key: string, value: unknown): void {
    this.attributes.set(key, value)
  }
  /** Events and links are not exported: no caller uses them. */
  event(): void {}
  addLinks(): void {}
}

export const make = (push: Push): Tracer.Tracer => Tracer.make({ span: (options) => new OtlpSpan(options, push) })
