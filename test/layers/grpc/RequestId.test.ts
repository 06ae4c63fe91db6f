import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall, status } from "@grpc/grpc-js"
import { Effect, Layer, ManagedRuntime, Tracer } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as GrpcReferee from "../../../src/layers/grpc/GrpcReferee.ts"
import { RefereeService } from "../../../src/proto/gateway/v1/referee.ts"
import { Referee } from "../../../src/services/Referee.ts"
import { CurrentTracer } from "../../../src/services/operations/Tracing.ts"
import { type Gateway, gateway } from "../../http/Fixture.ts"

/** A referee that records the request ids of its calls; its first response to each id is UNAVAILABLE. */
const server = new Server()
const ids: Array<string> = []
const callers: Array<string | undefined> = []
let port: number
server.addService(RefereeService, {
  getFeeRates: (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) => {
    const id = String(call.metadata.get("x-request-id")[0])
    const first = !ids.includes(id)
    ids.push(id)
    callers.push(call.metadata.get("traceparent")[0]?.toString())
    if (first) callback({ code: status.UNAVAILABLE, details: "not there" })
    else callback({ code: status.NOT_FOUND, details: "nobody" })
  }
})

let door: Gateway
let close: () => Promise<void>
beforeAll(async () => {
  port = await new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error)
    )
  )
  const reading = ManagedRuntime.make(
    GrpcReferee.layer({ address: `127.0.0.1:${port}`, secret: undefined, tls: undefined })
  )
  door = gateway({ referee: await reading.runPromise(Referee) })
  close = async () => {
    await door.dispose()
    await reading.dispose()
    server.forceShutdown()
  }
})
afterAll(() => close())

describe("a read of the backend", () => {
  it("carries the id of its request, also in a retry", async () => {
    const answer = await door.fetch("GET", "/api/v1/account/fee-rate", { headers: { "x-request-id": "my-own_id-1" } })
    assert.strictEqual(answer.headers.get("x-request-id"), "my-own_id-1")
    assert.deepStrictEqual(ids, ["my-own_id-1", "my-own_id-1"])
  })
  it("carries the id that the gateway gave the request", async () => {
    ids.length = 0
    const answer = await door.fetch("GET", "/api/v1/account/fee-rate")
    const given = answer.headers.get("x-request-id")!
    assert.match(given, /^[0-9a-f-]{36}$/u)
    assert.deepStrictEqual(ids, [given, given])
  })
  it("has its own id outside of a request", async () => {
    ids.length = 0
    const lonely = ManagedRuntime.make(
      GrpcReferee.layer({ address: `127.0.0.1:${port}`, secret: undefined, tls: undefined })
    )
    await lonely.runPromise(Effect.flatMap(Referee, (referee) => Effect.exit(referee.feeRates("u"))))
    await lonely.dispose()
    assert.isAtLeast(ids.length, 1)
    for (const id of ids) assert.match(id, /^[0-9a-f-]{36}$/u)
    assert.isTrue(callers.every((caller) => caller === undefined))
  })
  it("has one span per attempt under the caller's span, if tracing is on", async () => {
    ids.length = callers.length = 0
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const traced = ManagedRuntime.make(
      GrpcReferee.layer({ address: `127.0.0.1:${port}`, secret: undefined, tls: undefined }).pipe(
        Layer.provide(Layer.succeed(CurrentTracer, tracer))
      )
    )
    const caller = Tracer.externalSpan({ traceId: "ab".repeat(16), spanId: "cd".repeat(8), sampled: true })
    const asked = Effect.flatMap(Referee, (referee) => Effect.exit(referee.feeRates("u")))
    await traced.runPromise(Effect.provideService(asked, Tracer.ParentSpan, caller))
    await traced.dispose()
    assert.isAtLeast(spans.length, 1)
    assert.deepStrictEqual(
      callers,
      spans.map(({ spanId }) => `00-${"ab".repeat(16)}-${spanId}-01`)
    )
    for (const { attributes, name, status } of spans) {
      assert.strictEqual(name, "/gateway.v1.Referee/GetFeeRates")
      assert.include(["NOT_FOUND", "UNAVAILABLE"], attributes.get("error.type"))
      assert.strictEqual(status._tag, "Ended")
    }
  })
})
