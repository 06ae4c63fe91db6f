/** Spans are there for those who want them; for the others there is not even a step on the way. */
import { Clock, Context, Effect, Exit, Tracer } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "vitest"
import * as FastPath from "../../../src/http/fast/FastPath.ts"
import { measure } from "../../../src/layers/node/Measure.ts"
import * as Tracing from "../../../src/services/operations/Tracing.ts"
import { until } from "../../../verification/harness/Wait.ts"

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const SPAN = "00f067aa0ba902b7"

describe("traceparent", () => {
  it("names the caller's span, sampled or not", () => {
    const caller = Tracing.callerOf(`00-${TRACE}-${SPAN}-01`)!
    assert.deepStrictEqual([caller.traceId, caller.spanId, caller.sampled], [TRACE, SPAN, true])
    assert.isFalse(Tracing.callerOf(`00-${TRACE}-${SPAN}-00`)!.sampled)
    // a later version may say more
    assert.strictEqual(Tracing.callerOf(`01-${TRACE}-${SPAN}-01-what-comes`)!.spanId, SPAN)
    assert.strictEqual(Tracing.traceparentOf(caller), `00-${TRACE}-${SPAN}-01`)
  })

  it.each([
    undefined,
    "",
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-0g`,
    `00-${TRACE}1-${SPAN}-01`
  ])("that is not one is as none: %s", (text) => {
    assert.isUndefined(Tracing.callerOf(text))
  })
})

describe("without a tracer", () => {
  it("a request has no span, and its way no step for one", async () => {
    const context = Context.empty()
    const { join } = FastPath.fastPathDeps(context, 0)
    let found: unknown = "not asked"
    const server = createServer((request, response) => {
      found = Tracing.ofRequest(request, "id")
      assert.strictEqual(join(context, request, "id"), context)
      response.end()
    })
    const stop = measure(server, { served: () => {}, sockets: () => {} } as never, () => "")
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01` }
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers })).arrayBuffer()
    assert.isUndefined(found)
    stop()
    server.closeAllConnections()
    server.close()
  })

  it("an effect is run as it is", () => {
    const effect = Effect.succeed(1)
    assert.strictEqual(Tracing.around(undefined, "name", {}, effect), effect)
  })
})

describe("with a tracer", () => {
  const setting = () => {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return { spans, tracer }
  }

  it("an effect has its span, ended with what became of it", async () => {
    const { spans, tracer } = setting()
    const inside = Effect.map(Effect.currentParentSpan, ({ spanId }) => spanId)
    const spanId = await Effect.runPromise(Tracing.around(tracer, "well", { events: 3 }, inside))
    await Effect.runPromise(Effect.ignore(Tracing.around(tracer, "failed", {}, Effect.fail("secret text"))))
    const [well, failed] = spans as [Tracer.Span, Tracer.Span]
    assert.strictEqual(spanId, well.spanId)
    assert.deepStrictEqual([...well.attributes], [["events", 3]])
    assert.strictEqual(well.status._tag, "Ended")
    assert.deepStrictEqual([...failed.attributes], [["error.type", "failed"]])
    assert.notInclude(
      JSON.stringify(failed.status, (_, value) => (typeof value === "bigint" ? String(value) : value)),
      "secret"
    )
  })

  it("a request has its span, with an error from status 500 on", async () => {
    const { spans, tracer } = setting()
    const server = createServer((request, response) => void response.writeHead(Number(request.url!.slice(1))).end())
    const clock = await Effect.runPromise(Clock.Clock)
    const stop = measure(server, { served: () => {}, sockets: () => {} } as never, () => "", { tracer, clock })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    for (const status of [404, 499, 500, 503])
      await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${status}`)).arrayBuffer()
    await until("the end of the spans", () => spans.every(({ status }) => status._tag === "Ended"))
    assert.deepStrictEqual(
      spans.map(({ attributes, status }) => [
        attributes.get("http.response.status_code"),
        attributes.get("error.type"),
        status._tag === "Ended" && Exit.isSuccess(status.exit)
      ]),
      [
        [404, undefined, true],
        [499, undefined, true],
        [500, "500", false],
        [503, "503", false]
      ]
    )
    stop()
    server.closeAllConnections()
    server.close()
  })
})
