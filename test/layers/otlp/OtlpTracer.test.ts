/** A span as OTLP has it: kinds and status codes of the specification, times in ns as text, one export when it ends. */
import { Option, Tracer } from "effect"
import { assert, describe, it } from "vitest"
import * as OtlpTracer from "../../../src/layers/otlp/OtlpTracer.ts"
import { begin, end } from "../../../src/services/operations/Tracing.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- what is exported is JSON
type Exported = any

const setting = () => {
  const exported: Array<Exported> = []
  return { exported, tracer: OtlpTracer.make((span) => void exported.push(span)) }
}
const external = (sampled: boolean) =>
  Tracer.externalSpan({ traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", sampled })

describe("a span", () => {
  it("is exported once, when it ends, with its times, attributes and OK", () => {
    const { exported, tracer } = setting()
    const span = begin(tracer, "GET /api/v1/user/me", "server", undefined, 1_700_000_000_000_000_001n, { n: 7 })
    span.attribute("late", true)
    assert.deepStrictEqual(exported, [])
    end(span, 1_700_000_000_000_000_002n)
    end(span, 1_700_000_000_000_000_003n)
    assert.lengthOf(exported, 1)
    const [{ spanId, traceId, ...rest }] = exported
    assert.match(traceId, /^[0-9a-f]{32}$/u)
    assert.match(spanId, /^[0-9a-f]{16}$/u)
    assert.deepStrictEqual(rest, {
      name: "GET /api/v1/user/me",
      kind: 2,
      startTimeUnixNano: "1700000000000000001",
      endTimeUnixNano: "1700000000000000002",
      attributes: [
        { key: "n", value: { intValue: 7 } },
        { key: "late", value: { boolValue: true } }
      ],
      status: { code: 1 }
    })
  })

  it("has ERROR and the type of its fault", () => {
    const { exported, tracer } = setting()
    end(begin(tracer, "submit", "client", undefined, 1n, {}), 2n, "BackendUnavailable")
    assert.deepInclude(exported[0], {
      kind: 3,
      status: { code: 2 },
      attributes: [{ key: "error.type", value: { stringValue: "BackendUnavailable" } }]
    })
  })

  it.each([
    ["internal", 1],
    ["producer", 4],
    ["consumer", 5]
  ] as const)("of kind %s has number %i", (kind, number) => {
    const { exported, tracer } = setting()
    end(begin(tracer, "one", kind, undefined, 1n, {}), 2n)
    assert.strictEqual(exported[0].kind, number)
  })

  it("belongs to the trace of its parent, here or in another process", () => {
    const { exported, tracer } = setting()
    const outer = begin(tracer, "outer", "server", external(true), 1n, {})
    end(begin(tracer, "inner", "internal", outer, 2n, {}), 3n)
    end(outer, 4n)
    const [inner, last] = exported
    assert.deepInclude(last, { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", parentSpanId: "00f067aa0ba902b7" })
    assert.deepInclude(inner, { traceId: last.traceId, parentSpanId: last.spanId })
    assert.notStrictEqual(inner.spanId, last.spanId)
    assert.deepStrictEqual(outer.parent, Option.some(external(true)))
  })

  it("whose parent is not sampled is not exported, nor are those below it", () => {
    const { exported, tracer } = setting()
    const outer = begin(tracer, "outer", "server", external(false), 1n, {})
    end(begin(tracer, "inner", "internal", outer, 2n, {}), 3n)
    end(outer, 4n)
    assert.deepStrictEqual(exported, [])
  })
})
