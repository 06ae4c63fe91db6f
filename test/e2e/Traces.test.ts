/** The traces of a running exchange: every request, over either path, and its effects. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Collector, type Span } from "../doubles/Collector.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const SERVER = 2
const CLIENT = 3

let collector: Collector
let exchange: Exchange
let session: Session
beforeAll(async () => {
  collector = await Collector.start()
  exchange = await startExchange({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_SERVICE_NAME: "gateway-under-test" }
  })
  session = await funded(exchange)
})
afterAll(async () => {
  await exchange?.close()
  await collector?.close()
})

const asked = (request_id: string, spanId = "00f067aa0ba902b7", flags = "01") => ({
  "x-request-id": request_id,
  traceparent: `00-${TRACE}-${spanId}-${flags}`
})

const requests = [
  ["by-the-short-way", "GET", "/api/v1/market/tickers", "?symbol=BTC-USDC"],
  ["by-the-framework", "GET", "/health", ""],
  ["with-a-token", "GET", "/api/v1/user/me", "?a=b"],
  ["refused", "GET", "/api/v1/market/tickers", "?symbol=NO-SUCH"],
  ["of-no-route", "GET", "", "/no/such/path"],
  // these rarely change: some responses come from memory
  ...[1, 2, 3, 4].map((n) => [`again-${n}`, "GET", "/api/v1/market/instruments-info", ""] as const),
  ["a-read", "GET", "/api/v1/user/portfolio", ""],
  ["an-order", "POST", "/api/v1/order/create", ""]
] as const
const statuses = new Map<string, number>()
beforeAll(async () => {
  const { token, vault: sub_account_address } = session
  const order = {
    sub_account_address,
    symbol: "BTC-USDC",
    side: "Buy",
    order_type: "Limit",
    qty: "0.001",
    price: "58000"
  }
  for (const [id, method, route, rest] of requests) {
    const body = method === "POST" ? { body: order } : {}
    const { status } = await call(exchange, method, `${route}${rest}`, { headers: asked(id), token, ...body })
    statuses.set(id, status)
  }
  await call(exchange, "GET", "/health", { headers: asked("not-sampled", "00f067aa0ba902b8", "00") })
  await call(exchange, "GET", "/health", { headers: { "x-request-id": "last", traceparent: "nonsense" } })
  // spans are exported in the order of their ends
  const isWhole = (spans: ReadonlyArray<Span>) =>
    [...statuses.keys(), "last"].every((id) =>
      spans.some(({ attributes, kind }) => kind === SERVER && attributes["request_id"] === id)
    ) && spans.some(({ name }) => name === "Projector.batch")
  await eventually("all spans", async () => collector.spans, isWhole)
})

const spanOf = (request_id: string): Span =>
  collector.spans.find(({ attributes, kind }) => kind === SERVER && attributes["request_id"] === request_id)!
const under = ({ spanId }: Span): ReadonlyArray<Span> => collector.spans.filter((span) => span.parentSpanId === spanId)

describe("the span of a request", () => {
  it.each(requests)("%s has the request and the response, and the caller's span as its parent", (id, method, route) => {
    const span = spanOf(id)
    assert.deepStrictEqual(
      [span.name, span.traceId, span.parentSpanId, span.attributes],
      [
        route === "" ? method : `${method} ${route}`,
        TRACE,
        "00f067aa0ba902b7",
        {
          "http.request.method": method,
          "http.route": route,
          "http.response.status_code": statuses.get(id),
          request_id: id
        }
      ]
    )
    assert.isTrue(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
  })

  it("has the status of every kind of response", () => {
    const responses = Object.fromEntries(
      ["by-the-short-way", "refused", "of-no-route", "an-order"].map((id) => [id, statuses.get(id)])
    )
    assert.deepStrictEqual(responses, { "by-the-short-way": 200, refused: 404, "of-no-route": 404, "an-order": 200 })
  })

  it("begins a trace without a caller, and is not exported if the caller's span is not sampled", () => {
    const alone = spanOf("last")
    assert.isUndefined(alone.parentSpanId)
    assert.notStrictEqual(alone.traceId, TRACE)
    assert.isUndefined(collector.spans.find(({ parentSpanId }) => parentSpanId === "00f067aa0ba902b8"))
  })
})

describe("the spans below a request", () => {
  it("contain its command with the outcome", () => {
    const [submit] = under(spanOf("an-order"))
    assert.deepStrictEqual([submit?.name, submit?.kind, submit?.traceId], ["Sequencer.submit", CLIENT, TRACE])
    const { command, outcome, request_id } = submit!.attributes
    assert.deepStrictEqual([command, outcome, request_id], ["place", "acknowledged", "an-order"])
  })

  it("contain a read of the backend", () => {
    const reads = under(spanOf("a-read")).map(({ attributes, name }) => [name, attributes["request_id"]])
    assert.deepInclude(reads, ["/gateway.v1.Referee/GetPortfolio", "a-read"])
  })

  it("contain batches of the event lane, without a parent", () => {
    const batch = collector.spans.find(({ name }) => name === "Projector.batch")!
    assert.isUndefined(batch.parentSpanId)
    assert.isAbove(Number(batch.attributes["events"]), 0)
    assert.isAbove(Number(batch.attributes["first_seq"]), 0)
  })
})

it("names the service, and exports no other spans", () => {
  assert.isTrue(collector.posts.every(({ text }) => text.includes("gateway-under-test")))
  const others = collector.spans
    .map(({ name }) => name)
    .filter((name) => !/^(?:[A-Z]+(?: \/.*)?|Sequencer\.submit|Projector\.batch|\/gateway\.v1\..*)$/u.test(name))
  assert.deepStrictEqual(others, [])
})
